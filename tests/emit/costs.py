#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What emitted networks cost on a Cortex-M4, as a table; then, where there is a ResNet-8, instructions.py's.

usage: costs.py NETWORKS      what make_networks.py wrote
"""

import re
import sys
from pathlib import Path

import instructions
from matrix import folders_of
from measure import TARGET, measure
from run_target import Failure, missing_programs, prefix_of

OPTIMIZE = ("-Os", "-O2")


def arena_bytes(folder):
    header = (folder / f"{prefix_of(folder)}.h").read_text()
    return int(re.search(r"_ARENA_BYTES\D*(\d+)", header)[1])


def print_costs(folders):
    print("| network | arena | parameters | code -Os | stack -Os (call graph) | " +
          " | ".join(f"instructions {flags}" for flags in OPTIMIZE) + " |")
    print("| --- | --- | --- | --- | --- |" + " --- |" * len(OPTIMIZE))
    for folder in folders:
        small, *others = [measure(folder, flags) for flags in OPTIMIZE]
        cells = [folder.name, arena_bytes(folder), small["parameters"], small["code"],
                 f"{small['stack']} ({small['stack_by_call_graph']})",
                 *(f"{found['instructions']:,}" for found in (small, *others))]
        print("| " + " | ".join(map(str, cells)) + " |", flush=True)


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    missing = missing_programs(TARGET)
    if missing:
        print(f"costs.py: {' and '.join(missing)} not installed")
        return 77
    folders = [folder for folder in folders_of(Path(sys.argv[1])) if not folder.name.startswith("random-")]
    print_costs(folders)
    residual = [folder for folder in folders if folder.name.startswith("resnet8")]
    if residual:
        print("\nInstructions a multiply-accumulate of ResNet-8:\n")
        return instructions.print_table(residual)
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except Failure as failure:
        sys.exit(f"costs.py: {failure}")
