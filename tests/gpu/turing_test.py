#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""CUDA sources compile for Turing (sm_75), which the usual architectures leave out.

usage: turing_test.py NVCC BUILD_DIR [SOURCE.cu ...]    default: all of BUILD_DIR/cuda_sources.txt, minutes
"""

import concurrent.futures
import os
import subprocess
import sys
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
NVCC, BUILD, *NAMES = sys.argv[1:]
OPTIONS = ["-std=c++20", "--expt-relaxed-constexpr", "-diag-suppress=554", "-arch=sm_75", "-cubin", "-o", "/dev/null",
           f"-I{ROOT}/src", f"-I{ROOT}/include", f"-I{BUILD}/include"]


def compiled(source):
    return subprocess.run([NVCC, *OPTIONS, source], capture_output=True, text=True)


class Turing(unittest.TestCase):
    def test_compiles(self):
        known = {Path(path).name: path for path in Path(BUILD, "cuda_sources.txt").read_text().split()}
        sources = [known[name] for name in NAMES] or list(known.values())
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            for source, process in zip(sources, pool.map(compiled, sources)):
                with self.subTest(source):
                    self.assertEqual(process.returncode, 0, process.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
