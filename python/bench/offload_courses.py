# SPDX-License-Identifier: Apache-2.0
"""ResNet-20 on CIFAR-10 through `offload` with fp16 and int8 wires: ten one-cycle epochs each, beside each other.

    python offload_courses.py --data FOLDER --out FOLDER [--device cuda] [--wires fp16 int8] [--minutes 6] [--least 86.1]

Every course has its share of the cores; batch norms and rectifiers on them are what takes the time. Before they begin some
steps tell whether threads should wait awake for their next loop (GOMP_SPINCOUNT): torch and the formats may bring a pool of
threads each. Checkpoints stay in --out, and the same command goes on from them. Ends with an error where a course ends below
--least percent, and where one did not reach its last epoch: all of it in fp32 reaches 86.5 to 86.9, and half a point less is
allowed.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import time
from pathlib import Path

EXAMPLE = Path(__file__).resolve().parents[1] / "examples" / "train_offload.py"
BENCH = Path(__file__).with_name("offload.py")
EPOCHS = 10
SHORT_WAIT = "500"  # turns of a loop
ACCURACY = re.compile(r"epoch (\d+): .*accuracy ([\d.]+)%")


class Course:
    def __init__(self, wire: str, cores: list[int], given: argparse.Namespace) -> None:
        self.wire, self.cores, self.given = wire, cores, given
        self.log = Path(given.out) / f"{wire}.txt"
        self.environment = {**os.environ, "OMP_NUM_THREADS": str(len(cores))}

    def start(self, script: Path, *words: str, spins: str | None = None, output=subprocess.PIPE) -> subprocess.Popen:
        environment = {**self.environment, **({"GOMP_SPINCOUNT": spins} if spins else {})}
        command = [sys.executable, str(script), *words, "--device", self.given.device]
        return subprocess.Popen(
            command, env=environment, stdout=output, text=True, preexec_fn=lambda: os.sched_setaffinity(0, self.cores)
        )

    def start_probe(self, spins: str | None) -> subprocess.Popen:
        return self.start(BENCH, "--batch", "128", "--turns", "10", "--wires", self.wire, spins=spins)

    def step_time(self, probe: subprocess.Popen) -> float:
        found = re.search(rf"^{self.wire} +([\d.]+)", probe.communicate()[0], re.M)
        if found is None:
            sys.exit(f"{self.wire}: a step could not be measured")
        return float(found[1])

    def start_training(self, spins: str | None) -> subprocess.Popen:
        words = ("resnet20", "--data", self.given.data, "--wire", self.wire, "--epochs", str(EPOCHS))
        checkpoint = ("--checkpoint", str(Path(self.given.out) / f"{self.wire}.pt"))
        with open(self.log, "a") as log:
            return self.start(EXAMPLE, *words, *checkpoint, spins=spins, output=log)

    def result(self) -> tuple[int, float]:
        """The last epoch and its accuracy."""
        rows = ACCURACY.findall(self.log.read_text())
        return (int(rows[-1][0]), float(rows[-1][1])) if rows else (0, 0.0)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", required=True)
    parser.add_argument("--out", required=True)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--wires", nargs="+", default=["fp16", "int8"])
    parser.add_argument("--minutes", type=float, default=6)
    parser.add_argument("--least", type=float, default=86.1)
    given = parser.parse_args()
    Path(given.out).mkdir(parents=True, exist_ok=True)
    cores = sorted(os.sched_getaffinity(0))
    share = max(1, len(cores) // len(given.wires))
    courses = [Course(wire, cores[i * share : (i + 1) * share] or cores, given) for i, wire in enumerate(given.wires)]
    times = []
    for spins in (None, SHORT_WAIT):
        probes = [course.start_probe(spins) for course in courses]
        times.append([course.step_time(probe) for course, probe in zip(courses, probes)])
    runs = []
    for course, usual, short in zip(courses, *times):
        print(f"{course.wire}: {usual} ms a step, with short waits {short}", flush=True)
        runs.append(course.start_training(SHORT_WAIT if short < 0.97 * usual else None))
    missed, end = [], time.monotonic() + 60 * given.minutes
    for course, run in zip(courses, runs):
        try:
            run.wait(max(0.0, end - time.monotonic()))
        except subprocess.TimeoutExpired:
            run.terminate()
        epoch, accuracy = course.result()
        if epoch < EPOCHS:
            missed.append(f"{course.wire}: got {epoch} epochs in {given.minutes} minutes, expected {EPOCHS}")
        elif accuracy < given.least:
            missed.append(f"{course.wire}: got {accuracy} %, expected {given.least}")
        print(course.log.read_text() + f"{course.wire}: {accuracy} % after epoch {epoch} of {EPOCHS}", flush=True)
    if missed:
        sys.exit("\n".join(missed))


if __name__ == "__main__":
    main()
