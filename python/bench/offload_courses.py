# SPDX-License-Identifier: Apache-2.0
"""Courses through `offload`, beside each other: ResNet-20 on CIFAR-10 by fp16 and int8 wires and all in fp32, LeNet on MNIST.

    python offload_courses.py --data FOLDER --out FOLDER [--device cuda] [--courses plain fp16 int8 mnist] [--minutes 8]

Ten one-cycle epochs of ResNet-20, five of LeNet by int8. `plain` is the whole model in fp32 on the device, and wires must end
within 0.5 of its accuracy (of 86.6 %, where three of its seeds were in the mean, if it did not end); LeNet must reach 99.0.
Every course has cores of its own, those of wires the most, for batch norms and rectifiers on them take the time.

Every epoch becomes a line of JSON on the screen and in OUT/results.jsonl when it ends, and so does the verdict; logs and
checkpoints lie beside it, and the same command goes on from them. Ends with an error where a course missed what it must reach
or did not end. --epochs and --images make it a rehearsal, whose verdict means nothing.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple

from offload_memory import KEEPS_PAGES

EXAMPLE = Path(__file__).resolve().parents[1] / "examples" / "train_offload.py"
EPOCH = re.compile(r"^epoch (\d+): loss (\S+), test accuracy ([\d.]+)%, ([\d.]+) s", re.M)
POOLS = "import torch, nibble; print(len({line.split()[-1] for line in open('/proc/self/maps') if 'gomp' in line}))"
PLAIN_USUALLY, ALLOWED = 86.6, 0.5  # percent
POLL = 1.0  # seconds


class Kind(NamedTuple):
    network: str
    wire: str
    epochs: int
    share: int  # of 16 cores


KINDS = {
    "plain": Kind("resnet20", "none", 10, 3),
    "fp16": Kind("resnet20", "fp16", 10, 6),
    "int8": Kind("resnet20", "int8", 10, 6),
    "mnist": Kind("mnist", "int8", 5, 1),
}


class Course:
    def __init__(self, name: str, cores: list[int], environment: dict, given: argparse.Namespace) -> None:
        self.name, self.kind = name, KINDS[name]
        self.epochs = given.epochs or self.kind.epochs
        self.log = Path(given.out) / f"{name}.txt"
        words = [self.kind.network, "--data", given.data, "--wire", self.kind.wire, "--epochs", str(self.epochs)]
        words += ["--device", given.device, "--checkpoint", str(self.log.with_suffix(".pt"))]
        words += ["--images", str(given.images)] if given.images else []
        with open(self.log, "a") as log:
            self.run = subprocess.Popen(
                [sys.executable, str(EXAMPLE), *words],
                env={**environment, "OMP_NUM_THREADS": str(len(cores))},
                stdout=log,
                stderr=subprocess.STDOUT,
                preexec_fn=lambda: os.sched_setaffinity(0, cores),
            )
        self.rows: list[dict] = []

    def new_rows(self) -> list[dict]:
        """Of epochs that have ended since the last call."""
        found = EPOCH.findall(self.log.read_text())[len(self.rows) :]
        new = [
            {"course": self.name, "epoch": int(epoch), "loss": float(loss), "accuracy": float(accuracy), "seconds": float(s)}
            for epoch, loss, accuracy, s in found
        ]
        self.rows += new
        return new

    def accuracy(self) -> float | None:
        """After the last epoch."""
        return self.rows[-1]["accuracy"] if self.rows and self.rows[-1]["epoch"] == self.epochs else None


def verdict_of(course: Course, plain: float | None) -> dict:
    least = 99.0
    if course.kind.network == "resnet20":
        least = 0.0 if course.name == "plain" else round((plain or PLAIN_USUALLY) - ALLOWED, 2)
    found = course.accuracy()
    row = {"course": course.name, "accuracy": found, "expected": least, "reached": found is not None and found >= least}
    if found is None:
        row["epochs"], row["exit"] = len(course.rows), course.run.poll()
        row["said"] = "".join(course.log.read_text().splitlines()[-1:])
    return row


def shares_of(names: list[str]) -> list[list[int]]:
    """Cores of each course; all have all of them where there are few."""
    cores = sorted(os.sched_getaffinity(0))
    whole = sum(KINDS[name].share for name in names)
    shares = [max(1, len(cores) * KINDS[name].share // whole) for name in names]
    if sum(shares) > len(cores):
        return [cores] * len(names)
    starts = [sum(shares[:i]) for i in range(len(names))]
    return [cores[start : start + share] for start, share in zip(starts, shares)]


def environment_of_courses() -> dict:
    """Where torch and the formats bring a pool of threads each, those of the one do not keep the other's cores busy while
    they wait."""
    found = {**os.environ, **KEEPS_PAGES}
    pools = subprocess.run([sys.executable, "-c", POOLS], capture_output=True, text=True).stdout.strip()
    if pools not in ("0", "1"):
        found["GOMP_SPINCOUNT"] = "500"
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", required=True)
    parser.add_argument("--out", required=True)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--courses", nargs="+", choices=list(KINDS), default=list(KINDS))
    parser.add_argument("--minutes", type=float, default=8, help="until all that still run are ended")
    parser.add_argument("--epochs", type=int, help="of a rehearsal")
    parser.add_argument("--images", type=int, help="of a rehearsal")
    given = parser.parse_args()
    Path(given.out).mkdir(parents=True, exist_ok=True)
    begin = time.monotonic()
    results = open(Path(given.out) / "results.jsonl", "a")

    def say(row: dict) -> None:
        line = json.dumps({**row, "at": round(time.monotonic() - begin, 1)})
        print(line, flush=True)
        print(line, file=results, flush=True)

    environment = environment_of_courses()
    courses = [Course(name, cores, environment, given) for name, cores in zip(given.courses, shares_of(given.courses))]
    is_running = True
    while is_running:
        is_running = any(course.run.poll() is None for course in courses)
        if time.monotonic() - begin > 60 * given.minutes:
            for course in courses:
                course.run.terminate()
                course.run.wait()
            is_running = False
        for course in courses:
            for row in course.new_rows():
                say(row)
        time.sleep(POLL if is_running else 0)
    plain = next((course.accuracy() for course in courses if course.name == "plain"), None)
    verdicts = [verdict_of(course, plain) for course in courses]
    for row in verdicts:
        say(row)
    missed = [row["course"] for row in verdicts if not row["reached"]]
    if missed:
        sys.exit(f"missed: {', '.join(missed)}")


if __name__ == "__main__":
    main()
