#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compiles small kernels and checks that tools/check_device_floats.py names the float instructions in them.

usage: check_device_floats_test.py [nvcc]
"""

import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

TOOL = Path(__file__).resolve().parents[2] / "tools" / "check_device_floats.py"
COMPILER = sys.argv.pop(1) if len(sys.argv) > 1 else "nvcc"


INTEGERS = "x[threadIdx.x] = x[threadIdx.x] * n + (x[0] >> 3);"
FLOATS = "x[threadIdx.x] = int(float(x[threadIdx.x]) * 1.5f);"


def run_on(*bodies):
    """Exit code and output of the tool on objects with one kernel each."""
    with tempfile.TemporaryDirectory() as folder:
        objects = []
        for i, body in enumerate(bodies):
            source, compiled = Path(folder) / f"{i}.cu", Path(folder) / f"{i}.o"
            source.write_text(f"__global__ void kernel(int* x, int n) {{ {body} }}\n")
            subprocess.run([COMPILER, "-gencode=arch=compute_90a,code=sm_90a", "-c", source, "-o", compiled], check=True)
            objects.append(compiled)
        ran = subprocess.run([sys.executable, TOOL, *objects], capture_output=True, text=True)
        return ran.returncode, ran.stdout + ran.stderr


class CheckDeviceFloats(unittest.TestCase):
    def test_finds_nothing_in_integers(self):
        self.assertEqual(run_on(INTEGERS), (0, "0.o: 1 kernels, 0 float instructions\n"))

    def test_names_a_float_that_is_multiplied(self):
        code, said = run_on(FLOATS)
        self.assertEqual(code, 1)
        self.assertIn("kernel", said)

    def test_looks_at_every_library(self):
        for bodies in ((FLOATS, INTEGERS), (INTEGERS, FLOATS)):
            code, said = run_on(*bodies)
            self.assertEqual(code, 1)
            self.assertIn("0.o: 1 kernels", said)
            self.assertIn("1.o: 1 kernels", said)

    def test_names_the_floats_of_a_division_of_integers(self):
        self.assertEqual(run_on("x[threadIdx.x] = x[threadIdx.x] / n;")[0], 1)

    def test_refuses_an_object_without_kernels(self):
        with tempfile.TemporaryDirectory() as folder:
            source, compiled = Path(folder) / "x.cu", Path(folder) / "x.o"
            source.write_text("int host() { return 1; }\n")
            subprocess.run([COMPILER, "-c", source, "-o", compiled], check=True)
            self.assertNotEqual(subprocess.run([sys.executable, TOOL, compiled], capture_output=True).returncode, 0)


if __name__ == "__main__":
    if run_on("x[0] = n;")[0] == 77:
        sys.exit(77)
    unittest.main()
