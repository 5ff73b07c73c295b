#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that objects compiled for one instruction set share no code with the rest.

usage: check_isa_objects.py BUILD_DIR [nm]

The linker keeps one copy of a weak symbol. If it were the copy of x86_avx512.cpp, any caller would
run AVX-512 code, also on a machine without it. So what these objects define must be their own:
each weak symbol has to name the object's namespace. An object <processor>_<isa>*.cpp.o, as
x86_avx512.cpp.o or arm_neon_halves.cpp.o, has the namespace nibble::<module>::<isa>.
"""

import re
import subprocess
import sys
from pathlib import Path

OBJECT = re.compile(r"^(?:x86|arm)_([a-z0-9]+)(?:_\w+)?\.cpp\.o$")
WEAK_TYPES = set("WVwvu")  # weak functions, weak data, unique globals
SYMBOL = re.compile(r"^[0-9a-fA-F]*\s+(\w) (.*)$")


def shared_symbols(listing, isa):
    """The weak symbols of an `nm -C` listing that do not name the instruction set."""
    own = re.compile(rf"\bnibble::(?:\w+::)?{isa}\b")
    for line in listing.splitlines():
        match = SYMBOL.match(line)
        if match and match.group(1) in WEAK_TYPES and not own.search(match.group(2)):
            yield match.group(2)


def isa_objects(build):
    """(path, instruction set) of the objects in a build folder."""
    for path in sorted(build.rglob("*.cpp.o")):
        if match := OBJECT.match(path.name):
            yield path, match.group(1)


def main():
    if len(sys.argv) not in (2, 3):
        print(__doc__.strip(), file=sys.stderr)
        return 2
    build = Path(sys.argv[1])
    nm = sys.argv[2] if len(sys.argv) > 2 else "nm"
    objects = list(isa_objects(build))
    problems = []
    for path, isa in objects:
        done = subprocess.run([nm, "-C", "--defined-only", str(path)], capture_output=True, text=True)
        if done.returncode != 0:
            problems.append(f"{path.relative_to(build)}: {done.stderr.strip()}")
        for symbol in shared_symbols(done.stdout, isa):
            problems.append(f"{path.relative_to(build)}: could replace code of other files: {symbol}")
    for problem in problems:
        print(problem)
    print(f"check_isa_objects: {len(objects)} objects, {len(problems)} problems")
    return 1 if problems or not objects else 0


if __name__ == "__main__":
    sys.exit(main())
