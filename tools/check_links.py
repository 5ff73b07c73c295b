#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks what comes along with a module that programs link by itself.

usage: check_links.py links.txt

The file, which CMake writes into the build folder, has a line for every module: its target and the targets it links.
"""

import sys
from collections import deque
from pathlib import Path

GPUS = ("nibble_cuda", "CUDA::")
PROCESSES = ("nibble_cluster", "MPI::")
FORMATS = ("nibble_format_kernels",)
FLOATS = ("nibble_float_training", "DNNL::")
DATA = ("nibble_data", "PNG::", "JPEG::", "CURL::")
ONNX = ("nibble_onnx", "onnx_proto")

# Beginnings of the names of targets that a module reaches by no way.
FORBIDDEN = {
    "nibble_engine": GPUS + PROCESSES + FORMATS + FLOATS + DATA + ONNX,
    "nibble_emit": GPUS + PROCESSES + FORMATS + FLOATS + DATA + ONNX + ("nibble_engine",),
    "nibble_inference": GPUS + PROCESSES + FORMATS + FLOATS + ONNX,
    "nibble_backend": GPUS + PROCESSES + FORMATS + FLOATS + DATA + ONNX,
    "nibble_integer_training": GPUS + PROCESSES + FORMATS + FLOATS + ONNX,
}


def read_links(text):
    return {words[0]: words[1:] for words in map(str.split, text.splitlines()) if words}


def ways_from(links, module):
    """Of every target that a module reaches, the shortest way to it."""
    ways = {module: [module]}
    waiting = deque([module])
    while waiting:
        target = waiting.popleft()
        for other in links.get(target, ()):
            if other not in ways:
                ways[other] = ways[target] + [other]
                waiting.append(other)
    return ways


def problems_of(links):
    for module, forbidden in FORBIDDEN.items():
        if module not in links:
            yield f"there is no {module}"
        for target, way in ways_from(links, module).items():
            if target.startswith(forbidden):
                yield f"{module} must not link {target}: {' -> '.join(way)}"


def main():
    if len(sys.argv) != 2:
        print(__doc__.strip(), file=sys.stderr)
        return 2
    links = read_links(Path(sys.argv[1]).read_text(encoding="utf-8"))
    problems = list(problems_of(links))
    for problem in problems:
        print(problem)
    print(f"check_links: {len(links)} modules, {len(problems)} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
