#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What `--place auto` reaches on a CPU and a GPU: against placements by chance, and with a GPU made small.

    bench/placement_contests.py [--bench build/dev/bin/placement_bench] [--device cuda] [--placements 200] [--seconds 26]

First the whole GPU: `auto` must reach 0.98 of the speed of the best of all placements. Then two multiprocessors and a
slow wire (--limits), where `auto` must reach 1.05 times either device alone; where the CPU is much quicker than two of
them, once more with as many as make both alike. A network takes about a minute; the cores must be quiet. Ends with an
error where a target is missed.
"""

import argparse
import os
import re
import subprocess
import sys

NETWORKS = [("vgg-small-7", 64), ("resnet20", 32), ("lenet", 64)]
VERDICT = re.compile(r"auto ([\d.]+) ms; ([\d.]+) of the best's speed, ([\d.]+) of the best single device's")
ALONE = re.compile(r"^again: all on (\S+) +([\d.]+) ms", re.M)


class Contest:
    """One run of the bench: shares of the speed of the best and of the better device alone, and both alone."""

    def __init__(self, given, network, images, placements, limits=None):
        words = [given.bench, network, str(images), "cpu", given.device, str(placements), str(given.seconds)]
        environment = {**os.environ, **({"NIBBLE_CUDA_LIMITS": limits} if limits else {})}
        print(f"== {' '.join(words[1:])}, limits: {limits or 'none'}", flush=True)
        ran = subprocess.run(words, env=environment, capture_output=True, text=True, timeout=given.patience)
        shown = [line for line in ran.stdout.splitlines() if not line.startswith("by chance")]
        print("\n".join(shown) + ran.stderr, flush=True)
        verdict = VERDICT.search(ran.stdout)
        if ran.returncode != 0 or verdict is None:
            sys.exit(f"{network}: got exit {ran.returncode}, expected a verdict")
        self.of_best, self.of_alone = float(verdict[2]), float(verdict[3])
        self.alone = {name: float(time) for name, time in ALONE.findall(ran.stdout)}


def few(multiprocessors: int) -> str:
    return f"sms={multiprocessors},copy_us=20,ps_a_byte=200"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bench", default="build/dev/bin/placement_bench")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--placements", type=int, default=200)
    parser.add_argument("--seconds", type=int, default=26, help="for those by chance of one network")
    parser.add_argument("--patience", type=int, default=120, help="seconds until a run is given up")
    given = parser.parse_args()
    missed = []
    for network, images in NETWORKS:
        share = Contest(given, network, images, given.placements).of_best
        if share < 0.98:
            missed.append(f"{network}: {share} of the best's speed, expected 0.98")
    for network, images in NETWORKS[:2]:
        contest = Contest(given, network, images, 0, few(2))
        even = 2 * round(contest.alone[given.device] / contest.alone["cpu"])
        if contest.of_alone < 1.05 and even > 2:
            contest = Contest(given, network, images, 0, few(min(even, 64)))
        if contest.of_alone < 1.05:
            missed.append(f"{network}: {contest.of_alone} of the better device's speed, expected 1.05")
    if missed:
        sys.exit("\n".join(missed))


if __name__ == "__main__":
    main()
