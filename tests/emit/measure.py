#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What an emitted network costs on a Cortex-M4: code, stack and instructions of one run.

usage: measure.py FOLDER [--json] [--optimize -Os]

code           bytes of what PREFIX_run needs, tables and functions of libgcc among them, linked with --gc-sections;
               less the parameters, the constants of PREFIX_parameters.c, which are counted apart
stack          of PREFIX_run: bytes of a painted stack that one run changed; in brackets the
               deepest path of the compiler's call graph (-fcallgraph-info=su)
instructions   of one run on a random input: ticks of a timer of mps2-an386 under qemu -icount shift=0
"""

import argparse
import json
import re
import sys
import tempfile
from pathlib import Path

from run_target import (BOARDS, FIND_BOARDS, Failure, call, finish_compiling, memory_flags, missing_programs,
                        numbers_in, prefix_of, run_program, sources_of)
from targets import BARE, TARGETS

TARGET = TARGETS["cortex-m4"]
MACHINE = TARGET.machines[0]
CPU = ("-std=c99", "-mthumb", "-mcpu=cortex-m4")


def macros_of(prefix):
    name = prefix.upper()
    return [f'-DHEADER="{prefix}.h"', f"-DRUN={prefix}_run", f"-DARENA_BYTES={name}_ARENA_BYTES",
            f"-DINPUT_TYPE={prefix}_input_t", f"-DOUTPUT_TYPE={prefix}_output_t",
            f"-DINPUT_ELEMENTS=({name}_INPUT_SIZE * {name}_BATCH)",
            f"-DOUTPUT_ELEMENTS=({name}_OUTPUT_SIZE * {name}_BATCH)"]


def network_sources(folder, prefix):
    """What a product links: without the self-tests, their vectors and training."""
    aside = re.compile(rf"{prefix}_(check|vectors|train.*)\.c")
    return [path for path in sources_of(folder, prefix) if not aside.fullmatch(path.name)]


def link(folder, prefix, work, flags):
    program = Path(work) / "program"
    finish_compiling(call(
        [TARGET.compiler, *CPU, *flags, *BARE, "-ffunction-sections", "-fdata-sections", "-Wl,--gc-sections",
         f"-I{folder}", *FIND_BOARDS, *macros_of(prefix), *memory_flags(TARGET, prefix),
         *network_sources(folder, prefix), BOARDS / "measure.c", BOARDS / "cortex_m.c",
         f"-T{BOARDS / 'cortex_m.ld'}", *MACHINE.link_flags(), "-o", program, "-lgcc"], 300))
    return program


def symbols(made):
    """(bytes, kind, name) of a program or an object."""
    rows = [line.split() for line in call(["arm-none-eabi-nm", "-S", made], 60).stdout.splitlines()]
    return [(int(row[1], 16), row[2].lower(), row[3]) for row in rows if len(row) == 4]


def flash_bytes(folder, prefix, work, flags):
    """Of the program, but for the board and measure.c: functions with their tables, and parameters."""
    parameters = set()
    for source in network_sources(folder, prefix):
        if "parameters" in source.name:
            made = Path(work) / "parameters.o"
            finish_compiling(call([TARGET.compiler, *CPU, *flags, "-c", f"-I{folder}", *FIND_BOARDS, source,
                                   "-o", made], 300))
            parameters |= {name for _, _, name in symbols(made)}
    ours = re.compile(r"board_|(main|paint|depth_below|ticks_of_a_run|semihosting|vectors)$")
    of_network = [row for row in symbols(Path(work) / "program") if row[1] in "trw" and not ours.match(row[2])]
    return (sum(size for size, _, name in of_network if name not in parameters),
            sum(size for size, _, name in of_network if name in parameters))


def deepest_path(folder, prefix, work, flags):
    """Bytes of the deepest path of calls from PREFIX_run, and its functions; recursion is an error."""
    frames, calls = {}, {}
    for source in network_sources(folder, prefix):
        made = Path(work) / f"{source.stem}.o"
        finish_compiling(call([TARGET.compiler, *CPU, *flags, "-ffreestanding", *memory_flags(TARGET, prefix), "-c",
                               "-fcallgraph-info=su", f"-I{folder}", source, "-o", made], 300))
        graph = made.with_suffix(".ci").read_text()
        for title, size in re.findall(r'node: \{ title: "([^"]+)" label: "[^"]*\\n(\d+) bytes \(', graph):
            frames[title] = int(size)
        for caller, callee in re.findall(r'edge: \{ sourcename: "([^"]+)" targetname: "([^"]+)"', graph):
            calls.setdefault(caller, set()).add(callee)

    def deepest(name, above):
        if name in above:
            raise Failure(f"recursion: {' -> '.join([*above, name])}")
        below = max((deepest(callee, (*above, name)) for callee in calls.get(name, ())), default=(0, []))
        return frames.get(name, 0) + below[0], [name, *below[1]]

    return deepest(f"{prefix}_run", ())


def count(program, seconds=300):
    """Numbers of board/measure.c; every run gives the same."""
    process = run_program(TARGET, program, seconds, MACHINE, ("-icount", "shift=0"))
    found = numbers_in(process.stdout + process.stderr)
    if found.get("status") != 0:
        raise Failure(f"no answer, exit code {process.returncode}: {process.stdout}{process.stderr}")
    return found["stack"], found["kilo_instructions"] * 1000 + found["instructions_rest"]


def measure(folder, optimize):
    prefix = prefix_of(folder)
    flags = optimize.split()
    with tempfile.TemporaryDirectory() as work:
        program = link(folder, prefix, work, flags)
        stack, instructions = count(program)
        depth, path = deepest_path(folder, prefix, work, flags)
        code, parameters = flash_bytes(folder, prefix, work, flags)
        return {"optimize": optimize, "code": code, "parameters": parameters,
                "stack": stack, "stack_by_call_graph": depth, "deepest_path": path, "instructions": instructions}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--optimize", default="-Os", help="flags of the compiler, as one word")
    options = parser.parse_args()
    missing = missing_programs(TARGET)
    if missing:
        print(f"measure.py: {' and '.join(missing)} not installed")
        return 77
    try:
        found = measure(options.folder, options.optimize)
    except Failure as failure:
        print(f"measure.py: {failure}", file=sys.stderr)
        return 1
    if options.json:
        print(json.dumps(found))
    else:
        print(f"{options.folder.name} {options.optimize}: code {found['code']}, parameters {found['parameters']}, "
              f"stack {found['stack']} ({found['stack_by_call_graph']}), instructions {found['instructions']}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
