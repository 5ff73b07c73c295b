# SPDX-License-Identifier: Apache-2.0
"""Ctrl-C and SIGTERM in every verb that may run for long: one line, its exit code, nothing left."""

import io
import os
import pty
import signal
import subprocess
import tarfile
import time

import numpy as np

from case import NIBBLE, grey_png, hears
from train_case import TrainCase, main, quick

NUMBERS = {signal.SIGINT: 130, signal.SIGTERM: 143}


class Interrupts(TrainCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.models = cls("no_leftovers")
        cls.models.setUp()
        folder = cls.models.train("run", "--epochs", "1", network="convnet-8x8")[0]
        cls.floats = folder / "model.nib"
        cls.integers = cls.models.folder / "integers.nib"
        cls.models.done("quantize", cls.floats, "-o", cls.integers, "--calib", "digits", "--samples", "64")

    @classmethod
    def tearDownClass(cls):
        cls.models.doCleanups()
        super().tearDownClass()

    def interrupted(self, *command, once="", number=signal.SIGINT, words="interrupted"):
        """Sends the signal soon after the start, or once a file is there; looks at the code, the line and the folder."""
        process = subprocess.Popen([NIBBLE, *map(str, command)], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
                                   stderr=subprocess.PIPE, cwd=self.folder)
        self.wait_until(lambda: process.poll() is not None or hears(process, number))
        if once:
            self.wait_until(lambda: process.poll() is not None or any(self.folder.glob(once)))
        else:
            time.sleep(0.3)
        self.assertIsNone(process.poll(), "it was to take longer")
        process.send_signal(number)
        _, text = process.communicate(timeout=300)
        self.assertEqual(process.returncode, NUMBERS[number], text.decode())
        lines = [line for line in text.decode().splitlines() if line.startswith("nibble: ")]
        self.assertEqual(len(lines), 1, text.decode())
        self.assertIn(words, lines[0])
        self.no_leftovers(self.folder)
        return lines[0]

    def many_digits(self, count):
        rng = np.random.default_rng(1)
        np.savez(self.folder / "many.npz", x_train=rng.integers(0, 255, (count, 8, 8)).astype(np.uint8),
                 y_train=np.arange(count) % 10, x_test=rng.integers(0, 255, (count, 8, 8)).astype(np.uint8),
                 y_test=np.arange(count) % 10)
        return self.folder / "many.npz"

    def slow_policy(self):
        """Every sum is rounded, which takes a hundred times as long."""
        path = self.folder / "slow.toml"
        path.write_text('[[round]]\nrole = "accumulator"\nformat = "float(5,10)"\n')
        return path

    def test_bench_and_tune(self):
        self.interrupted("bench", self.integers, "--seconds", "60")
        self.interrupted("bench", self.integers, "--seconds", "60", number=signal.SIGTERM)
        self.interrupted("tune", self.integers, "--batch", "2048", "--rounds", "1000", "--output", "tuning.txt")

    def test_a_reader_of_standard_input(self):
        self.interrupted("round", "--to", "e4m3", "-", "out.npy")
        self.assertFalse((self.folder / "out.npy").exists())

    def test_eval_and_quantize(self):
        many = self.many_digits(50_000)
        self.interrupted("eval", self.floats, "--data", many, "--threads", "1", "--policy", self.slow_policy())
        out = self.folder / "out.nib"
        self.interrupted("quantize", self.floats, "-o", out, "--calib", many, "--samples", "50000", "--threads", "1")
        self.assertFalse(out.exists())

    def test_fine_tuning_says_how_to_go_on(self):
        out = self.folder / "out.nib"
        command = ("quantize", self.floats, "-o", out, "--calib", "digits", "--samples", "64", "--finetune", "10000",
                   "--threads", "1")
        line = self.interrupted(*command, once="out.nib.checkpoint", words="the same command goes on from")
        self.assertIn("out.nib.checkpoint", line)
        self.assertTrue((self.folder / "out.nib.checkpoint").exists())
        self.assertFalse(out.exists())

    def test_emit(self):
        self.interrupted("emit", "convnet-8x8", "-o", "c", "--train", "--data", "digits", "--train-steps", "1000000")
        self.assertFalse((self.folder / "c").exists())

    def test_sweep(self):
        self.interrupted("sweep", "mlp-64-32-10", *quick("--formats", "e4m3", "--epochs", "100000", "--out", "sweep"),
                         once="sweep/*/epochs.csv", words="the same command goes on")

    def test_preprocessing_of_pictures(self):
        data = grey_png(np.zeros((500, 500), np.uint8))
        with tarfile.open(self.folder / "many.tar", "w") as archive:
            for i in range(3000):
                member = tarfile.TarInfo(f"{i}.png")
                member.size = len(data)
                archive.addfile(member, io.BytesIO(data))
        line = self.interrupted("data", "preprocess", self.integers, "--data", "many.tar", "--out", "tensors", "--threads", "1",
                                once="tensors/*.npy", words="of 3000 tensors are there, and the same command goes on")
        tensors = len(list((self.folder / "tensors").glob("*.npy")))
        self.assertIn(f"interrupted; {tensors} of", line)
        self.assertEqual(len((self.folder / "tensors" / "hashes.txt").read_text().splitlines()), 1 + tensors)
        self.assertFalse((self.folder / "tensors" / "val_map.txt").exists())

    def test_ranks(self):
        self.interrupted("train", "convnet-8x8", *quick("--arith", "int8", "--epochs", "100000", "--ranks", "2", "--out", "run"),
                         once="run/epochs.csv", number=signal.SIGTERM, words="--resume goes on from the checkpoint")

    def test_a_bar_is_taken_away(self):
        try:
            leader, follower = pty.openpty()
        except OSError as error:
            self.skipTest(f"no terminal: {error}")
        process = subprocess.Popen([NIBBLE, "eval", self.floats, "--data", self.many_digits(50_000), "--threads", "1",
                                    "--policy", self.slow_policy()], stdin=follower, stdout=follower, stderr=follower,
                                   env={**os.environ, "TERM": "xterm"})
        os.close(follower)
        shown = os.read(leader, 65536)  # the bar is there
        process.send_signal(signal.SIGINT)
        self.assertEqual(process.wait(timeout=300), 130)
        try:
            while piece := os.read(leader, 65536):
                shown += piece
        except OSError:  # the other end is closed
            pass
        os.close(leader)
        self.assertTrue(shown.endswith(b"\r\x1b[Knibble: interrupted\r\n"), shown[-200:])


if __name__ == "__main__":
    main()
