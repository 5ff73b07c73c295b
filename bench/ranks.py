#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How much several processes that share a batch gain over one: steps of integer training on made-up pictures.

usage: ranks.py NIBBLE [--ranks N] [--network NAME] [--batch B] [--steps S] [--rounds R] [--cores LIST] [--brief] [-- MORE OPTIONS]

Every process has one thread and a core of its own, not two of one core that runs two threads, and of the last cores, since the
first ones serve the system (--cores chooses others). In turns:

  1 x 1     one process
  1 x N     one process with N threads
  N x 1     N processes of `nibble train --ranks N`; the weights must be those of one
  apart     N processes that know nothing of each other, each with its share of the batch: what memory and clock of this
            machine leave of linear

"start" is a run of no epoch with one picture to calibrate and one to test: what comes before the first step. "rest" is one of no
epoch with all pictures: calibration (1,024 pictures) and evaluation too. Shares are of linear, from the least times of all
rounds, of whole runs and of steps alone, without "rest". --brief: 1 x 1, 1 x N, N x 1 and start alone, for hired minutes.
"""

import argparse
import os
import random
import re
import struct
import subprocess
import sys
import tempfile
import time
from pathlib import Path

PICTURE = (32, 32, 3)
CLASSES = 10
TEST_PICTURES = 256


def write_npy(path, kind, shape, data):
    header = repr({"descr": kind, "fortran_order": False, "shape": shape}).encode()
    header += b" " * (-(len(header) + 11) % 64) + b"\n"
    path.write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + data)


def write_pictures(folder, count, seed):
    dice = random.Random(seed)
    folder.mkdir(parents=True)
    write_npy(folder / "images.npy", "|u1", (count, *PICTURE), dice.randbytes(count * PICTURE[0] * PICTURE[1] * PICTURE[2]))
    write_npy(folder / "labels.npy", "<i4", (count,), struct.pack(f"<{count}i", *(i % CLASSES for i in range(count))))


def whole_cores(siblings):
    """One processor of every core, from the texts of thread_siblings_list."""
    return sorted({min(int(number) for number in re.findall(r"\d+", text)) for text in siblings})


def usual_cores(count):
    mine = sorted(os.sched_getaffinity(0))
    lists = [Path(f"/sys/devices/system/cpu/cpu{number}/topology/thread_siblings_list") for number in mine]
    whole = whole_cores([path.read_text() if path.exists() else path.parts[5][3:] for path in lists])
    print(f"processors {len(mine)}, whole cores among them {len(whole)}")
    if len(whole) < count:
        sys.exit(f"ranks.py: {len(whole)} whole cores, {count} are needed; --cores chooses processors")
    return whole[-count:]


class Bench:
    def __init__(self, options, cores, folder):
        self.options = options
        self.cores = cores
        self.folder = Path(folder)
        self.hashes = set()
        write_pictures(self.folder / "whole/train", options.steps * options.batch, 1)
        write_pictures(self.folder / "whole/test", TEST_PICTURES, 2)
        write_pictures(self.folder / "start/test", 1, 5)
        (self.folder / "start/train").symlink_to(self.folder / "whole/train")
        share = options.batch // options.ranks
        write_pictures(self.folder / "share/train", options.steps * share, 3)
        write_pictures(self.folder / "share/test", TEST_PICTURES // options.ranks, 4)

    def start(self, name, cores, data, batch, *more, epochs=1):
        words = [self.options.nibble, "train", self.options.network, "--data", str(self.folder / data), "--batch", str(batch),
                 "--arith", "int8", "--epochs", str(epochs), "--quiet", "--no-layer-statistics", "--overwrite", "--out",
                 str(self.folder / name), *self.options.more, *more]
        return subprocess.Popen(words, stdout=subprocess.PIPE, text=True, preexec_fn=lambda: os.sched_setaffinity(0, cores))

    def run(self, name, *more, cores=None, epochs=1, data="whole"):
        begin = time.monotonic()
        process = self.start(name, cores or self.cores, data, self.options.batch, *more, epochs=epochs)
        text, _ = process.communicate()
        seconds = time.monotonic() - begin
        if process.returncode != 0:
            sys.exit(f"ranks.py: {name} failed")
        if epochs > 0:
            self.hashes.add(re.search(r"^weights +(\w+)", text, re.M)[1])
        return seconds

    def apart(self):
        share = self.options.batch // self.options.ranks
        begin = time.monotonic()
        processes = [self.start(f"apart{i}", [core], "share", share, "--threads", "1") for i, core in enumerate(self.cores)]
        for process in processes:
            process.communicate()
        if any(process.returncode != 0 for process in processes):
            sys.exit("ranks.py: apart failed")
        return time.monotonic() - begin

    def round(self):
        ranks = str(self.options.ranks)
        one = self.cores[:1]
        cases = {
            "1 x 1": lambda: self.run("one", "--threads", "1", cores=one),
            f"1 x {ranks}": lambda: self.run("threads", "--threads", ranks),
            f"{ranks} x 1": lambda: self.run("ranks", "--threads", "1", "--ranks", ranks),
            "apart": self.apart,
            "rest 1 x 1": lambda: self.run("rest", "--threads", "1", cores=one, epochs=0),
            f"rest {ranks} x 1": lambda: self.run("rest", "--threads", "1", "--ranks", ranks, epochs=0),
            "start": lambda: self.run("start", "--threads", "1", "--calibration", "1", cores=one, epochs=0, data="start"),
        }
        brief = ("1 x 1", f"1 x {ranks}", f"{ranks} x 1", "start")
        return {name: measure() for name, measure in cases.items() if name in brief or not self.options.brief}


def share_of_linear(least, name, ranks):
    if name in ("1 x 1", "start") or name.startswith("rest"):
        return ""
    whole = least["1 x 1"] / least[name] / ranks
    text = f"  {100 * whole:5.1f} % of linear"
    if name == f"{ranks} x 1" and f"rest {name}" in least:
        steps = (least["1 x 1"] - least["rest 1 x 1"]) / (least[name] - least[f"rest {name}"]) / ranks
        text += f", steps alone {100 * steps:5.1f} %"
    return text


def main():
    arguments = sys.argv[1:]
    more = arguments[arguments.index("--") + 1:] if "--" in arguments else []
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("nibble")
    parser.add_argument("--ranks", type=int, default=4)
    parser.add_argument("--network", default="vgg-small-7")
    parser.add_argument("--batch", type=int, default=256)
    parser.add_argument("--steps", type=int, default=50)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--brief", action="store_true")
    parser.add_argument("--cores", type=lambda text: [int(each) for each in text.split(",")])
    options = parser.parse_args(arguments[:-len(more) - 1] if "--" in arguments else arguments)
    options.more = more
    cores = options.cores or usual_cores(options.ranks)
    print(f"cores {','.join(map(str, cores))}; {options.network}, batch {options.batch}, {options.steps} steps", flush=True)
    least = {}
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(options, cores, folder)
        for number in range(options.rounds):
            times = bench.round()
            print(f"round {number + 1}: " + ", ".join(f"{name} {seconds:.2f} s" for name, seconds in times.items()), flush=True)
            least = {name: min(seconds, least.get(name, seconds)) for name, seconds in times.items()}
    for name, seconds in least.items():
        print(f"{name:<12} {seconds:8.2f} s" + share_of_linear(least, name, options.ranks))
    if len(bench.hashes) != 1:
        sys.exit(f"ranks.py: weights differ: {sorted(bench.hashes)}")
    print(f"weights      {bench.hashes.pop()}, whoever computed them")


if __name__ == "__main__":
    main()
