#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""No float instruction in the kernels of integer training and of the engine: looks at the machine code of libraries.

usage: check_device_floats.py LIBRARY ...   (each has kernels; needs cuobjdump and nvdisasm: of the CUDA toolkit, or those in .venv)
"""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

FLOAT = re.compile(r"\b(F(ADD|MUL|FMA|SET|SETP|MNMX|SEL|RND|CHK|SWZADD)|D(ADD|MUL|FMA|SETP|MNMX)|H(ADD2|MUL2|FMA2|SET2|SETP2|MNMX2|MMA|GMMA)"
                   r"|MUFU|I2F|I2FP|F2I|F2IP|F2F|F2FP)\b")
CONSTANT = re.compile(r"HFMA2(\.MMA)?(\.BF16_V2)? R\d+, -RZ, RZ,|HFMA2(\.MMA)?(\.BF16_V2)? R\d+, -RZ, RZ")  # moves a constant


def machine_code(library):
    """What cuobjdump prints of a library: the programs on the path, the toolkit's, or PyPI's in .venv."""
    root = Path(__file__).resolve().parent.parent
    folders = [*os.environ["PATH"].split(os.pathsep), "/usr/local/cuda/bin",
               *map(str, root.glob(".venv/lib/python3*/site-packages/nvidia/cu*/bin"))]
    path = os.pathsep.join(folders)
    found = [shutil.which(name, path=path) for name in ("cuobjdump", "nvdisasm")]
    if not all(found):
        print("skipped: no cuobjdump with nvdisasm")
        sys.exit(77)
    return subprocess.run([found[0], "--dump-sass", library], check=True, capture_output=True, text=True,
                          env={**os.environ, "PATH": path}).stdout


def is_without_floats(library):
    """Says what it finds; false as well where a library has no kernel."""
    kernel, kernels, found = "", set(), []
    for line in machine_code(library).splitlines():
        if "Function :" in line:
            kernel = line.split(":")[1].strip()
            kernels.add(kernel)
        elif FLOAT.search(line) and not CONSTANT.search(line):
            found.append(f"{kernel}: {line.strip()}")
    for each in found[:20]:
        print(each)
    print(f"{Path(library).name}: {len(kernels)} kernels, {len(found)} float instructions")
    return bool(kernels) and not found


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    sys.exit(0 if all([is_without_floats(library) for library in sys.argv[1:]]) else 1)


main()
