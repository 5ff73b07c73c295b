#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that a network trained in integers answers everywhere as its trainer did, and writes it as C.

usage: check_frozen.py RUN DATA [--c FOLDER] [--vectors N] [--targets NAME …]

RUN is a folder of `nibble train --arith int8`, DATA what it was trained on. On all test pictures, the results that the run wrote
down, the trainer's evaluation and the engine's must be the same: right answers, which classes were taken for which, and the
loss, a sum over every answer. Then the network becomes C in FOLDER (RUN/c), compiled and run on N (100) test vectors that the
engine answered, here and on emulated processors (`tests/emit/run_target.py` lists them). NIBBLE_BIN names the command (that of
the release or dev build).
"""

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def fail(text):
    sys.exit(f"check_frozen: {text}")


def nibble():
    places = [os.environ.get("NIBBLE_BIN"), *(ROOT / "build" / preset / "bin" / "nibble" for preset in ("release", "dev"))]
    found = [place for place in places if place and Path(place).is_file()]
    return found[0] if found else fail("no nibble: build it, or name it by NIBBLE_BIN")


def done(*command):
    process = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    if process.returncode:
        fail(f"{' '.join(map(str, command))}: {(process.stderr or process.stdout).strip()}")
    return process.stdout


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", type=Path)
    parser.add_argument("data")
    parser.add_argument("--c", type=Path, help="folder of the emitted C (RUN/c)")
    parser.add_argument("--vectors", type=int, default=100)
    parser.add_argument("--targets", nargs="*", default=[], metavar="NAME", help="processors that run the C, too: cortex-m4 rv32imac …")
    parser.add_argument("--seconds", type=int, default=1800, help="the longest that one of them may take (1800)")
    arguments = parser.parse_args()
    written = json.loads((arguments.run / "summary.json").read_text())["test"]
    for name, options in (("the trainer", []), ("the engine", ["--engine"])):
        told = json.loads(done(nibble(), "eval", arguments.run, "--data", arguments.data, "--json", *options))
        for key in ("images", "correct", "loss", "confusion"):
            if told[key] != written[key]:
                fail(f"{key} of {name}: got {told[key]}, expected {written[key]} as in {arguments.run / 'summary.json'}")
        print(f"{name}: {told['correct']} of {told['images']} right, loss {told['loss']:.6f}, as the run wrote down")
    folder = arguments.c or arguments.run / "c"
    done(nibble(), "emit", arguments.run, "-o", folder, "--vectors", arguments.vectors, "--force")
    print(f"C in {folder}: {done('make', '-s', '--no-print-directory', '-C', folder, 'check').splitlines()[-1]}")
    for target in arguments.targets:
        answer = done(sys.executable, ROOT / "tests" / "emit" / "run_target.py", folder, target, "--seconds", arguments.seconds)
        print(f"C on {answer.strip()}")


if __name__ == "__main__":
    main()
