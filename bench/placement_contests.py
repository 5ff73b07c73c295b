#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What `--place auto` reaches on a CPU and a GPU: against placements by chance, with a GPU made small, and in floats.

    bench/placement_contests.py [--bench build/dev/bin/placement_bench] [--device cuda] [--placements 200] [--seconds 40]
                                [--only whole small floats]

`whole`: integer training on the whole GPU, where `auto` must reach 0.98 of the speed of the best of all placements; one
by chance is cut off after a step that takes more than twice as long as the best's. `small`: few multiprocessors and a slow
wire, where `auto` must reach 1.05 times either device alone. From one on, as many are taken as bring both devices alone within
a factor of two of each other, as far as there are so few; limits and ratio are printed, and the last contest counts. `floats`: `auto` must reach 0.98 of the better device alone, which it never leaves for something
slower. A network takes up to a minute; the cores must be quiet. Fewer placements than were asked for, and a run that has no
verdict, are misses as well: ends with an error where anything was missed.
"""

import argparse
import os
import re
import subprocess
import sys
import time

NETWORKS = [("vgg-small-7", 64), ("resnet20", 32), ("lenet", 64)]
VERDICT = re.compile(r"auto ([\d.]+) ms; ([\d.]+) of the best's speed, ([\d.]+) of the best single device's")
TRIED = re.compile(r"^by chance: (\d+) placements", re.M)
MOST_MULTIPROCESSORS = 64  # of a small GPU
MOST_TRIES = 3  # to make it as quick as the CPU
ALIKE = 2.0  # times as quick at most
ALONE = re.compile(r"^again: all on (\S+) +([\d.]+) ms", re.M)


class Contest:
    """One run of the bench: shares of the speed of the best and of the better device alone, and both alone."""

    def __init__(self, given, network, images, placements=0, limits=None, training="int8"):
        words = [given.bench, network, str(images), "cpu", given.device, str(placements), str(given.seconds), training]
        environment = {**os.environ, **({"NIBBLE_CUDA_LIMITS": limits} if limits else {})}
        print(f"== {' '.join(words[1:])}, limits: {limits or 'none'}", flush=True)
        self.of_best = self.of_alone = 0.0
        self.alone, self.missed = {}, []
        begin = time.monotonic()
        try:
            ran = subprocess.run(words, env=environment, capture_output=True, text=True, timeout=given.patience)
        except subprocess.TimeoutExpired:
            self.missed.append(f"{network}: got no verdict in {given.patience} seconds")
            return
        shown = [line for line in ran.stdout.splitlines() if not re.match(r"by chance \d", line)]
        print("\n".join(shown) + ran.stderr + f"\n{time.monotonic() - begin:.1f} seconds", flush=True)
        verdict, tried = VERDICT.search(ran.stdout), TRIED.search(ran.stdout)
        if ran.returncode != 0 or verdict is None or tried is None:
            self.missed.append(f"{network}: got exit {ran.returncode}, expected a verdict")
            return
        if int(tried[1]) < placements:
            self.missed.append(f"{network}: got {tried[1]} placements by chance, expected {placements}")
        self.of_best, self.of_alone = float(verdict[2]), float(verdict[3])
        self.alone = {name: float(milliseconds) for name, milliseconds in ALONE.findall(ran.stdout)}


def few(multiprocessors: int) -> str:
    return f"sms={multiprocessors},copy_us=20,ps_a_byte=200"


def whole_gpu(given, network, images):
    contest = Contest(given, network, images, given.placements)
    if not contest.missed and contest.of_best < 0.98:
        contest.missed.append(f"{network}: got {contest.of_best} of the best's speed, expected 0.98")
    return contest.missed


def small_gpu(given, network, images):
    multiprocessors = 1
    for _ in range(MOST_TRIES):
        contest = Contest(given, network, images, limits=few(multiprocessors))
        if len(contest.alone) < 2:
            break
        ratio = contest.alone[given.device] / contest.alone["cpu"]
        print(f"{network}: {few(multiprocessors)}: alone {given.device} takes {ratio:.2f} of the CPU's time", flush=True)
        nearer = min(max(1, round(multiprocessors * ratio)), MOST_MULTIPROCESSORS)
        if contest.of_alone >= 1.05 or 1 / ALIKE <= ratio <= ALIKE or nearer == multiprocessors:
            break
        multiprocessors = nearer
    if not contest.missed and contest.of_alone < 1.05:
        contest.missed.append(f"{network}: got {contest.of_alone} of the better device's speed, expected 1.05")
    return contest.missed


def floats(given, network, images):
    contest = Contest(given, network, images, training="wire-int8")
    if not contest.missed and contest.of_alone < 0.98:
        contest.missed.append(f"{network} in floats: got {contest.of_alone} of the better device's, expected 0.98")
    return contest.missed


KINDS = {"whole": (whole_gpu, NETWORKS), "small": (small_gpu, NETWORKS[:2]), "floats": (floats, NETWORKS[1:])}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bench", default="build/dev/bin/placement_bench")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--placements", type=int, default=200)
    parser.add_argument("--seconds", type=int, default=40, help="for those by chance of one network")
    parser.add_argument("--patience", type=int, default=120, help="seconds until a run is given up")
    parser.add_argument("--only", nargs="+", choices=KINDS, default=list(KINDS))
    parser.add_argument("--networks", nargs="+", choices=[name for name, _ in NETWORKS], help="of a kind's; all")
    given = parser.parse_args()
    missed = []
    for kind in given.only:
        contest, networks = KINDS[kind]
        for network, images in networks:
            if given.networks is None or network in given.networks:
                missed += contest(given, network, images)
    if missed:
        sys.exit("\n".join(missed))


if __name__ == "__main__":
    main()
