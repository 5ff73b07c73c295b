#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Plants types of one name in a small tree and checks that tools/check_types.py names them."""

import unittest
from pathlib import Path

from small_tree import run_tool

TOOL = Path(__file__).resolve().parents[2] / "tools" / "check_types.py"

SOUND = {
    "include/nibble/core/shape.h": "namespace nibble {\nclass Tensor;  // told, not made\nstruct Shape { int rank; };\n}\n",
    "src/core/a.cpp": "namespace nibble {\nnamespace {\nstruct Local { int x; };\n}\nvoid f() { struct Inner { int y; }; }\n}\n",
    "src/core/b.cpp": "namespace nibble {\nnamespace {\nstruct Local { long x; };\n}\nvoid g() { struct Inner { int z; }; }\n}\n",
    "src/core/c.cpp": "namespace nibble::other {\nenum class Shape { flat };\n}\n",
    "src/core/d.cpp": "namespace nibble {\nclass Outer {\n  struct Shape {};\n public:\n  struct Entry {};\n};\n}\n",
    "src/core/e.cpp": "namespace nibble {\n// struct Shape {};\nconst char* t = R\"(struct Shape {};)\";\n"
    "struct Shape make() { return {}; }\nint large = 1'000'000;\n}\n",
    "src/core/f.cpp": "namespace nibble {\ntemplate <class T> struct Traits {};\ntemplate <> struct Traits<int> {};\n}\n",
    "src/core/reader.cpp": "namespace nibble {\nstruct Reader::State { int x; };\n}\n",
    "src/core/reader_absent.cpp": "namespace nibble {\nstruct Reader::State {};\n}\n",
}


def run_on(files):
    return run_tool(TOOL, files)


class CheckTypes(unittest.TestCase):
    def expect_caught(self, text, name, line=2):
        code, output = run_on({**SOUND, "src/float_training/bad.h": text})
        self.assertEqual(code, 1, output)
        self.assertIn(f"{name} is defined more than once", output)
        self.assertIn(f"src/float_training/bad.h:{line}", output)
        self.assertIn(", 1 problems", output)

    def test_a_sound_tree_passes(self):
        code, output = run_on(SOUND)
        self.assertEqual(code, 0, output)
        self.assertIn("check_types: 8 types, 0 problems", output)

    def test_an_empty_tree_fails(self):
        self.assertEqual(run_on({})[0], 1)

    def test_a_struct_in_another_module(self):
        self.expect_caught("namespace nibble {\nstruct Shape { double other; };\n}\n", "nibble::Shape")

    def test_another_kind_of_type(self):
        self.expect_caught("namespace nibble {\nenum class Shape : int { flat };\n}\n", "nibble::Shape")

    def test_bases_attributes_and_alignment(self):
        self.expect_caught(
            "namespace nibble {\nclass [[nodiscard]] alignas(64) Shape final : public Base<int> {};\n}\n", "nibble::Shape"
        )

    def test_a_namespace_written_in_parts(self):
        self.expect_caught("namespace nibble {\nnamespace other {\nclass Shape {};\n}\n}\n", "nibble::other::Shape", 3)

    def test_a_type_within_a_type(self):
        self.expect_caught("namespace nibble {\nstruct Outer::Entry {};\n}\n", "nibble::Outer::Entry")

    def test_a_template_and_its_specialization(self):
        self.expect_caught("namespace nibble {\ntemplate <class A, class B> struct Traits {};\n}\n", "nibble::Traits")
        self.expect_caught("namespace nibble {\ntemplate <>\nstruct Traits<int> {};\n}\n", "nibble::Traits<int>")

    def test_after_functions_strings_and_comments(self):
        self.expect_caught(
            'namespace nibble {\nint f() { if (1) { return \'{\'; } }\nconst char* s = "{"; /* { */ // {\n'
            "#define BODY {\nstruct Shape {};\n}\n", "nibble::Shape", 5
        )


if __name__ == "__main__":
    unittest.main()
