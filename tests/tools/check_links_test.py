#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Plants links that must not be and checks that tools/check_links.py names the way to them."""

import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

TOOL = Path(__file__).resolve().parents[2] / "tools" / "check_links.py"

SOUND = {
    "nibble_core": ["fmt::fmt"],
    "nibble_graph": ["nibble_core"],
    "nibble_cuda": ["nibble_core", "CUDA::cudart_static"],
    "nibble_cluster": ["nibble_core", "MPI::MPI_CXX"],
    "nibble_format_kernels": ["nibble_cuda"],
    "nibble_integer_kernels": ["nibble_core"],
    "nibble_float_training": ["nibble_format_kernels", "DNNL::dnnl"],
    "nibble_engine": ["nibble_graph", "nibble_integer_kernels"],
    "nibble_emit": ["nibble_graph"],
    "nibble_data": ["nibble_core", "PNG::PNG"],
    "nibble_inference": ["nibble_engine", "nibble_data"],
    "nibble_backend": ["nibble_graph", "nibble_integer_kernels"],
    "nibble_integer_training": ["nibble_backend", "nibble_data"],
}


def run_on(links):
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
        file.write("".join(" ".join([target, *others]) + "\n" for target, others in links.items()))
        file.flush()
        done = subprocess.run([sys.executable, "-B", str(TOOL), file.name], capture_output=True, text=True)
        return done.returncode, done.stdout + done.stderr


class CheckLinks(unittest.TestCase):
    def expect_caught(self, module, link, message):
        code, output = run_on(SOUND | {module: SOUND[module] + [link]})
        self.assertEqual(code, 1, output)
        self.assertIn(message, output)

    def test_sound_links_pass(self):
        code, output = run_on(SOUND)
        self.assertEqual(code, 0, output)
        self.assertIn(f"{len(SOUND)} modules, 0 problems", output)

    def test_a_direct_link(self):
        self.expect_caught("nibble_engine", "nibble_format_kernels", "nibble_engine must not link nibble_format_kernels: ")
        self.expect_caught("nibble_backend", "CUDA::cudart_static", "nibble_backend must not link CUDA::cudart_static")
        self.expect_caught("nibble_emit", "nibble_engine", "nibble_emit must not link nibble_engine")

    def test_a_link_of_what_is_linked(self):
        self.expect_caught("nibble_graph", "nibble_cluster",
                           "nibble_engine must not link MPI::MPI_CXX: nibble_engine -> nibble_graph -> nibble_cluster -> MPI::MPI_CXX")
        self.expect_caught("nibble_data", "MPI::MPI_CXX", "nibble_inference must not link MPI::MPI_CXX")
        self.expect_caught("nibble_integer_kernels", "DNNL::dnnl", "nibble_integer_training must not link DNNL::dnnl")

    def test_a_module_that_is_gone(self):
        code, output = run_on({target: others for target, others in SOUND.items() if target != "nibble_engine"})
        self.assertEqual(code, 1, output)
        self.assertIn("there is no nibble_engine", output)


if __name__ == "__main__":
    unittest.main()
