#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""No float instruction in the kernels of integer training: looks at the machine code of a library of GPU kernels.

usage: check_device_floats.py LIBRARY   (needs cuobjdump of the CUDA toolkit)
"""

import re
import shutil
import subprocess
import sys
from pathlib import Path

FLOAT = re.compile(r"\b(F(ADD|MUL|FMA|SET|SETP|MNMX|SEL|RND|CHK|SWZADD)|D(ADD|MUL|FMA|SETP|MNMX)|H(ADD2|MUL2|FMA2|SET2|SETP2|MNMX2|MMA|GMMA)"
                   r"|MUFU|I2F|I2FP|F2I|F2IP|F2F|F2FP)\b")
CONSTANT = re.compile(r"HFMA2(\.MMA)?(\.BF16_V2)? R\d+, -RZ, RZ,|HFMA2(\.MMA)?(\.BF16_V2)? R\d+, -RZ, RZ")  # moves a constant


def cuobjdump():
    found = shutil.which("cuobjdump") or "/usr/local/cuda/bin/cuobjdump"
    if not Path(found).exists():
        print("skipped: no cuobjdump")
        sys.exit(77)
    return found


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    code = subprocess.run([cuobjdump(), "--dump-sass", sys.argv[1]], check=True, capture_output=True, text=True).stdout
    kernel, kernels, found = "", set(), []
    for line in code.splitlines():
        if "Function :" in line:
            kernel = line.split(":")[1].strip()
            kernels.add(kernel)
        elif FLOAT.search(line) and not CONSTANT.search(line):
            found.append(f"{kernel}: {line.strip()}")
    for each in found[:20]:
        print(each)
    print(f"{len(kernels)} kernels, {len(found)} float instructions")
    sys.exit(1 if found or not kernels else 0)


main()
