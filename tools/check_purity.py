#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that integer training's step and the engine hold no float instruction, in the compiled objects.

usage: check_purity.py BUILD_DIR [objdump]

Disassembles what was built of src/laws, src/backend and its cpu, src/integer_step, src/kernels/products,
src/kernels/integer_loops, src/kernels/normalization, src/kernels/engine and src/engine/cpu, tests and benchmarks aside, and
what makes the model of a run of integers: the mean of its weights, its running statistics, its frozen norms and its frozen
answers.
Arithmetic, comparison, conversion and rounding of floats are refused; moving, shuffling and masking of registers is no
arithmetic.
"""

import re
import subprocess
import sys
from pathlib import Path

FOLDERS = ("src/laws", "src/backend", "src/backend/cpu", "src/integer_step", "src/kernels/products",
           "src/kernels/integer_loops", "src/kernels/normalization", "src/kernels/engine", "src/engine/cpu")
SOURCES = ("src/integer_training/integer_averager.cpp", "src/integer_training/frozen_answers.cpp",
           "src/integer_training/running_norms.cpp", "src/graph/frozen_norm.cpp")  # compiled apart
NOT_THE_STEP = re.compile(r"(_test|_bench|_fuzz|peak\w*)\.cpp\.o$")
UNITY = re.compile(r"^unity_(\w+)_\d+_cxx\.cxx\.o$")

# The letter of the last two is the element: s and d packed or scalar, h of half precision, and the
# suffix forms of bfloat16. Integer instructions begin with p or vp, or end otherwise.
ELEMENT = r"(?:[sp][sdh]|nepbf16|pbf16|bf16)"
X86_FLOAT = re.compile(
    r"^v?(?:"
    r"(?:add|sub|mul|div|sqrt|rsqrt|rsqrt14|rsqrt28|rcp|rcp14|rcp28|min|max|minmax|hadd|hsub|addsub|dp|round|rndscale"
    r"|reduce|range|scalef|getexp|getmant|fixupimm|fpclass|exp2|cmp\w*|u?comi|u?comx)" + ELEMENT +
    r"|f(?:n?m)(?:add|sub|addsub|subadd)(?:132|213|231)?" + ELEMENT +
    r"|fc?(?:madd|mul)c[sp]h"
    r"|4?fn?madd[sp]s"
    r"|cvtt?\w+"
    r"|dp(?:bf16|ph)ps"
    r"|tdp(?:bf16|fp16)ps|tcmm\w+"
    r"|pf(?:add|sub|mul|rcp|rsqrt|max|min|cmp)\w*"
    r")$")
# x87 is all floats; fxsave and fwait only guard its state.
X87 = re.compile(r"^f(?!xsave|xrstor|wait|emms)\w+$")
# cvt… of integers do not exist, but these are no floats: sign extensions of general registers.
X86_INTEGER = {"cvtsi", "cwtl", "cltq", "cltd", "cqto", "cbtw", "cwtd"}

ARM_FLOAT = re.compile(
    r"^(?:f(?:n?m(?:add|sub|ul)|add|sub|mul|mulx|div|sqrt|abd|max|min|maxnm|minnm|ml[as]l?2?|recp|rsqrt|cvt|rint|cm|ccmp|scale|cadd"
    r"|cmla|jcvt|dot|ac)\w*|[su]cvtf|bf(?:cvt|dot|mmla|mlal)\w*)$")
LINE = re.compile(r"^\s*[0-9a-f]+:\t(?:[0-9a-f]{2,8}[ ]?)+\s*\t?([^\t]*)$")
SYMBOL = re.compile(r"^[0-9a-f]+ <(.*)>:$")
PREFIXES = {"lock", "rep", "repz", "repnz", "repe", "repne", "notrack", "bnd", "data16", "cs", "ds", "es", "ss", "{vex}",
            "{evex}", "rex.W"}


def mnemonic(text):
    """The name of the instruction in the text behind the bytes of a line."""
    for word in text.split():
        if word not in PREFIXES:
            return word
    return ""


def is_float(name, is_arm):
    if is_arm:
        return bool(ARM_FLOAT.match(name))
    return bool(X86_FLOAT.match(name) or X87.match(name)) and name not in X86_INTEGER


def float_instructions(listing):
    """(symbol, instruction) of an `objdump -d -C` listing, each pair once; and all instructions."""
    is_arm = "file format elf64-littleaarch64" in listing
    found = {}
    count = 0
    symbol = ""
    for line in listing.splitlines():
        if match := SYMBOL.match(line):
            symbol = match.group(1)
        elif match := LINE.match(line):
            name = mnemonic(match.group(1))
            count += bool(name)
            if is_float(name, is_arm):
                found[symbol, name] = True
    return list(found), count


def folder_of(path):
    """The folder of the sources in an object below a build folder, or None for a test or benchmark."""
    # src/integer_step/CMakeFiles/nibble_integer_step.dir/x.cpp.o, or …/nibble_integer_kernels.dir/products/x.cpp.o
    parts = [part for part in path.parts[:-1] if part != "CMakeFiles" and not part.endswith(".dir")]
    if match := UNITY.match(path.name):
        # The sources of a folder as one: …/nibble_integer_kernels.dir/Unity/unity_products_0_cxx.cxx.o
        library = next(part for part in path.parts if part.endswith(".dir"))
        if not library.startswith("nibble_") or "peak" in library:
            return None
        parts.pop()
        if parts[-1] != match.group(1):
            parts.append(match.group(1))
    elif NOT_THE_STEP.search(path.name):
        return None
    return "/".join(parts)


def objects_of(build):
    """The objects below a build folder that have to be pure, each with its folder or, where it stands alone, its source."""
    for path in sorted([*build.rglob("*.cpp.o"), *build.rglob("unity_*_cxx.cxx.o")]):
        folder = folder_of(path.relative_to(build))
        source = f"{folder}/{path.name.removesuffix('.o')}"
        if folder in FOLDERS or source in SOURCES:
            yield folder if folder in FOLDERS else source, path


def main():
    if len(sys.argv) not in (2, 3):
        print(__doc__.strip(), file=sys.stderr)
        return 2
    build = Path(sys.argv[1])
    objdump = sys.argv[2] if len(sys.argv) > 2 else "objdump"
    problems = []
    objects = 0
    instructions = 0
    missing = {*FOLDERS, *SOURCES}
    for place, path in objects_of(build):
        done = subprocess.run([objdump, "-d", "-C", str(path)], capture_output=True, text=True)
        if done.returncode != 0:
            problems.append(f"{path.relative_to(build)}: {done.stderr.strip()}")
            continue
        found, count = float_instructions(done.stdout)
        objects += 1
        instructions += count
        if count > 0:
            missing.discard(place)
        problems += [f"{path.relative_to(build)}: {name} in {symbol}" for symbol, name in found]
    problems += [f"{place}: no object with code" for place in sorted(missing)]
    for problem in problems:
        print(problem)
    print(f"check_purity: {objects} objects, {instructions} instructions, {len(problems)} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
