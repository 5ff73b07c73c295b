#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Plants each kind of violation in a small tree and checks that tools/check_layers.py names it."""

import unittest
from pathlib import Path

from small_tree import run_tool

TOOL = Path(__file__).resolve().parents[2] / "tools" / "check_layers.py"
SPDX = "// SPDX-License-Identifier: Apache-2.0\n"

SOUND = {
    "include/nibble/core/tensor.h": "#include <vector>\n",
    "include/nibble/numerics/format.h": '#include "nibble/core/tensor.h"\n#include "nibble/version.h"\n',
    "include/nibble/nibble.hpp": '#include "nibble/core/tensor.h"\n#include "nibble/numerics/format.h"\n',
    "include/nibble.h": "#include <stdint.h>\n",
    "src/engine/c_api.cpp": '#include "nibble.h"\n',
    "src/core/tensor.cpp": '#include "nibble/core/tensor.h"\n#include <fmt/core.h>\n#include <xxhash.h>\n',
    "src/numerics/cell.cpp": '#include "numerics/cell.h"\n#include "nibble/numerics/format.h"\n',
    "src/kernels/round/avx2.cpp": '#include "kernels/simd/avx2.h"\n#include "kernels/pack/pack.h"\n',
    "src/emit/emit.cpp": '#include "laws/rescale.h"\n#include "graph/network.h"\n',
    "apps/nibble/main.cpp": '#include "apps/nibble/verb.h"\n#include "nibble/emit/emit.h"\n',
    "tests/cross_test.cpp": '#include "nibble/engine/engine.h"\n#include "nibble/nibble.hpp"\n#include <gtest/gtest.h>\n',
}


def run_on(files):
    return run_tool(TOOL, files)


class CheckLayers(unittest.TestCase):
    def expect_caught(self, name, text, message, head=SPDX):
        files = {path: SPDX + body for path, body in SOUND.items()}
        files[name] = head + text
        code, output = run_on(files)
        self.assertEqual(code, 1, output)
        self.assertIn(message, output)
        self.assertIn(name, output)
        self.assertIn(", 1 problems", output)

    def test_a_sound_tree_passes(self):
        code, output = run_on({path: SPDX + body for path, body in SOUND.items()})
        self.assertEqual(code, 0, output)
        self.assertIn(f"{len(SOUND)} files, 0 problems", output)

    def test_an_empty_tree_fails(self):
        self.assertEqual(run_on({})[0], 1)

    def test_higher_row(self):
        self.expect_caught("src/core/bad.cpp", '#include "numerics/cell.h"\n', "includes the higher numerics")

    def test_higher_row_through_a_public_header(self):
        self.expect_caught("src/graph/bad.cpp", "#include <nibble/float_training/tape.h>\n", "includes the higher float_training")

    def test_front_door_from_below(self):
        self.expect_caught("src/report/bad.cpp", '#include "apps/nibble/verb.h"\n', "includes the higher apps")

    def test_a_header_for_tests_alone(self):
        files = {path: SPDX + body for path, body in SOUND.items()}
        files["src/graph/dice.h"] = SPDX
        files["src/graph/arena_test.cpp"] = SPDX + '#include "graph/dice.h"\n'
        code, output = run_on(files)
        self.assertEqual(code, 1, output)
        self.assertIn("src/graph/dice.h:1: tests alone include it", output)
        files["src/graph/arena.cpp"] = files["src/graph/arena_test.cpp"]
        self.assertEqual(run_on(files)[0], 0)

    def test_sibling(self):
        self.expect_caught("src/graph/bad.cpp", '#include "data/idx.h"\n', "includes its sibling data")

    def test_sibling_between_public_headers(self):
        self.expect_caught(
            "include/nibble/numerics/format.h", '#include "nibble/laws/shift.h"\n', "includes its sibling laws")

    def test_emit_does_not_know_engine(self):
        self.expect_caught("src/emit/bad.cpp", '#include "engine/program.h"\n', "emit must not include engine")

    def test_public_header_with_a_private_one(self):
        self.expect_caught("include/nibble/core/tensor.h", '#include "core/impl.h"\n', "includes a private one")

    def test_public_header_with_a_third_party_one(self):
        for header in ("fmt/core.h", "CLI/CLI.hpp", "xxhash.h", "immintrin.h"):
            self.expect_caught(
                "include/nibble/core/tensor.h", f"#include <{header}>\n", "outside the standard library")

    def test_public_header_that_the_umbrella_leaves_out(self):
        files = {path: SPDX + body for path, body in SOUND.items()}
        files["include/nibble/graph/op.h"] = SPDX
        code, output = run_on(files)
        self.assertEqual(code, 1, output)
        self.assertIn("include/nibble/nibble.hpp:1: does not include nibble/graph/op.h", output)

    def test_umbrella_from_below(self):
        self.expect_caught("src/graph/bad.cpp", '#include "nibble/nibble.hpp"\n', "includes the higher apps")

    def test_header_for_c_programs(self):
        self.expect_caught("src/graph/bad.cpp", '#include "nibble.h"\n', "graph includes the header for C")

    def test_path_with_two_dots(self):
        self.expect_caught("src/core/bad.cpp", '#include "../core/impl.h"\n', 'include path with ".."')

    def test_include_not_from_a_root(self):
        self.expect_caught("src/core/bad.cpp", '#include "impl.h"\n', "does not start at")

    def test_unknown_module(self):
        self.expect_caught("src/utils/bad.cpp", "", "not in the table of modules")
        self.expect_caught("src/core/bad.cpp", '#include "nibble/utils/x.h"\n', "not in the table")

    def test_missing_spdx_line(self):
        self.expect_caught("src/core/bad.cpp", "int x;\n", "no 'SPDX", head="")
        self.expect_caught("tools/bad.py", "x = 1\n", "no 'SPDX", head="")

    def test_long_file(self):
        self.expect_caught("src/core/bad.cpp", "\n" * 500, "501 lines: split it")

    def test_a_file_of_the_limit_passes(self):
        files = {path: SPDX + body for path, body in SOUND.items()}
        files["src/core/long.cpp"] = SPDX + "\n" * 499
        self.assertEqual(run_on(files)[0], 0)


if __name__ == "__main__":
    unittest.main()
