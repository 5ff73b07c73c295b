#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""nibble bench and nibble tune: what they print and write, the same answers however layers are cut."""

import json
import os
import subprocess
import unittest

from case import NIBBLE, Case


class Bench(Case):
    def setUp(self):
        super().setUp()
        self.model = self.folder / "model.nib"
        run = self.folder / "run"
        subprocess.run([NIBBLE, "train", "convnet-8x8", "--data", "digits", "--arith", "int8", "--epochs", "1",
                        "--quiet", "--out", run], check=True, capture_output=True)
        os.rename(run / "model.nib", self.model)

    def bench(self, *words, **variables):
        process = subprocess.run([NIBBLE, "bench", self.model, "--seconds", "0.05", "--json", *words],
                                 capture_output=True, check=True, env={**os.environ, **variables})
        return json.loads(process.stdout)

    def test_says_how_fast_and_what_came_out(self):
        result = self.bench("--batch", "3", "--threads", "2")
        self.assertEqual((result["batch"], result["threads"]), (3, 2))
        self.assertLessEqual(result["least_ms"], result["median_ms"])
        self.assertLessEqual(result["median_ms"], result["p99_ms"])
        self.assertGreater(len(result["steps"]), 3)
        self.assertEqual(result["answers"], self.bench("--batch", "3", "--threads", "1")["answers"])
        self.assertEqual(result["answers"], self.bench("--batch", "3", NIBBLE_ISA="portable")["answers"])

    def test_text_has_a_line_for_each_step(self):
        process = subprocess.run([NIBBLE, "bench", self.model, "--seconds", "0.05", "--layers"],
                                 capture_output=True, check=True, text=True)
        self.assertRegex(process.stdout, r"[\d.]+ images/s, [\d.]+ ms a run")
        self.assertRegex(process.stdout, r"conv2d \dx\d \+ rescale")

    def test_tuning_changes_speed_alone(self):
        tuned = self.folder / "tuned.txt"
        subprocess.run([NIBBLE, "tune", self.model, "--rounds", "1", "--threads", "1", "--output", tuned],
                       check=True, capture_output=True)
        self.assertTrue(tuned.read_text().startswith("# nibble tuning of "))
        plain = self.bench("--threads", "1", NIBBLE_TUNING=str(self.folder / "absent"))
        self.assertEqual(self.bench("--threads", "1", NIBBLE_TUNING=str(tuned))["answers"], plain["answers"])
        tuned.write_text("# nibble tuning of another machine\nconv2d: pixels 1, outputs 16\n")
        self.assertEqual(self.bench("--threads", "1", NIBBLE_TUNING=str(tuned))["answers"], plain["answers"])

    def test_an_absent_model_is_one_line(self):
        process = subprocess.run([NIBBLE, "bench", "absent.nib"], capture_output=True, text=True)
        self.assertEqual(process.returncode, 1)
        self.assertEqual(len(process.stderr.splitlines()), 1)


if __name__ == "__main__":
    unittest.main()
