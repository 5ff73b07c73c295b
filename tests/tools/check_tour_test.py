#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Plants lies in a small tour and checks that tools/check_tour.py names them."""

import unittest
from pathlib import Path

from small_tree import run_tool

TOUR = "docs/tour.md"
TOOL = Path(__file__).resolve().parents[2] / "tools" / "check_tour.py"

TREE = {
    "docs/cpp.md": "| `nibble/core/shape.h` | `Shape`, `to_string` |\n",
    "docs/data.md": "",
    "include/nibble/core/shape.h": "class Shape {};\nstd::string to_string(const Shape& shape);\n",
    "python/nibble/torch/x.py": "",
    "src/CMakeLists.txt": "",
    "src/core/shape.cpp": "",
    "src/core/shape_test.cpp": "",
    "src/core/parts/deep.cpp": "",
    "src/kernels/CMakeLists.txt": "",
    "src/kernels/round/x86_avx2.cpp": "",
}

SOUND = """# A tour

| folder | holds |
| --- | --- |
| `include/nibble/<module>/` | headers |
| `src/core/` | shapes; more in `parts/` |
| `src/kernels/round/` | `nibble round --to a/b` and `.npy` are no names, and neither are `e4m3`, `/usr/x` and `layers.csv` |
| `python/` | `nibble/`, with `torch/` |

1. `core/shape.cpp` says what `nibble/core/shape.h` tells,
   and `shape_test.cpp` tests it. [Data](data.md#of-ones-own), [elsewhere](https://example.org/x.html).
2. `core/shape{,_test}.cpp`, `kernels/round/<isa>.cpp`.

```
`src/gone.cpp`
```
"""


def run_on(tour, tree=TREE):
    return run_tool(TOOL, {**tree, TOUR: tour})


class CheckTour(unittest.TestCase):
    def expect_caught(self, more, name, after=0):
        """`name` is the one problem, so many lines behind the sound ones."""
        line = len(SOUND.splitlines()) + 1 + after
        code, output = run_on(SOUND + more)
        self.assertEqual(code, 1, output)
        self.assertIn(f"{TOUR}:{line}: there is no {name}\n", output)
        self.assertIn(", 1 problems", output)

    def test_a_sound_tour_passes(self):
        code, output = run_on(SOUND)
        self.assertEqual(code, 0, output)
        self.assertIn("check_tour: 14 names, 0 problems", output)

    def test_a_tree_without_a_tour_fails(self):
        code, output = run_tool(TOOL, TREE)
        self.assertEqual(code, 1)
        self.assertIn(f"no {TOUR}", output)

    def test_a_tour_without_names_fails(self):
        self.assertEqual(run_on("# A tour\n", {})[0], 1)

    def test_missing_files(self):
        self.expect_caught("`core/gone.cpp`\n", "core/gone.cpp")
        self.expect_caught("`nibble/core/gone.h`\n", "nibble/core/gone.h")
        self.expect_caught("`gone.md`\n", "gone.md")

    def test_missing_folders(self):
        self.expect_caught("`src/gone/`\n", "src/gone/")
        self.expect_caught("`core/gone`\n", "core/gone")

    def test_a_file_is_no_folder(self):
        self.expect_caught("`core/shape.cpp/`\n", "core/shape.cpp/")

    def test_a_name_without_its_folder(self):
        self.expect_caught("`shape.cpp`\n", "shape.cpp")
        self.expect_caught("- `core/shape.cpp`\n- `shape_test.cpp`\n", "shape_test.cpp", after=1)
        self.expect_caught("`core/shape.cpp`\n\n`shape_test.cpp`\n", "shape_test.cpp", after=2)

    def test_one_of_several(self):
        self.expect_caught("`core/shape.{cpp,cu}`\n", "core/shape.cu")

    def test_a_pattern_that_fits_nothing(self):
        self.expect_caught("`core/<name>_layer.cpp`\n", "core/<name>_layer.cpp")

    def test_a_broken_link(self):
        self.expect_caught("[gone](gone.md)\n", "gone.md")

    def test_a_folder_that_is_left_out(self):
        for path in ("src/engine/program.cpp", "src/kernels/product/tile.h"):
            code, output = run_on(SOUND, {**TREE, path: ""})
            folder = path.rpartition("/")[0]
            self.assertEqual(code, 1, output)
            self.assertIn(f"{TOUR}: {folder}/ is not in the table of folders\n", output)

    def test_a_public_header_without_a_row(self):
        code, output = run_on(SOUND, {**TREE, "include/nibble/core/error.h": ""})
        self.assertEqual(code, 1, output)
        self.assertIn("docs/cpp.md: nibble/core/error.h has no row\n", output)

    def test_a_name_that_its_header_does_not_have(self):
        rows = TREE["docs/cpp.md"] + "| `nibble/core/gone.h` | `Gone` |\n| `nibble/core/shape.h` | `Shap` |\n"
        code, output = run_on(SOUND, {**TREE, "docs/cpp.md": rows})
        self.assertEqual(code, 1, output)
        self.assertIn("docs/cpp.md:2: there is no Gone in nibble/core/gone.h\n", output)
        self.assertIn("docs/cpp.md:3: there is no Shap in nibble/core/shape.h\n", output)


if __name__ == "__main__":
    unittest.main()
