#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""nibble bench and nibble tune: what they print and write, the same answers however layers are cut."""

import json
import os
import shutil
import re
import subprocess
import unittest

import numpy as np

from case import NIBBLE, Case


class Bench(Case):
    def setUp(self):
        super().setUp()
        self.model = self.folder / "model.nib"
        self.run_folder = self.folder / "run"
        subprocess.run([NIBBLE, "train", "convnet-8x8", "--data", "digits", "--arith", "int8", "--epochs", "1",
                        "--quiet", "--out", self.run_folder], check=True, capture_output=True)
        shutil.copy(self.run_folder / "model.nib", self.model)

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
        self.assertEqual(result["answers"], self.bench("--batch", "3", "--device", "check(cpu,reference)")["answers"])
        self.fails(1, "[tune] --device: got reference, expected one that has layers to cut: cpu, or cuda", "tune", self.model,
                   "--device", "reference")

    def test_the_folder_of_a_run_stands_for_its_model(self):
        answers = f"answers {self.bench()['answers']}\n"
        self.assertIn(answers, self.done("bench", self.run_folder, "--seconds", "0.05").decode())
        self.assertEqual(self.done("describe", self.run_folder), self.done("describe", self.model))
        self.assertIn(b"wrote ", self.done("emit", self.run_folder, "-o", self.folder / "c"))
        self.fails(1, "got a folder, expected a .nib model", "bench", self.folder / "c")
        self.done("train", "--from", self.run_folder, "--data", "digits", "--arith", "int8", "--epochs", "0", "--quiet", "--out",
                  self.folder / "again")

    def test_text_has_a_line_for_each_step(self):
        process = subprocess.run([NIBBLE, "bench", self.model, "--seconds", "0.05", "--layers"],
                                 capture_output=True, check=True, text=True)
        self.assertRegex(process.stdout, r"[\d.]+ images/s, [\d.]+ ms a run")
        self.assertRegex(process.stdout, r"(?m)^weights 6\.9 kB, values \d\.\d kB$")
        self.assertRegex(process.stdout, r"conv2d \dx\d \+ rescale")
        self.assertRegex(process.stdout, r"(?m)^of peak: [\d.]+ % in the best layer, \w+; [\d.]+ % in all layers together$")

    def tune(self, *words, **variables):
        return self.done("tune", self.model, "--rounds", "1", "--threads", "1", *words, **variables).decode()

    def test_tuning_changes_speed_alone(self):
        tuned = self.folder / "tuned.txt"
        self.tune("--output", tuned)
        self.assertTrue(tuned.read_text().startswith("# nibble tuning of "))
        plain = self.bench("--threads", "1", HOME=str(self.folder))
        self.assertEqual(self.bench("--threads", "1", NIBBLE_TUNING=str(tuned))["answers"], plain["answers"])
        tuned.write_text("# nibble tuning of another machine\nconv2d: pixels 1, outputs 16\n")
        self.assertEqual(self.bench("--threads", "1", NIBBLE_TUNING=str(tuned))["answers"], plain["answers"])

    def test_a_gain_is_told_and_kept_only_where_turns_confirm_it(self):
        tuned = self.folder / "tuned.txt"
        text = self.tune("--output", tuned)
        cuts = tuned.read_text().splitlines()[1:]
        if gain := re.search(r"^(\d+) shapes .*: ([\d.]+) ms instead of ([\d.]+), .*medians of 31 runs in turns", text):
            self.assertEqual(int(gain[1]), len(cuts))
            self.assertLess(float(gain[2]), float(gain[3]))
        else:
            self.assertTrue(text.startswith("no gain: "), text)
            self.assertEqual(cuts, [])

    def test_cuts_of_other_models_stay(self):
        tuned = self.folder / "tuned.txt"
        self.tune("--output", tuned)
        tuned.write_text(tuned.read_text().splitlines()[0] + "\nof another model: pixels 48, outputs 16\n")
        self.tune("--output", tuned)
        self.assertIn("of another model: pixels 48, outputs 16\n", tuned.read_text())

    def test_whether_a_tuning_is_active_is_told(self):
        home = {"HOME": str(self.folder)}
        picture = self.save("picture.npy", np.zeros((8, 8, 1), np.int8))
        words = ("run", self.model, "--input", picture, "--threads", "1")
        self.assertEqual(self.bench("--threads", "1", **home)["tuning"], {"file": "none", "is_active": False, "steps": 0})
        self.assertIn("; tuning none\n", self.done(*words, **home).decode())
        self.assertFalse(json.loads(self.done("doctor", "--json", OMP_NUM_THREADS="1", **home))["tuning"]["is_active"])

        path = re.search(r"^wrote (.*)$", self.tune(**home), re.MULTILINE)[1]
        self.assertTrue(path.startswith(str(self.folder)))
        tuning = self.bench("--threads", "1", **home)["tuning"]
        self.assertEqual((tuning["file"], tuning["is_active"]), (path, True))
        self.assertIn(f"; tuning {path}\n", self.done(*words, **home).decode())
        self.assertIn(f"tuning    {path}\n", self.done("doctor", OMP_NUM_THREADS="1", **home).decode())
        other = self.bench("--threads", "2", NIBBLE_TUNING=path)["tuning"]
        self.assertEqual(other["file"], f"none ({path} is of another machine)")

    def test_a_tuning_file_that_is_named_must_be_there(self):
        absent = str(self.folder / "absent.txt")
        for words in (("bench", self.model), ("doctor",)):
            self.fails(1, f"[NIBBLE_TUNING] cannot read {absent}: No such file", *words, NIBBLE_TUNING=absent)
        damaged = self.folder / "damaged.txt"
        damaged.write_text("rubbish\n")
        self.fails(1, "damaged.txt: first line: got 'rubbish'", "bench", self.model, NIBBLE_TUNING=str(damaged))

    def test_an_absent_model_is_one_line(self):
        process = subprocess.run([NIBBLE, "bench", "absent.nib"], capture_output=True, text=True)
        self.assertEqual(process.returncode, 1)
        self.assertEqual(len(process.stderr.splitlines()), 1)


if __name__ == "__main__":
    unittest.main()
