#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Verbs of the command with --device, against the CPU's answers, on the bundled digits.

usage: command_test.py [DEVICE]    default: cuda; exit code 77, "skipped", where there is no GPU

Needs python3 with numpy; NIBBLE_BIN names the command. DEVICE may be one that every machine has, such as reference: what only
a GPU has is skipped then. The signature and several processes are tools/gpu_command_test's.
"""

import json
import re
import signal
import subprocess
import sys
import unittest
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "cli"))
from case import NIBBLE, run  # noqa: E402
from train_case import TrainedCase, quick  # noqa: E402

DEVICE = "cuda"
IS_GPU = True
INTEGERS = ("--arith", "int8", "--epochs", "2")  # as TrainedCase has it


class OnADevice(TrainedCase):
    def found(self, *arguments):
        """What the CPU says, and what the device does."""
        return tuple(json.loads(self.done(*arguments, "--json", "--device", device)) for device in ("cpu", DEVICE))

    def weights(self, name, *options):
        return self.hash_of(self.train(name, "--device", DEVICE, *options, network="convnet-8x8")[0])

    def test_training_gives_the_weights_of_the_cpu(self):
        wanted = self.hash_of(self.model.parent)
        self.assertEqual(self.weights("whole", *INTEGERS), wanted)
        told = json.loads(self.done("compare", self.model.parent, self.folder / "whole", "--json"))
        self.assertTrue(told["weights_equal"])

    def test_a_run_goes_on_on_either_device(self):
        wanted = self.hash_of(self.model.parent)
        for name, device in (("there", DEVICE), ("back", "cpu")):
            self.train(name, *INTEGERS, "--stop-after", "1", "--device", DEVICE, network="convnet-8x8")
            folder, _, _ = self.train(name, *INTEGERS, "--resume", "--device", device, network="convnet-8x8")
            self.assertEqual(self.hash_of(folder), wanted, name)

    def test_a_run_that_was_interrupted_goes_on(self):
        folder = self.folder / "long"
        options = ("--arith", "int8", "--epochs", "100000")
        command = ("train", "convnet-8x8", *quick(*options, "--out", str(folder), "--device", DEVICE))
        process = subprocess.Popen([NIBBLE, *command], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        self.wait_until(lambda: process.poll() is not None or (folder / "epochs.csv").exists())
        process.send_signal(signal.SIGINT)
        _, text = process.communicate(timeout=300)
        self.assertEqual(process.returncode, 130, text.decode())
        self.assertRegex(text.decode(), r"(?m)^nibble: .*--resume goes on from the checkpoint.*$")
        done = len(self.rows(folder))
        self.train("long", *options, "--resume", "--stop-after", "1", network="convnet-8x8")
        whole, _, _ = self.train("at once", *options, "--stop-after", str(done + 1), network="convnet-8x8")
        self.assertEqual(self.hash_of(folder), self.hash_of(whole))

    def test_a_traced_step_changes_nothing(self):
        trace = self.folder / "step.json"
        self.assertEqual(self.weights("traced", *INTEGERS, "--profile", trace), self.hash_of(self.model.parent))
        events = json.loads(trace.read_text())["traceEvents"]
        tracks = {each["args"]["name"] for each in events if each["ph"] == "M"}
        self.assertEqual(tracks, {"host", "GPU"} if IS_GPU else {"host"})
        names = {each["name"] for each in events if each["ph"] == "X"}
        self.assertTrue(any(name.startswith("conv1 forward") for name in names), names)

    def test_eval(self):
        for options in ((), ("--engine",)):
            cpu, device = self.found("eval", self.model, "--data", "digits", *options)
            self.assertEqual(device, cpu)

    def test_run(self):
        x = self.save("x.npy", np.random.default_rng(2).integers(0, 256, (37, 8, 8, 1)).astype(np.uint8))
        results = []
        for device in ("cpu", DEVICE):
            layers = self.folder / f"layers on {device}"
            for options in (("--batch", "5"), ("--batch", "64", "--layers", layers)):
                output = self.folder / "answers.npy"
                self.done("run", self.model, "--input", x, "--output", output, "--device", device, *options)
                results.append(np.load(output))
            results.append({path.name: np.load(path) for path in layers.iterdir()})
        for i in (1, 3, 4):
            np.testing.assert_array_equal(results[i], results[0])
        self.assertEqual(results[5].keys(), results[2].keys())
        self.assertGreater(len(results[2]), 5)
        for name, values in results[2].items():
            np.testing.assert_array_equal(results[5][name], values, name)

    def test_bench(self):
        for batch in ("1", "37"):
            cpu, device = self.found("bench", self.model, "--batch", batch, "--seconds", "0.05", "--lanes", "2")
            self.assertEqual(device["answers"], cpu["answers"])
            self.assertGreater(device["throughput"]["from_device"], 0)
        text = self.done("bench", self.model, "--batch", "37", "--seconds", "0.05", "--layers", "--device", DEVICE).decode()
        self.assertIn(cpu["answers"], text)
        self.assertRegex(text, r"(?m)^layer +step +ms +GOP/s +of peak")
        self.assertRegex(text, r"conv2d 3x3 \+ rescale")
        if IS_GPU:
            self.assertRegex(text, r"% of the \d+ that int8 products by (dp4a|turing|mma|wgmma) reach")
            self.assertRegex(text, r"(?m)^of peak: [\d.]+ % in the best layer, \w+; [\d.]+ % in all layers together$")
            for share in re.findall(r"([\d.]+) %", text):
                self.assertLessEqual(float(share), 100)

    def test_tune(self):
        if not IS_GPU:
            self.skipTest(f"nothing to tune on {DEVICE}")
        tuned = self.folder / "tuned.txt"
        self.done("tune", self.model, "--batch", "37", "--rounds", "1", "--output", tuned, "--device", DEVICE)
        self.assertRegex(tuned.read_text(), r"^# nibble tuning of .*, (dp4a|turing|mma|wgmma)\n")
        words = ("bench", self.model, "--batch", "37", "--seconds", "0.05", "--json")
        cpu = json.loads(self.done(*words))
        device = json.loads(self.done(*words, "--device", DEVICE, NIBBLE_TUNING=str(tuned)))
        self.assertEqual(device["answers"], cpu["answers"])
        self.assertEqual((device["tuning"]["file"], device["tuning"]["is_active"]), (str(tuned), True))

    def test_compare(self):
        other, _, _ = self.train("other", "--arith", "int8", "--epochs", "1", network="convnet-8x8")
        cpu, device = self.found("compare", self.model, other / "model.nib", "--data", "digits")
        self.assertEqual(device, cpu)
        self.assertLess(cpu["agreed"], cpu["images"])

    def load(self, name, *options):
        out = self.folder / name
        process = run("loadgen", self.model, "--data", "digits", "--out", out, *options)
        if b"no LoadGen" in process.stderr:
            self.skipTest("this build has no LoadGen")
        return out, process

    def logged(self, out):
        return {entry["qsl_idx"]: entry["data"] for entry in json.loads((out / "mlperf_log_accuracy.json").read_text())}

    def test_loadgen(self):
        wanted, _ = self.load("cpu", "--mode", "accuracy")
        for scenario in ("Offline", "Server"):
            for start in ("host", "device") if IS_GPU else ("host",):
                with self.subTest(f"{scenario} from {start}"):
                    name = f"{scenario}-{start}"
                    options = ("--scenario", scenario, "--start-from", start, "--device", DEVICE, "--batch", "16",
                               "--target-qps", "2000")
                    out, process = self.load(name, *options, "--mode", "accuracy")
                    self.assertEqual(process.returncode, 0, process.stderr.decode())
                    self.assertEqual(len(self.logged(out)), 360)
                    self.assertEqual(self.logged(out), self.logged(wanted))
                    bound = ("--set", "target_latency=1000") if scenario == "Server" else ()
                    out, process = self.load(name + "-speed", *options, "--seconds", "0.3", *bound)
                    # So short a run is not valid where the machine was held up, which is said in one line.
                    self.assertRegex((process.stdout + process.stderr).decode(), r"(?m)^(VALID: |nibble: \[loadgen\] INVALID, )")
                    self.assertEqual(json.loads((out / "settings.json").read_text())["device"], DEVICE)
                    samples = sum(int(row[0]) * int(row[1]) for row in self.rows(out, "batches.csv"))
                    self.assertGreater(samples, 0)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        DEVICE = sys.argv.pop(1)
    IS_GPU = DEVICE.startswith("cuda")
    doctor = run("doctor", "--json")
    if doctor.returncode != 0:
        sys.exit(doctor.stderr.decode())
    if IS_GPU and json.loads(doctor.stdout)["gpu"]["usable"] == 0:
        print("skipped: no GPU")
        sys.exit(77)
    unittest.main()
