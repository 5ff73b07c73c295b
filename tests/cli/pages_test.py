# SPDX-License-Identifier: Apache-2.0
"""What README and docs/ show works: verbs and options exist, short commands run, TOML and JSON are read."""

import json
import os
import re
import shlex
import shutil
import struct
import subprocess
import tempfile
import unittest
from functools import cache
from pathlib import Path

import numpy as np
from case import NIBBLE, has_floats, run
from page_blocks import CALL, INDENTED_CODE, JSON_NAMES, NOT_RUN, READERS, SHORTER, TOML_NAMES, TOML_READERS

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


def blocks_of(page, *languages):
    """The blocks in some languages; those without one are commands, what they print, pictures."""
    fences = re.findall(r"^```(\w*)\n(.*?)^```", page.read_text(encoding="utf-8"), re.M | re.S)
    return [text for language, text in fences if language in (languages or ("",))]


def all_blocks(*languages):
    """(page, number on the page, text) of all blocks in some languages."""
    for page in PAGES:
        for number, text in enumerate(blocks_of(page, *languages)):
            yield page.relative_to(ROOT).as_posix(), number, text


def commands_of(page):
    """The words of each call of nibble in its blocks; where some lines have a prompt, the others are what was printed."""
    for block in blocks_of(page):
        lines = re.sub(r"\\\n", " ", block).splitlines()
        prompted = [line[2:] for line in lines if line.startswith("$ ")]
        for line in prompted or lines:
            if not re.match(r"([A-Z_]+=\S+ )*nibble ", line):
                continue
            words = shlex.split(line, comments=True)
            ends = [i for i, word in enumerate(words) if word in ("&&", "|")]
            yield words[words.index("nibble") + 1 : min(ends, default=len(words))]


@cache
def help_of(*verb):
    return run(*verb, "--help").stdout.decode()


def names_in(text):
    """What a help offers: verbs at the beginning of a line, options anywhere."""
    return set(re.findall(r"^  ([a-z0-9-]+) ", text, re.M)) | set(re.findall(r"(?<![\w-])--?[a-zA-Z][\w-]*", text))


def verb_of(words):
    """`data list` of `nibble data list --json`: as many words as name a verb of the one before."""
    verb = words[:1]
    for word in words[1:]:
        if word.startswith("-") or word not in names_in(help_of(*verb)):
            break
        verb = [*verb, word]
    return verb


class Pages(unittest.TestCase):
    def test_every_command_is_one_that_the_program_takes(self):
        seen = 0
        for page in PAGES:
            for words in commands_of(page):
                where = f"{page.relative_to(ROOT)}: nibble {' '.join(words)}"
                verb = verb_of(words)
                self.assertIn(verb[0], names_in(help_of()), where)
                options = {word.partition("=")[0] for word in words if re.match(r"--?[a-zA-Z]", word)}
                self.assertLessEqual(options, names_in(help_of(*verb)), where)
                seen += 1
        self.assertGreater(seen, 80)

    def test_every_block_has_a_reader(self):
        """A fence says its language or none, and no code hides where no test looks: indented (formulas may be)."""
        for page in PAGES:
            is_fenced = False
            for number, line in enumerate(page.read_text(encoding="utf-8").splitlines(), 1):
                where = f"{page.relative_to(ROOT)}:{number}: {line}"
                self.assertNotRegex(line, r"^\s+```", where)
                if line.startswith("```"):
                    is_fenced = not is_fenced
                    self.assertIn(line[3:], READERS if is_fenced else ("",), where)
                elif not is_fenced:
                    self.assertNotRegex(line, INDENTED_CODE, where)
            self.assertFalse(is_fenced, page)

    def test_every_line_of_commands_is_one(self):
        """What begins like none would be run by nobody."""
        for page in PAGES:
            for block in blocks_of(page):
                lines = [line for line in re.sub(r"\\\n *", "", block).splitlines() if line and not line.startswith("#")]
                prompted = [line[2:] for line in lines if line.startswith("$ ")]
                if prompted or any(re.match(CALL, line) for line in lines):
                    for line in prompted or lines:
                        self.assertRegex(line, f"^{CALL}", page)

    def test_nothing_waits_to_be_filled_in(self):
        for page in PAGES:
            for number, line in enumerate(page.read_text(encoding="utf-8").splitlines(), 1):
                self.assertNotRegex(line, r"@@|\b(?:TODO|FIXME|XXX)\b", f"{page.relative_to(ROOT)}:{number}: {line}")

    def test_python_is_run_with_the_package(self):
        """By test_guide: examples, which have a prompt, by run_examples, and whole blocks by run_blocks."""
        guide = (ROOT / "python" / "tests" / "test_guide.py").read_text(encoding="utf-8")
        seen = 0
        for page in PAGES:
            blocks = blocks_of(page, "python")
            for runner in {"run_examples" if ">>> " in block else "run_blocks" for block in blocks}:
                self.assertIn(f'{runner}("{os.path.relpath(page, ROOT / "docs")}"', guide)
            seen += len(blocks)
        self.assertGreater(seen, 20)


def why_not(call):
    return next((reason for pattern, reason in NOT_RUN if re.search(pattern, call)), None)


def shorter(words):
    options = SHORTER.get(words[0], {}) if len(words) > 1 else {}
    added = [(name, value) for name, value in options.items() if name not in words]
    return [*words, *(word for option in added for word in option if word is not None)]


class Runs(unittest.TestCase):
    """In a folder with what the pages take for granted: arrays, a model, two runs."""

    @classmethod
    def setUpClass(cls):
        if not has_floats():
            raise unittest.SkipTest("this build trains no floats")
        cls.temporary = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.temporary.cleanup)
        cls.folder = Path(cls.temporary.name)
        np.save(cls.folder / "w.npy", np.random.default_rng(0).normal(size=(4, 64)).astype(np.float32))
        for name in ("fp32", "e4m3"):
            cls.call("train", f"digits-convnet-{name}", "--epochs", "1", "--out", f"runs/{name}")
        cls.call("quantize", "runs/fp32", "-o", "model.nib", "--calib", "digits")

    @classmethod
    def call(cls, *words, folder=None):
        """One thread: what is small takes long where threads of several programs wait for each other."""
        quiet = {**os.environ, "OMP_NUM_THREADS": "1"}
        return subprocess.run([NIBBLE, *words], cwd=folder or cls.folder, env=quiet, capture_output=True, text=True, timeout=300)

    def succeed(self, where, words, folder=None):
        done = self.call(*words, folder=folder)
        self.assertEqual(done.returncode, 0, f"{where}\n{done.stderr}")

    def test_short_commands_run(self):
        """Each page's from the first to the last, so that one may use what another wrote; the others have a reason."""
        ran, reasons = 0, set()
        for index, page in enumerate(PAGES):
            folder = self.folder / f"page{index}"
            shutil.copytree(self.folder, folder, ignore=shutil.ignore_patterns("page*"))
            for words in commands_of(page):
                call = f"{page.relative_to(ROOT).as_posix()}: nibble {' '.join(words)}"
                reason = why_not(call)
                if reason is not None:
                    reasons.add(reason)
                    continue
                self.succeed(call, shorter(words), folder)
                ran += 1
        self.assertGreater(ran, 25)
        self.assertEqual(reasons, {reason for _, reason in NOT_RUN}, "a reason that no call has")

    def test_toml_is_read(self):
        seen = set()
        for page, number, text in all_blocks("toml"):
            for shown, own in TOML_NAMES.items():
                text = text.replace(shown, own)
            file = self.folder / "block.toml"
            file.write_text(text, encoding="utf-8")
            self.succeed(f"{page}, TOML block {number}", [str(file) if word == "FILE" else word for word in TOML_READERS[page]])
            file.write_text(text.replace("=", "=="), encoding="utf-8")
            self.assertNotEqual(subprocess.run([NIBBLE, "describe", file], capture_output=True).returncode, 0)
            seen.add(page)
        self.assertEqual(seen, set(TOML_READERS))

    def test_json_is_read(self):
        """As the network of a model whose numbers are zeros, and no longer when a key is missing."""
        for page, number, text in all_blocks("json"):
            for shown, own in JSON_NAMES.items():
                text = text.replace(shown, own)
            network = json.loads(text)
            self.succeed(f"{page}, JSON block {number}", ["describe", self.model_of(network)])
            network["nodes"][1].pop("features")
            done = self.call("describe", self.model_of(network))
            self.assertIn("features", done.stderr)
            self.assertEqual(done.returncode, 1)
        self.assertEqual([page for page, *_ in all_blocks("json")], ["docs/networks.md"])

    def model_of(self, network):
        """A file as docs/networks.md describes it, with the two parameters of its example."""
        metadata = {"nibble_format": "1", "network": json.dumps(network), "origin": "{}"}
        metadata["weights_hash"] = "12caa429e5ee8937"  # of those zeros
        tensors = {"fc.weight": {"shape": [2, 3], "data_offsets": [0, 24]}, "fc.bias": {"shape": [2], "data_offsets": [24, 32]}}
        head = {"__metadata__": metadata, **{name: {"dtype": "F32", **each} for name, each in tensors.items()}}
        text = json.dumps(head).encode()
        path = self.folder / "block.nib"
        path.write_bytes(struct.pack("<Q", len(text)) + text + bytes(32))
        return str(path)


if __name__ == "__main__":
    unittest.main()
