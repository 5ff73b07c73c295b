#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that loops of products on AVX-512 keep their sums where they are, in the compiled objects.

usage: check_copies.py BUILD_DIR [objdump]

GCC copied every sum of some loops to another register and back, or to the stack: right, and a quarter slower where two products
are made a cycle. Disassembles the kernels of src/kernels/engine and looks at each innermost loop of the functions that multiply:
with MANY products or more it may have FEW copies of whole registers and accesses of the stack together.
"""

import re
import subprocess
import sys
from pathlib import Path

OBJECTS = "src/kernels/**/engine/x86_avx512vnni.cpp.o"
MULTIPLIES = re.compile(r"\bmultiply_\w+<|\bmultiply\(")
MANY = 8
FEW = 2

PRODUCT = re.compile(r"^(?:\{evex\} )?vpdpbusd\s.*%zmm")
COPY = re.compile(r"^vmov(?:dq[au]\d*|ap[sd]|up[sd])\s+%zmm\d+,%zmm\d+$")
STACK = re.compile(r"\(%r[sb]p[,)].*%zmm|%zmm\d+,-?(?:0x[0-9a-f]+)?\(%r[sb]p[,)]")
SYMBOL = re.compile(r"^[0-9a-f]+ <(.*)>:$")
LINE = re.compile(r"^\s*([0-9a-f]+):\s+(\S.*?)\s*(?:#.*)?$")
JUMP = re.compile(r"^j\w+\s+([0-9a-f]+)\b")


def functions(listing):
    """(name, [(address, instruction)]) of `objdump -d -C --no-show-raw-insn`."""
    name, body = "", []
    for line in listing.splitlines():
        if match := SYMBOL.match(line):
            yield name, body
            name, body = match.group(1), []
        elif match := LINE.match(line):
            body.append(match.groups())
    yield name, body


def innermost_loops(body):
    """From where a jump backwards goes to that jump, where no other such stretch lies within."""
    place = {address: i for i, (address, _) in enumerate(body)}
    loops = sorted((place[match.group(1)], i) for i, (_, text) in enumerate(body)
                   if (match := JUMP.match(text)) and place.get(match.group(1), i + 1) <= i)
    for begin, end in loops:
        if not any(begin <= b and e <= end and (b, e) != (begin, end) for b, e in loops):
            yield [text for _, text in body[begin:end + 1]]


def faults(listing):
    """(function, products, copies) of loops that move too much, and how many loops were looked at."""
    found, seen = [], 0
    for name, body in functions(listing):
        if not MULTIPLIES.search(name):
            continue
        for loop in innermost_loops(body):
            products = sum(bool(PRODUCT.match(text)) for text in loop)
            if products < MANY:
                continue
            seen += 1
            moves = sum(bool(COPY.match(text) or STACK.search(text)) for text in loop)
            if moves > FEW:
                found.append((name, products, moves))
    return found, seen


def main(arguments):
    build = Path(arguments[0])
    objdump = arguments[1] if len(arguments) > 1 else "objdump"
    objects = sorted(build.glob(OBJECTS))
    if not objects:
        sys.exit(f"check_copies: no {OBJECTS} in {build}: build the kernels first")
    code = 0
    for each in objects:
        listing = subprocess.run([objdump, "-d", "-C", "--no-show-raw-insn", str(each)], check=True, capture_output=True,
                                 text=True).stdout
        found, seen = faults(listing)
        if not seen:
            sys.exit(f"check_copies: no loop of {MANY} products in {each.name}")
        for name, products, moves in found:
            print(f"{each.name}: {moves} sums move in a loop of {products} products, expected at most {FEW}: {name}", file=sys.stderr)
        code |= bool(found)
        print(f"check_copies: {seen} loops of products in {each.name}, {len(found)} of them move their sums")
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
