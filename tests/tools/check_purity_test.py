#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compiles small objects and checks that tools/check_purity.py names the float instructions in them.

usage: check_purity_test.py [c++ [objdump]]
"""

import functools
import importlib.util
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

TOOL = Path(__file__).resolve().parents[2] / "tools" / "check_purity.py"
COMPILER = sys.argv[1] if len(sys.argv) > 1 else "c++"
OBJDUMP = sys.argv[2] if len(sys.argv) > 2 else "objdump"
IS_X86 = "x86" in subprocess.run([COMPILER, "-dumpmachine"], capture_output=True, text=True).stdout

INTEGER = "int run(const signed char* x, int n) { int s = 0; for (int i = 0; i < n; ++i) s += x[i] * x[i]; return s; }\n"
FOLDERS = {  # where CMake leaves the objects of the folders
    "src/laws": "src/laws/CMakeFiles/nibble_laws.dir",
    "src/backend": "src/backend/CMakeFiles/nibble_backend.dir",
    "src/backend/cpu": "src/backend/CMakeFiles/nibble_backend.dir/cpu",
    "src/integer_step": "src/integer_step/CMakeFiles/nibble_integer_step.dir",
    "src/kernels/products": "src/kernels/CMakeFiles/nibble_integer_kernels.dir/products",
    "src/kernels/integer_loops": "src/kernels/CMakeFiles/nibble_integer_kernels.dir/integer_loops",
    "src/kernels/normalization": "src/kernels/CMakeFiles/nibble_integer_kernels.dir/normalization",
    "src/kernels/engine": "src/kernels/CMakeFiles/nibble_integer_kernels.dir/engine",
    "src/engine/cpu": "src/engine/CMakeFiles/nibble_engine.dir/cpu",
}
SOURCES = {  # and those of single sources
    "src/integer_training/integer_averager.cpp": "src/integer_training/CMakeFiles/nibble_integer_training.dir/integer_averager.cpp.o",
    "src/integer_training/frozen_answers.cpp": "src/integer_training/CMakeFiles/nibble_integer_training.dir/frozen_answers.cpp.o",
    "src/integer_training/running_norms.cpp": "src/integer_training/CMakeFiles/nibble_integer_training.dir/running_norms.cpp.o",
    "src/graph/frozen_norm.cpp": "src/graph/CMakeFiles/nibble_graph.dir/frozen_norm.cpp.o",
}

spec = importlib.util.spec_from_file_location("check_purity", TOOL)
tool = importlib.util.module_from_spec(spec)
spec.loader.exec_module(tool)


@functools.cache
def object_of(text, flags=()):
    """The bytes of what the compiler makes of a source."""
    with tempfile.TemporaryDirectory() as folder:
        compiled = Path(folder) / "x.o"
        subprocess.run([COMPILER, "-std=c++20", "-O2", *flags, "-x", "c++", "-c", "-", "-o", str(compiled)],
                       input=text, text=True, check=True)
        return compiled.read_bytes()


def run_on(text, folder="src/integer_step", name="x.cpp", absent=None, flags=()):
    """Exit code and output of the tool on a build with this source in the folder, pure code in all."""
    with tempfile.TemporaryDirectory() as build:
        objects = {f"{where}/pure.cpp.o": object_of(INTEGER) for key, where in FOLDERS.items() if key != absent}
        objects |= {where: object_of(INTEGER) for key, where in SOURCES.items() if key != absent}
        if text is not None:
            objects[f"{FOLDERS.get(folder, folder)}/{name}.o"] = object_of(text, flags)
        for path, content in objects.items():
            compiled = Path(build) / path
            compiled.parent.mkdir(parents=True, exist_ok=True)
            compiled.write_bytes(content)
        done = subprocess.run([sys.executable, "-B", str(TOOL), build, OBJDUMP], capture_output=True, text=True)
        return done.returncode, done.stdout + done.stderr


class CheckPurity(unittest.TestCase):
    def expect_caught(self, text, symbol="run", **more):
        code, output = run_on(text, **more)
        self.assertEqual(code, 1, output)
        self.assertRegex(output, rf"x\.cpp\.o: \S+ in {symbol}")

    def test_sources_compiled_together_are_those_of_their_folder(self):
        half = "double run(double x) { return x / 2; }\n"
        for place, name, code in [("src/kernels/CMakeFiles/nibble_integer_kernels.dir/Unity", "unity_products_0_cxx.cxx", 1),
                                  ("src/integer_step/CMakeFiles/nibble_integer_step.dir/Unity", "unity_integer_step_1_cxx.cxx", 1),
                                  ("src/backend/CMakeFiles/nibble_backend.dir/Unity", "unity_cpu_0_cxx.cxx", 1),
                                  ("src/engine/CMakeFiles/nibble_engine.dir/Unity", "unity_cpu_0_cxx.cxx", 1),
                                  ("src/engine/CMakeFiles/nibble_engine.dir/Unity", "unity_engine_0_cxx.cxx", 0),
                                  ("src/kernels/CMakeFiles/nibble_format_kernels.dir/Unity", "unity_quantize_0_cxx.cxx", 0),
                                  ("src/integer_step/CMakeFiles/integer_step_test.dir/Unity", "unity_integer_step_0_cxx.cxx", 0)]:
            self.assertEqual(run_on(half, folder=place, name=name)[0], code, name)

    def test_integers_pass(self):
        code, output = run_on("#include <map>\n#include <vector>\nstd::map<int, std::vector<int>> all;\n"
                              "void run(int i, int x) { all[i].push_back(x / 3); }\n")
        self.assertEqual(code, 0, output)
        self.assertIn(f"{len(FOLDERS) + len(SOURCES) + 1} objects", output)

    def test_moved_floats_pass(self):
        code, output = run_on("struct F { float a, b, c, d; };\nvoid run(F* to, const F* from) { *to = *from; }\n"
                              "unsigned run(float x) { return __builtin_bit_cast(unsigned, x); }\n")
        self.assertEqual(code, 0, output)

    def test_arithmetic(self):
        for operation in ("a + b", "a - b", "a * b", "a / b", "__builtin_sqrt(a)", "a < b ? a : b"):
            with self.subTest(operation):
                self.expect_caught(f"double run(double a, double b) {{ return {operation}; }}\n", flags=("-fno-math-errno",))

    def test_single_precision(self):
        self.expect_caught("float run(float a, float b) { return a * b; }\n")

    def test_comparison(self):
        self.expect_caught("bool run(float a, float b) { return a < b; }\n")

    def test_conversion(self):
        self.expect_caught("float run(int a) { return float(a); }\n")
        self.expect_caught("int run(double a) { return int(a); }\n")
        self.expect_caught("double run(float a) { return a; }\n")

    def test_vectors(self):
        self.expect_caught("void run(float* a, const float* b) { for (int i = 0; i < 64; ++i) a[i] += b[i]; }\n",
                           flags=("-O3",))

    @unittest.skipUnless(IS_X86, "x87")
    def test_wide_floats(self):
        self.expect_caught("long double run(long double a) { return a * a; }\n")

    def test_the_load_factor_of_a_hash_table(self):
        self.expect_caught("#include <unordered_map>\nstd::unordered_map<int, int> all;\nvoid run(unsigned long n) { all.reserve(n); }\n",
                           symbol=".*")

    def test_every_folder(self):
        for folder in FOLDERS:
            with self.subTest(folder):
                self.expect_caught("float run(float a) { return a + 1; }\n", folder=folder)

    def test_sources_that_stand_alone(self):
        for source, place in SOURCES.items():
            name = Path(source).name
            code, output = run_on("float run(float a) { return a + 1; }\n", folder=str(Path(place).parent), name=name)
            self.assertEqual(code, 1, output)
            self.assertRegex(output, rf"{name}\.o: \S+ in run")

    def test_tests_and_other_folders_are_not_the_step(self):
        text = "float run(float a) { return a + 1; }\n"
        self.assertEqual(run_on(text, name="x_test.cpp")[0], 0)
        self.assertEqual(run_on(text, folder="src/integer_training/CMakeFiles/nibble_integer_run.dir")[0], 0)
        self.assertEqual(run_on(text, folder="src/kernels/CMakeFiles/nibble_format_kernels.dir/quantize")[0], 0)

    def test_a_folder_without_objects_fails(self):
        for place in (*FOLDERS, *SOURCES):
            code, output = run_on(None, absent=place)
            self.assertEqual(code, 1)
            self.assertIn(f"{place}: no object with code", output)

    def test_names_of_instructions(self):
        floats = ("addss vaddps vsubpd mulsd vdivph vsqrtss minps vmaxsd cmpltss vcmpeqps ucomiss vcomisd vucomish cvtsi2sd "
                  "vcvttps2dq vcvtne2ps2bf16 roundsd vrndscaleps vfmadd231ps vfnmsub132sd vfmaddsub213pd vfmadd132nepbf16 vdpbf16ps "
                  "tdpbf16ps dpps haddps rcpps vrsqrt14ps vscalefps vgetexpps vreducess fld fmul fstp fildl "
                  "fucomip fchs vaddnepbf16 vrangepd vfpclassps").split()
        integers = ("vpmaxsd vpminsd vpabsd vpaddd paddw vpdpbusd vpdpwssd tdpbssd vpcmpgtb vpcmpeqd movss vmovups movd vmovq "
                    "vandps xorps vblendvps vshufps vinsertf128 vextractf32x4 unpcklps vbroadcastss vpermilps vpternlogd "
                    "vpmovsxbd vpmulld cmpl cmpxchg addq subl imull divq sarl cltq cvtsi prefetcht0 vzeroupper kmovd "
                    "vpcompressd vmaskmovps movmskps vptest xaddl").split()
        for name in floats:
            self.assertTrue(tool.is_float(name, False), name)
        for name in integers:
            self.assertFalse(tool.is_float(name, False), name)
        for name in "fadd fmul fmadd fnmsub fdiv fsqrt scvtf ucvtf fcvtzs fcvt fcmp fccmp fcmgt frinta fmax fminnm fmla bfdot fabd".split():
            self.assertTrue(tool.is_float(name, True), name)
        for name in "add sqadd smax smin sdot sshr fmov ld1 st1 tbl zip1 bfi bfxil cmgt fsel fcsel saddlv".split():
            self.assertFalse(tool.is_float(name, True), name)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
