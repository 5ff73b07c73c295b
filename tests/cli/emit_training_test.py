# SPDX-License-Identifier: Apache-2.0
"""nibble emit --train: the training step as C that ends with the trainer's weights."""

import shutil
import subprocess
import unittest

from case import Case

SIDE_BY_SIDE = """name = "side-by-side"
input = [8, 8, 1]
layers = [
  { op = "conv2d", name = "a", channels = 2, kernel = 1 }, { op = "conv2d", name = "b", channels = 2, kernel = 1 },
  { op = "concat", name = "p", from = ["a", "b"] }, { op = "concat", name = "q", from = ["p", "a"] }, { op = "flatten" },
  { op = "linear", features = 10 }, { op = "softmax_cross_entropy" },
]
"""
NORMALIZED = """
input = [8, 8, 1]
layers = [
  { op = "conv2d", channels = 2, kernel = 3 }, { op = "batch_norm", name = "first" }, { op = "relu" }, { op = "flatten" },
  { op = "linear", features = 10 }, { op = "batch_norm", name = "second" }, { op = "softmax_cross_entropy" },
]
"""


@unittest.skipIf(shutil.which("gcc") is None or shutil.which("make") is None, "no gcc or no make")
class EmitTraining(Case):
    def check(self, folder):
        process = subprocess.run(["make", "-s", "-C", folder, "check"], capture_output=True, timeout=300, check=False)
        self.assertEqual(process.returncode, 0, process.stderr.decode())
        self.assertEqual(process.stderr, b"")
        return process.stdout.decode()

    def test_a_network_learns_from_its_first_weights(self):
        out = self.folder / "c"
        text = self.done("emit", "convnet-8x8", "-o", out, "--train", "--data", "digits").decode()
        self.assertRegex(text, r"(?m)^training +19964 bytes of RAM$")
        self.assertEqual(self.check(out), "0 of 10 test vectors differ\n0 hashes of trained weights differ\n")
        self.assertIn("## Training it", (out / "README.md").read_text())

    def test_a_model_of_any_rule_goes_on_by_shifts(self):
        run_folder, out = self.folder / "run", self.folder / "c"
        self.done("train", "mlp-64-32-10", "--data", "digits", "--arith", "int8", "--update", "sgd", "--epochs", 1, "--quiet",
                  "--out", run_folder)
        text = self.done("emit", run_folder / "model.nib", "-o", out, "--prefix", "digits", "--train", "--train-batch", 5,
                         "--train-steps", 30, "--train-images", 33, "--seed", 7).decode()
        self.assertRegex(text, r"(?m)^update +shift, by mu, whatever rule trained the model$")
        self.assertIn("of its rule `shift`, whatever rule trained the first weights", (out / "README.md").read_text())
        header = (out / "digits_train.h").read_text()
        for words in ("DIGITS_TRAIN_BATCH 5 ", "DIGITS_TRAIN_SEED UINT64_C(7)"):
            self.assertIn(words, header)
        self.assertIn("0 hashes of trained weights differ\n", self.check(out))

    def test_a_wrong_weight_is_found(self):
        out = self.folder / "c"
        self.done("emit", "mlp-64-32-10", "-o", out, "--train", "--data", "digits", "--train-steps", 8)
        weights = out / "net_train_start.c"
        text = weights.read_text()
        self.assertIn("{\n  -123,", text)
        weights.write_text(text.replace("{\n  -123,", "{\n  -122,", 1))
        process = subprocess.run(["make", "-s", "-C", out, "check"], capture_output=True, timeout=300, check=False)
        self.assertNotEqual(process.returncode, 0)
        self.assertIn(b"4 hashes of trained weights differ", process.stdout)

    def test_failures_are_one_line_and_write_nothing(self):
        out = self.folder / "c"
        network = self.folder / "side-by-side.toml"
        network.write_text(SIDE_BY_SIDE)
        self.fails(1, "got p (concat), q (concat), expected layers with emitted training", "emit", network, "-o", out,
                   "--train", "--data", "digits")
        network.write_text(NORMALIZED)
        self.fails(1, "layers to train: got first (batch_norm), second (batch_norm), expected layers with emitted training", "emit",
                   network, "-o", out, "--train", "--data", "digits")
        self.fails(1, "--data: got none", "emit", "lenet", "-o", out, "--train")
        self.fails(1, "network: got 'lenat'", "emit", "lenat", "-o", out, "--train", "--data", "digits")
        self.fails(1, "batch: got 2000, expected 1 to 1024", "emit", "mlp-64-32-10", "-o", out, "--train", "--data",
                   "digits", "--train-batch", 2000)
        self.fails(1, "RAM of training: got 3032 bytes, expected at most 3000", "emit", "mlp-64-32-10", "-o", out, "--train",
                   "--data", "digits", "--ram", 3000)
        self.fails(2, "--train-batch requires --train", "emit", "lenet", "-o", out, "--train-batch", 4)
        self.assertFalse(out.exists())


if __name__ == "__main__":
    unittest.main()
