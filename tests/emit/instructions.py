#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Instructions a multiply-accumulate of emitted ResNet-8s, beside TFLite-Micro's reference-kernel arithmetic.

usage: instructions.py FOLDER…

On a Cortex-M4 a run is counted by measure.py; on x86-64 by valgrind's callgrind, inside PREFIX_run alone. The
arithmetic of the reference is reference/, compiled with the same flags and given random parameters. All
instructions of a run count, additions, pooling and rescaling among them; the divisor is the number of
multiply-accumulates of the convolutions and the last product, padding included.
"""

import random
import re
import shutil
import sys
import tempfile
from pathlib import Path

import measure
from run_target import BOARDS, FIND_BOARDS, Failure, call, finish_compiling, prefix_of

REFERENCE = Path(__file__).resolve().parent / "reference"
WEIGHTS, CHANNELS = 77360, 336  # of ResNet-8
ARM_FLAGS = ("-Os", "-O2", "-O3")
X86_FLAGS = ("-O2", "-O3", "-O3 -march=x86-64-v3")


def reference_folder(work):
    """The reference's sources with random parameters, whose sums are of the size of an int8 after rescaling."""
    folder = Path(work) / "reference"
    shutil.copytree(REFERENCE, folder)
    draw = random.Random(1)
    arrays = {"weights": ("int8_t", [draw.randint(-127, 127) for _ in range(WEIGHTS)]),
              "biases": ("int32_t", [draw.randint(-20000, 20000) for _ in range(CHANNELS)]),
              "multipliers": ("int32_t", [draw.randint(1 << 30, (1 << 31) - 1) for _ in range(CHANNELS)]),
              "shifts": ("int32_t", [-10] * CHANNELS)}
    (folder / "parameters.c").write_text('#include "tests/emit/reference/parameters.h"\n' + "".join(
        f"const {kind} reference_{name}[{len(values)}] = {{{','.join(map(str, values))}}};\n"
        for name, (kind, values) in arrays.items()))
    return folder


def on_cortex_m4(folder, prefix, flags, work):
    return measure.count(measure.link(folder, prefix, work, flags.split()))[1]


def on_x86(folder, prefix, flags, work):
    program = Path(work) / "program"
    finish_compiling(call(["gcc", "-std=c99", *flags.split(), f"-I{folder}", *FIND_BOARDS, *measure.macros_of(prefix),
                           *measure.network_sources(folder, prefix), BOARDS / "run_once.c", "-o", program], 300))
    process = call(["valgrind", "--tool=callgrind", f"--callgrind-out-file={work}/calls",
                    f"--toggle-collect={prefix}_run", program], 600)
    found = re.search(r"Collected : (\d+)", process.stderr)
    if process.returncode != 0 or not found:
        raise Failure(f"valgrind: exit code {process.returncode}: {process.stderr.strip().splitlines()[-1:]}")
    return int(found[1])


def print_table(folders, macs=12501632):
    missing = [name for name in ("arm-none-eabi-gcc", "qemu-system-arm", "valgrind") if shutil.which(name) is None]
    if missing:
        print(f"instructions.py: {' and '.join(missing)} not installed")
        return 77
    columns = [("cortex-m4", on_cortex_m4, flags) for flags in ARM_FLAGS]
    columns += [("x86-64", on_x86, flags) for flags in X86_FLAGS]
    print("| | " + " | ".join(f"{where} {flags}" for where, _, flags in columns) + " |")
    print("| --- |" + " --- |" * len(columns))
    with tempfile.TemporaryDirectory() as work:
        reference = reference_folder(work)
        for folder, prefix in [(reference, "reference"), *((path, prefix_of(path)) for path in folders)]:
            counts = [count(folder, prefix, flags, work) for _, count, flags in columns]
            print(f"| {folder.name} | " + " | ".join(f"{n / macs:.2f}" for n in counts) + " |", flush=True)
    return 0


if __name__ == "__main__":
    try:
        sys.exit(print_table([Path(word) for word in sys.argv[1:]]))
    except Failure as failure:
        sys.exit(f"instructions.py: {failure}")
