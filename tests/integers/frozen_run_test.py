# SPDX-License-Identifier: Apache-2.0
"""tools/check_frozen.py on a run with batch norms: it passes, and finds what does not agree."""

import json
import os
import shutil
import subprocess
import unittest

from files import ROOT
from train_case import TrainCase, main

NETWORK = """
input = [8, 8, 1]
layers = [
  { op = "conv2d", name = "conv", channels = 6, kernel = 3, padding = 1 }, { op = "batch_norm" }, { op = "relu" },
  { op = "max_pool" }, { op = "flatten" }, { op = "linear", features = 10 }, { op = "softmax_cross_entropy" },
]
"""


class FrozenRun(TrainCase):
    def check(self, folder):
        has_arm = shutil.which("arm-none-eabi-gcc") and shutil.which("qemu-system-arm")
        self.targets = ["x86-64-gcc-O2", *(["cortex-m4"] if has_arm else [])]
        command = [ROOT / "tools" / "check_frozen.py", folder, "digits", "--vectors", "5", "--targets", *self.targets]
        return subprocess.run(command, capture_output=True, text=True, env=os.environ)

    @unittest.skipUnless(shutil.which("cc") and shutil.which("make"), "no C compiler")
    def test_agrees_or_names_what_does_not(self):
        text = self.folder / "net.toml"
        text.write_text(NETWORK)
        folder, _, _ = self.train("run", "--arith", "int8", "--epochs", "1", network=text)
        process = self.check(folder)
        self.assertEqual(process.returncode, 0, process.stderr)
        self.assertRegex(process.stdout, r"the engine: \d+ of 360 right.*\nC in .*: 0 of 5 test vectors differ\n" +
                         "".join(f"C on {name}: equal  check 0\n" for name in self.targets) + "$")
        summary = self.summary(folder)
        summary["test"]["loss"] += 1e-9
        (folder / "summary.json").write_text(json.dumps(summary))
        process = self.check(folder)
        self.assertEqual(process.returncode, 1)
        self.assertRegex(process.stderr, r"^check_frozen: loss of the trainer: got [\d.]+, expected [\d.]+ as in .*\n$")


if __name__ == "__main__":
    main(needs_floats=False)
