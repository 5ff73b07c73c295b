#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs emitted folders on targets and prints a table: a row a target, a column a folder.

usage: matrix.py NETWORKS [--target NAME]…     all targets unless some are named

NETWORKS is what make_networks.py wrote. Exit codes: 0 every answer was the engine's, 1 not so, 77 no target
that was asked for is installed.
"""

import argparse
import os
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from run_target import check, missing_programs
from targets import TARGETS

WORDS = {"absent": "not installed", "too-large": "too large"}


def folders_of(networks):
    return sorted(path.parent for path in networks.glob("*/Makefile"))


def answer_of(folder, target, seconds):
    """BPF is asked for MLPs alone: no more is promised."""
    if target == "bpf" and "mlp" not in folder.name:
        return {"result": "–"}
    return check(folder, target, seconds)


def columns_of(networks):
    """The folders of each column: one, or all networks by chance."""
    columns = {}
    for folder in folders_of(networks):
        columns.setdefault("random" if folder.name.startswith("random-") else folder.name, []).append(folder)
    return columns


def word_for(answer, target):
    """The result; with the machine where it is not the target's own, but one with more memory."""
    word = WORDS.get(answer["result"], answer["result"])
    is_elsewhere = "machine" in answer and answer["machine"] != TARGETS[target].machines[0].name
    return f"{word} ({answer['machine']})" if is_elsewhere else word


def cell(answers, target):
    words = Counter(word_for(answer, target) for answer in answers)
    return ", ".join(f"{count} {word}" if len(answers) > 1 else word for word, count in words.items())


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("networks", type=Path)
    parser.add_argument("--target", action="append", choices=TARGETS, metavar="NAME", help=", ".join(TARGETS))
    parser.add_argument("--seconds", type=int, default=300, help="the longest that one program may run")
    options = parser.parse_args()
    targets = options.target or list(TARGETS)
    columns = columns_of(options.networks)
    if not columns:
        sys.exit(f"matrix.py: {options.networks} holds no emitted folder: run make_networks.py first")
    absent = {target: missing_programs(TARGETS[target]) for target in targets}
    if all(absent.values()):
        print(*(f"{target}: {' and '.join(programs)} not installed" for target, programs in absent.items()), sep="\n")
        return 77
    print("| target | " + " | ".join(columns) + " |")
    print("| --- |" + " --- |" * len(columns))
    wrong = []
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        rows = {target: [[pool.submit(answer_of, folder, target, options.seconds) for folder in folders]
                         for folders in columns.values()] for target in targets}
        for target, row in rows.items():
            answers = [[future.result() for future in futures] for futures in row]
            print(f"| {target} | " + " | ".join(cell(each, target) for each in answers) + " |", flush=True)
            wrong += [answer for each in answers for answer in each if answer["result"] in ("different", "failed")]
    for answer in wrong:
        print(f"{answer['target']}, {answer['folder']}: {answer.get('message', answer.get('differences'))}")
    for target, programs in absent.items():
        if programs:
            print(f"{target}: {' and '.join(programs)} not installed")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
