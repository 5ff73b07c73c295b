# SPDX-License-Identifier: Apache-2.0
"""nibble emit: networks of the bundled digits as C that a compiler takes and whose answers are the engine's."""

import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import numpy as np

from case import Case, array_of, run


@unittest.skipIf(shutil.which("gcc") is None or shutil.which("make") is None, "no gcc or no make")
class Emit(Case):
    @classmethod
    def setUpClass(cls):
        cls.kept = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.kept.cleanup)
        cls.models = Path(cls.kept.name)
        cls.made("train", "digits-convnet-fp32", "--epochs", 2, "--quiet", "--out", cls.models / "float")
        cls.made("train", "convnet-8x8", "--data", "digits", "--arith", "int8", "--epochs", 1, "--quiet", "--out",
                 cls.models / "int8")
        for name, bits in (("q8", "int8"), ("q4", "int4")):
            cls.made("quantize", cls.models / "float" / "model.nib", "-o", cls.models / f"{name}.nib", "--calib",
                     "digits", "--weights", bits)

    @classmethod
    def made(cls, *arguments):
        process = run(*arguments)
        assert process.returncode == 0, process.stderr.decode()

    def emitted(self, model, *more):
        out = self.folder / "c"
        text = self.done("emit", model, "-o", out, *more).decode()
        return text, out

    def make(self, folder, *goals):
        process = subprocess.run(["make", "-s", "-C", folder, *goals], capture_output=True, timeout=300, check=False)
        self.assertEqual(process.returncode, 0, process.stderr.decode())
        self.assertEqual(process.stderr, b"")
        return process.stdout.decode()

    def test_all_answers_are_the_engines(self):
        for model, options in (("q8.nib", ()), ("q4.nib", ("--prefix", "digits")), ("int8/model.nib", ("--batch", 3)),
                               ("q8.nib", ("--target", "dsp"))):
            with self.subTest(model=model, options=options):
                _, out = self.emitted(self.models / model, "--vectors", 50, "--force", *options)
                self.assertEqual(self.make(out, "check"), "0 of 50 test vectors differ\n")
                shutil.rmtree(out)

    def test_the_library_counts_as_eval_does(self):
        _, out = self.emitted(self.models / "q8.nib")
        self.make(out, "lib")
        sys.path.insert(0, str(out))
        self.addCleanup(sys.path.remove, str(out))
        from net import Network
        pictures = np.random.default_rng(2).integers(0, 256, (20, 8, 8, 1)).astype(np.uint8)
        network = Network()
        inputs, count = network.inputs(pictures.tobytes())
        self.assertEqual(count, 20)
        answers = array_of(self.done("run", self.models / "q8.nib", "--input", self.save("x.npy", pictures),
                                     "--output", "-"))
        np.testing.assert_array_equal(np.array(network.outputs(inputs)).reshape(20, 10), answers)
        np.testing.assert_array_equal(np.array(network.classes(inputs)), answers.argmax(axis=1))

    def test_the_header_is_cplusplus_too(self):
        _, out = self.emitted(self.models / "q8.nib")
        process = subprocess.run(["g++", "-fsyntax-only", "-x", "c++", "-Wall", "-Wextra", "-Werror", out / "net.h"],
                                 capture_output=True, timeout=300, check=False)
        self.assertEqual(process.returncode, 0, process.stderr.decode())

    def test_the_plan_and_the_figures_are_printed(self):
        text, out = self.emitted(self.models / "q8.nib")
        self.assertRegex(text, r"pool1 +0 +256 +pool1 to pool2\n")
        self.assertRegex(text, r"RAM +528 bytes\nparameters +6496 bytes\nproducts +84224\n")
        readme = (out / "README.md").read_text()
        for words in ("| RAM: the arena | 528 bytes |", "net_from_bytes", "conv2d 3x3, 8x8x1 to 8x8x16, max_pool"):
            self.assertIn(words, readme)

    def test_four_bits_are_packed(self):
        sizes = [int(self.emitted(self.models / name, "--force")[0].split("parameters")[1].split()[0])
                 for name in ("q8.nib", "q4.nib")]
        weights = 9 * 16 + 9 * 16 * 32 + 128 * 10
        self.assertEqual(sizes[0] - sizes[1], weights // 2 - 16 // 2)  # rows of nine end with half a byte

    def test_failures_are_one_line_and_write_nothing(self):
        model, out = self.models / "q8.nib", self.folder / "c"
        self.fails(1, "layers in floats: got conv1, conv2, fc", "emit", self.models / "float" / "model.nib", "-o", out)
        self.fails(1, "expected a C identifier", "emit", model, "-o", out, "--prefix", "a-b")
        self.fails(1, "RAM at layer 'pool2': got 528 bytes, expected at most 500", "emit", model, "-o", out, "--ram", 500)
        self.fails(1, "at layer 'pool2'", "emit", model, "-o", out, "--flash", 1000)
        self.fails(2, "--target", "emit", model, "-o", out, "--target", "z80")
        self.fails(1, "none.nib", "emit", self.folder / "none.nib", "-o", out)
        self.assertFalse(out.exists())
        out.mkdir()
        (out / "precious.txt").write_text("mine")
        self.fails(1, "'precious.txt' in it, expected an empty one, or --force", "emit", model, "-o", out)
        self.assertEqual([path.name for path in out.iterdir()], ["precious.txt"])
        self.done("emit", model, "-o", out, "--force")
        self.assertEqual((out / "precious.txt").read_text(), "mine")
        self.fails(1, "expected a folder", "emit", model, "-o", out / "precious.txt")

    def test_help_teaches(self):
        text = run("emit", "--help").stdout.decode()
        for words in ("--ram", "nibble emit digits.nib -o digits && make -C digits check", "Cortex-M4"):
            self.assertIn(words, text)


if __name__ == "__main__":
    unittest.main()
