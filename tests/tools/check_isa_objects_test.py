#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compiles small objects and checks that tools/check_isa_objects.py names what they would share.

usage: check_isa_objects_test.py [c++ [nm]]
"""

import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

TOOL = Path(__file__).resolve().parents[2] / "tools" / "check_isa_objects.py"
COMPILER = sys.argv[1] if len(sys.argv) > 1 else "c++"
NM = sys.argv[2] if len(sys.argv) > 2 else "nm"

OWN = """
namespace nibble {
template <class V> [[gnu::noinline]] int kernel(int x) { return x + V::kLanes; }
namespace avx2 { struct Simd { static constexpr int kLanes = 8; }; int run(int x) { return kernel<Simd>(x); } }
}
"""
SHARED_FUNCTION = "namespace nibble { [[gnu::noinline]] inline int helper(int x) { return x + 1; } }\n" \
    "int run(int x) { return nibble::helper(x); }\n"
SHARED_TEMPLATE = "template <class T> [[gnu::noinline]] T twice(T x) { return x + x; }\n" \
    "int run(int x) { return twice(x); }\n"
SHARED_VARIABLE = "namespace nibble { inline int counter = 0; }\nint run() { return ++nibble::counter; }\n"
SHARED_STATIC = "inline int next() { static int n = 0; return ++n; }\nint (*entry)() = next;\n"


def run_on(sources):
    """Exit code and output of the tool on a folder of objects made from these sources."""
    with tempfile.TemporaryDirectory() as folder:
        for name, text in sources.items():
            source = Path(folder) / name
            source.parent.mkdir(parents=True, exist_ok=True)
            source.write_text(text)
            subprocess.run([COMPILER, "-std=c++20", "-O1", "-c", str(source), "-o", f"{source}.o"], check=True)
        done = subprocess.run(
            [sys.executable, "-B", str(TOOL), folder, NM], capture_output=True, text=True)
        return done.returncode, done.stdout + done.stderr


class CheckIsaObjects(unittest.TestCase):
    def expect_caught(self, text, symbol):
        code, output = run_on({"a/x86_avx2.cpp": OWN + text})
        self.assertEqual(code, 1, output)
        self.assertIn("a/x86_avx2.cpp.o: could replace code of other files", output)
        self.assertIn(symbol, output)

    def test_instances_over_the_own_namespace_pass(self):
        code, output = run_on({"a/x86_avx2.cpp": OWN, "b/x86_avx512.cpp": OWN.replace("avx2", "avx512")})
        self.assertEqual(code, 0, output)
        self.assertIn("2 objects, 0 problems", output)

    def test_files_of_other_processors_and_with_longer_names_count(self):
        neon = OWN.replace("avx2", "neon")
        code, output = run_on({"a/arm_neon.cpp": neon, "a/arm_neon_halves.cpp": neon, "a/x86_avx2_peak.cpp": OWN})
        self.assertEqual(code, 0, output)
        self.assertIn("3 objects, 0 problems", output)
        code, output = run_on({"arm_neon_halves.cpp": neon + SHARED_FUNCTION})
        self.assertEqual(code, 1, output)
        self.assertIn("nibble::helper(int)", output)

    def test_other_files_may_share(self):
        code, output = run_on({"x86_avx2.cpp": OWN, "portable.cpp": SHARED_FUNCTION})
        self.assertEqual(code, 0, output)

    def test_inline_function(self):
        self.expect_caught(SHARED_FUNCTION, "nibble::helper(int)")

    def test_template_over_a_common_type(self):
        self.expect_caught(SHARED_TEMPLATE, "twice<int>")

    def test_inline_variable(self):
        self.expect_caught(SHARED_VARIABLE, "nibble::counter")

    def test_static_of_an_inline_function(self):
        self.expect_caught(SHARED_STATIC, "next()::n")

    def test_the_namespace_of_the_other_instruction_set(self):
        code, output = run_on({"x86_avx512.cpp": OWN})
        self.assertEqual(code, 1, output)
        self.assertIn("kernel<nibble::avx2::Simd>", output)

    def test_a_folder_without_objects_fails(self):
        self.assertEqual(run_on({"portable.cpp": OWN})[0], 1)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
