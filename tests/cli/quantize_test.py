# SPDX-License-Identifier: Apache-2.0
"""nibble quantize: a float network of the bundled digits as integers of 8 and of 4 bits."""

import json
import tempfile
import unittest
from pathlib import Path

import numpy as np

from case import Case, run


class Quantize(Case):
    @classmethod
    def setUpClass(cls):
        cls.kept = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.kept.cleanup)
        cls.run_folder = Path(cls.kept.name) / "float"
        process = run("train", "digits-mlp-fp32", "--epochs", 8, "--quiet", "--out", cls.run_folder)
        assert process.returncode == 0, process.stderr.decode()
        cls.model = cls.run_folder / "model.nib"

    def quantized(self, *more):
        out = self.folder / "q.nib"
        text = self.done("quantize", self.model, "-o", out, "--calib", "digits", "--json", *more)
        return json.loads(text), out

    def test_eight_bits_lose_little_and_take_a_quarter(self):
        found, out = self.quantized()
        self.assertGreater(found["float_top1"], 0.85)
        self.assertGreater(found["top1"], found["float_top1"] - 0.01)
        self.assertLess(found["bytes"], 0.35 * found["float_bytes"])
        self.assertTrue(all(row["sqnr_db"] > 15 for row in found["errors"]))
        evaluated = json.loads(self.done("eval", out, "--data", "digits", "--json"))
        self.assertAlmostEqual(evaluated["top1"], found["top1"])

    def test_every_path_gives_the_same_integers(self):
        _, out = self.quantized("--weights", "int4")
        answers = set()
        for isa in ("reference", "portable", "avx2"):
            process = run("eval", out, "--data", "digits", "--json", NIBBLE_ISA=isa)
            if process.returncode == 0:
                answers.add(process.stdout)
        self.assertEqual(len(answers), 1)

    def test_the_same_settings_give_the_same_file(self):
        first, _ = self.quantized("--method", "mse", "--threads", "1")
        second, _ = self.quantized("--method", "mse", "--threads", "2")
        self.assertEqual(first["weights_hash"], second["weights_hash"])
        other, _ = self.quantized("--method", "max")
        self.assertNotEqual(first["weights_hash"], other["weights_hash"])

    def test_fine_tuning_helps_two_bits(self):
        before, _ = self.quantized("--weights", "int2")
        after, _ = self.quantized("--weights", "int2", "--finetune", "3", "--lr", "0.01")
        self.assertGreater(after["top1"], before["top1"])

    def test_tables_are_those_of_cmsis(self):
        _, out = self.quantized()
        text = self.done("describe", out, "--tables").decode()
        rows = [line.split() for line in text.splitlines() if line.strip() and line.split()[0].isdigit()]
        self.assertGreaterEqual(len(rows), 42)
        for _, multiplier, shift, factor in rows:
            self.assertTrue(2**30 <= int(multiplier) < 2**31)
            self.assertAlmostEqual(int(multiplier) / 2**31 * 2.0 ** int(shift) / float(factor), 1, places=6)

    def test_bad_input_is_one_line(self):
        _, out = self.quantized()
        nowhere = self.folder / "n.nib"
        self.fails(1, "a model of integers", "quantize", out, "-o", nowhere, "--calib", "digits")
        self.fails(2, "expected int2 to int8", "quantize", self.model, "-o", nowhere, "--calib", "digits",
                   "--weights", "int9")
        self.fails(1, "percentile", "quantize", self.model, "-o", nowhere, "--calib", "digits", "--method", "percentil")
        np.savez(self.folder / "wide.npz", images=np.zeros((4, 9, 9, 1), np.uint8), labels=np.arange(4))
        self.fails(1, "shape of an example: got (9, 9, 1)", "quantize", self.model, "-o", nowhere, "--calib",
                   self.folder / "wide.npz")
        self.fails(1, "", "quantize", self.folder / "none.nib", "-o", nowhere, "--calib", "digits")
        self.assertFalse(nowhere.exists())


if __name__ == "__main__":
    unittest.main()
