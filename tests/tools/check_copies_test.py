#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that tools/check_copies.py sees sums that move in loops of products."""

import importlib.util
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

TOOL = Path(__file__).resolve().parents[2] / "tools" / "check_copies.py"
PLACE = "src/kernels/CMakeFiles/nibble_integer_kernels.dir/engine/x86_avx512vnni.cpp.o"

spec = importlib.util.spec_from_file_location("check_copies", TOOL)
tool = importlib.util.module_from_spec(spec)
spec.loader.exec_module(tool)

COPY = "vmovdqa64 %zmm1,%zmm2"
STORE = "vmovdqu64 %zmm1,0x40(%rsp)"
LOAD = "vpaddd 0x40(%rsp),%zmm1,%zmm1"


def listing(loop, before=(), products=12, name="void multiply_part<6, 4>(FilterTile const&)"):
    """Of a function with `before`, then a loop of products and `loop`."""
    texts = [*before, *["vpdpbusd %zmm3,%zmm4,%zmm5"] * products, *loop]
    begin = 16 + len(before)
    lines = [f"  {16 + i:x}:\t{text}" for i, text in enumerate([*texts, f"jb     {begin:x} <f+0x1>", "ret"])]
    return "\n".join([f"0000000000000010 <{name}>:", *lines])


class CheckCopies(unittest.TestCase):
    def test_few_copies_pass(self):
        self.assertEqual(tool.faults(listing([COPY, STORE])), ([], 1))

    def test_copies_and_accesses_of_the_stack_count(self):
        found, _ = tool.faults(listing([COPY, STORE, LOAD]))
        self.assertEqual([(products, moves) for _, products, moves in found], [(12, 3)])

    def test_what_is_outside_of_the_loop_does_not(self):
        self.assertEqual(tool.faults(listing([], before=[COPY] * 9)), ([], 1))

    def test_halves_of_registers_and_the_host_stack_do_not(self):
        self.assertEqual(tool.faults(listing(["vmovdqa %ymm1,%ymm2", "mov 0x8(%rsp),%rax"] * 9)), ([], 1))

    def test_loops_of_few_products_and_other_functions_are_left_alone(self):
        self.assertEqual(tool.faults(listing([COPY] * 9, products=7)), ([], 0))
        self.assertEqual(tool.faults(listing([COPY] * 9, name="void depthwise(DepthwiseTile const&)")), ([], 0))

    def test_a_build_without_the_kernel_is_refused(self):
        with tempfile.TemporaryDirectory() as build:
            done = subprocess.run([sys.executable, str(TOOL), build], capture_output=True, text=True)
        self.assertEqual(done.returncode, 1)
        self.assertIn("build the kernels first", done.stderr)

    def test_an_object_without_loops_is_refused(self):
        with tempfile.TemporaryDirectory() as build:
            place = Path(build) / PLACE
            place.parent.mkdir(parents=True)
            subprocess.run(["c++", "-x", "c++", "-c", "-", "-o", str(place)], input="int f() { return 1; }", text=True, check=True)
            done = subprocess.run([sys.executable, str(TOOL), build], capture_output=True, text=True)
        self.assertEqual(done.returncode, 1)
        self.assertIn("no loop", done.stderr)


if __name__ == "__main__":
    unittest.main()
