#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the shell blocks of README and docs/ as they stand, page by page, and lists those that are not run (long_blocks).

usage: NIBBLE_BIN=COMMAND long_pages.py [PAGE…]    parts of names of pages; all of them

`make test` runs the short ones (pages_test). Data of NIBBLE_DATA that are not there are a reason not to run a line.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from case import NIBBLE
from long_blocks import CALLED, LESS, MADE, MAY_FAIL, NEVER_RUN, OF_DATA
from page_blocks import CALL
from pages_test import PAGES, ROOT, blocks_of
from PIL import Image

LIMIT = 600  # seconds a line


def lines_of(page):
    """What a reader would type: lines with a prompt, or where there is none all that begin with a command."""
    for block in blocks_of(page):
        lines = re.sub(r"\\\n *", "", block).splitlines()
        prompted = [line[2:] for line in lines if line.startswith("$ ")]
        yield from (re.sub(r"\s+# .*", "", line) for line in prompted or lines if re.match(CALL, line))


def less_of(line):
    """The line with less to do; options go to the end of its first call."""
    for pattern, words, options in LESS:
        if re.search(pattern, line):
            for old, new in words.items():
                line = re.sub(old, new, line)
            call, joint, rest = re.match(r"(.*?)( && | \| |$)(.*)", line).groups()
            added = [f"{name} {value}".strip() for name, value in options.items() if name not in call]
            return " ".join([call, *added]) + joint + rest
    return line


def words_of(line):
    """The words of a line, those that name what it makes left out."""
    return re.sub(r"(--out|-o) \S+", "", line).split()


def made_by(line):
    """The files and folders that a line leaves; those of `nibble convert` are its last word."""
    made = set(re.findall(r"(?:--out|-o) (\S+)", line))
    return made | set(re.findall(r"^nibble convert \S+ (\S+)", line))


class Machine:
    """A folder with a shell in which `nibble` is the command, and what pages take for granted."""

    def __init__(self, folder):
        self.folder = Path(folder)
        (self.folder / "bin").mkdir()
        (self.folder / "bin" / "nibble").symlink_to(Path(NIBBLE).resolve())
        self.environment = {**os.environ, "PATH": f"{self.folder}/bin:{os.environ['PATH']}"}
        listed = subprocess.run([NIBBLE, "data", "list", "--json"], capture_output=True, text=True, check=True).stdout
        self.places = {each["name"]: each.get("path") for each in json.loads(listed)}
        self.data = Path(os.environ.get("NIBBLE_DATA", self.folder))
        self.wheels = Path(NIBBLE).resolve().parents[1] / "tests" / "python" / "wheels"
        self.venv = self.folder / "venv"
        self.make_files()

    def make_files(self):
        Image.fromarray(np.random.default_rng(0).integers(0, 256, (60, 80, 3), np.uint8)).save(self.folder / "cat.jpg")
        np.save(self.folder / "w.npy", np.random.default_rng(0).normal(size=(4, 64)).astype(np.float32))
        policy = '[[round]]\nrole = ["weight", "activation"]\nformat = "e4m3"\n'
        (self.folder / "my.toml").write_text(policy, encoding="utf-8")
        if self.places.get("cifar10"):
            found = next(Path(self.places["cifar10"]).rglob("data_batch_1.bin"), None)
            if found:
                self.make_few(found.parent)

    def make_few(self, batches):
        """6,000 pictures of CIFAR-10 to train with, 1,000 to test with."""
        arrays = {}
        for split, name, count in (("train", "data_batch_1.bin", 6000), ("test", "test_batch.bin", 1000)):
            rows = np.fromfile(batches / name, np.uint8).reshape(-1, 3073)[:count]
            arrays[f"{split}_images"] = rows[:, 1:].reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1)
            arrays[f"{split}_labels"] = rows[:, 0].astype(np.int32)
        np.savez(self.folder / "few.npz", **arrays)

    def shell(self, line, folder):
        command = ["bash", "-e", "-o", "pipefail", "-c", line]
        environment = self.environment
        if line.startswith("pip "):
            if not self.venv.exists():
                subprocess.run(["/usr/bin/python3", "-m", "venv", self.venv], check=True)
            environment = {**environment, "PATH": f"{self.venv}/bin:{environment['PATH']}"}
        return subprocess.run(
            command, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            timeout=LIMIT, errors="replace",
        )  # fmt: skip

    def why_not(self, call):
        reason = next((reason for pattern, reason in NEVER_RUN if re.search(pattern, call)), None)
        line = call.partition(": ")[2]
        absent = [name for name, place in self.places.items() if not place and re.search(rf"\b{name}\b", call)]
        absent += [name for name, pattern in OF_DATA.items() if not (self.data / name).exists() and re.search(pattern, line)]
        return reason or (f"{absent[0]}, which is not here" if absent else None)

    def make(self, name):
        """What a page speaks of, and what that is made of, once."""
        path = self.folder / name
        if not path.exists():
            command = MADE[name].format(data=self.data, wheels=self.wheels, root=ROOT)
            for other in set(MADE) & set(re.findall(r"[\w.-]+", command.replace(f"-o {name}", "").replace("/", " "))) - {name}:
                self.make(other)
            done = self.shell(command, self.folder)
            if done.returncode != 0:
                raise SystemExit(f"long_pages: {command}\n{done.stdout}")
        return path

    def page_folder(self, page):
        folder = self.folder / page.replace("/", "-")
        folder.mkdir()
        for name in ("cat.jpg", "w.npy", "my.toml", "few.npz"):
            if (self.folder / name).exists():
                (folder / name).symlink_to(self.folder / name)
        for name in OF_DATA:
            if (self.data / name).exists():
                (folder / Path(name).name).symlink_to(self.data / name)
        for called, made in CALLED.get(page, {}).items():
            target = folder / called
            target.parent.mkdir(exist_ok=True)
            source = self.make(made)
            shutil.copytree(source, target) if source.is_dir() else shutil.copy(source, target)
        return folder


def main():
    failed, skipped, ran = [], [], 0
    with tempfile.TemporaryDirectory() as temporary:
        machine = Machine(temporary)
        for path in PAGES:
            page = path.relative_to(ROOT).as_posix()
            lines = list(lines_of(path))
            if not lines or (sys.argv[1:] and not any(part in page for part in sys.argv[1:])):
                continue
            folder, unmade = machine.page_folder(page), set()
            for line in lines:
                reason = machine.why_not(f"{page}: {line}")
                absent = [name for name in words_of(line) if name in unmade and not (folder / name).exists()]
                if reason or absent:
                    skipped.append(f"{page}: {line}: {reason or absent[0] + ', which a line above did not make'}")
                    unmade |= made_by(line)
                    continue
                line, start = less_of(line), time.monotonic()
                try:
                    done = machine.shell(line, folder)
                    is_right = done.returncode in ((0, 1) if any(re.search(p, line) for p in MAY_FAIL) else (0,))
                    said = done.stdout[-1500:]
                except subprocess.TimeoutExpired:
                    is_right, said = False, f"not ended within {LIMIT} s"
                ran += 1
                print(f"{'ok  ' if is_right else 'FAIL'} {time.monotonic() - start:6.1f} s  {page}: {line}", flush=True)
                if not is_right:
                    print(said)
                    failed.append(line)
    print("\nnot run:", *skipped, sep="\n  ")
    print(f"{ran} lines ran, {len(skipped)} did not, {len(failed)} failed")
    sys.exit(1 if failed or ran == 0 else 0)


if __name__ == "__main__":
    main()
