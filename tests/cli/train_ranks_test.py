# SPDX-License-Identifier: Apache-2.0
"""mpirun -n N nibble train --arith int8: one result, whatever N, and with another N after a pause.

usage: train_ranks_test.py MPIRUN
"""

import os
import subprocess
import sys

MPIRUN = sys.argv.pop(1)

from case import NIBBLE  # noqa: E402: it reads no arguments, unittest does
from train_case import NORMED, TrainCase, main  # noqa: E402

NETWORK = "convnet-8x8"
THREE_READERS = """
name = "three-readers"
input = [8, 8, 1]
layers = [
  { op = "conv2d", channels = 8, kernel = 3, padding = 1 }, { op = "relu", name = "a" },
  { op = "conv2d", name = "b", channels = 8, kernel = 3, padding = 1 },
  { op = "conv2d", name = "c", channels = 8, kernel = 1, from = "a" },
  { op = "add", from = ["a", "b", "c"] }, { op = "relu" }, { op = "max_pool", kernel = 2 },
  { op = "flatten" }, { op = "linear", features = 10 }, { op = "softmax_cross_entropy" },
]
"""
SECONDS = 300


class Ranks(TrainCase):
    network = NETWORK

    def on(self, ranks, name, *options, arithmetic=("--arith", "int8"), code=0):
        """Trains on so many ranks; the folder, and what was said."""
        folder = self.folder / name
        command = [MPIRUN, "-n", str(ranks), NIBBLE, "train", str(self.network), "--data", "digits", "--threads", "1", "--quiet", "--out",
                   str(folder), *arithmetic, *options]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                              env={k: v for k, v in os.environ.items() if k != "NIBBLE_ISA"}) as process:
            try:
                text, errors = process.communicate(timeout=SECONDS)
            except subprocess.TimeoutExpired:
                process.terminate()  # mpirun ends its ranks, a killed one would leave them
                raise
        self.assertEqual(process.returncode, code, errors)
        return folder, text, errors

    def same_on_all(self, *options):
        hashes = {}
        for ranks in (1, 2, 3, 4):
            folder, text, _ = self.on(ranks, f"ranks{ranks}", "--overwrite", *options)
            hashes[ranks] = self.hash_of(folder)
            self.assertEqual(text.count("weights "), 1)  # the first alone speaks
        self.assertEqual(len(set(hashes.values())), 1, hashes)
        alone, _, _ = self.train("alone", "--arith", "int8", "--overwrite", "--quiet", *options, network=self.network)
        self.assertEqual(self.hash_of(alone), hashes[1])
        # All but times; the loss is a sum of floats that each rank rounds.
        tables = {tuple(tuple(row[:3] + row[4:9]) for row in self.rows(self.folder / f"ranks{ranks}")) for ranks in hashes}
        self.assertEqual(len(tables), 1)
        losses = [float(row[3]) for ranks in hashes for row in self.rows(self.folder / f"ranks{ranks}")[:1]]
        self.assertLess(max(losses) - min(losses), 1e-5)

    def test_uneven_parts_of_batches_give_the_same_weights(self):
        self.same_on_all("--epochs", "2", "--batch", "50")

    def test_so_do_delayed_shifts(self):
        self.same_on_all("--epochs", "2", "--batch", "50", "--shifts", "delayed", "--momentum16", "8")

    def test_so_do_delayed_shifts_where_three_errors_meet(self):
        self.network = self.folder / "three.toml"
        self.network.write_text(THREE_READERS)
        options = ("--epochs", "1", "--batch", "50", "--shifts", "delayed")
        self.same_on_all(*options)
        by_law, _, _ = self.train("law", "--arith", "int8", "--quiet", "--device", "reference", *options, network=self.network)
        self.assertEqual(self.hash_of(by_law), self.hash_of(self.folder / "alone"))

    def test_so_do_random_roundings(self):
        self.same_on_all("--epochs", "1", "--batch", "50", "--shift-rounding", "value=stochastic", "--shift-rounding",
                         "error=stochastic", "--shift-rounding", "gradient=stochastic")

    def test_a_rank_may_have_no_image_of_a_batch(self):
        self.same_on_all("--epochs", "1", "--batch", "718")  # 1437: a last batch of one image

    def test_batch_norms_have_the_statistics_of_all(self):
        self.network = self.folder / "normed.toml"
        self.network.write_text(NORMED)
        for batch in ("50", "718"):  # with a rank that has no image of the last
            self.same_on_all("--epochs", "1", "--batch", batch, "--update", "sgd", "--lr", "0.05")

    def test_a_run_goes_on_with_another_number_of_ranks(self):
        for shifts in ("exact", "delayed"):
            options = ("--epochs", "3", "--batch", "50", "--shifts", shifts)
            whole, _, _ = self.on(1, f"whole-{shifts}", *options)
            self.on(3, f"parts-{shifts}", *options, "--stop-after", "1")
            self.on(2, f"parts-{shifts}", *options, "--stop-after", "1", "--resume")
            parts, _, _ = self.on(4, f"parts-{shifts}", *options, "--resume")
            self.assertEqual(self.hash_of(parts), self.hash_of(whole))
            self.no_leftovers(parts)

    def test_so_does_a_run_with_batch_norms_and_an_average(self):
        self.network = self.folder / "normed.toml"
        self.network.write_text(NORMED)
        options = ("--epochs", "3", "--batch", "50", "--update", "sgd", "--lr", "0.05", "--average-from", "2")
        whole, _, _ = self.on(1, "whole", *options)
        self.on(3, "parts", *options, "--stop-after", "2")
        parts, _, _ = self.on(2, "parts", *options, "--resume")
        self.assertEqual(self.hash_of(parts), self.hash_of(whole))

    def test_processes_share_the_runs_of_a_sweep(self):
        def sweep(ranks):
            folder = self.folder / f"sweep{ranks}"
            command = [MPIRUN, "-n", str(ranks), NIBBLE, "sweep", NETWORK, "--data", "digits", "--arith", "int8", "--epochs", "1",
                       "--threads", "1", "--vary", "mu=5", "mu=4", "mu=3", "--seeds", "2", "--out", str(folder)]
            process = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS)
            self.assertEqual(process.returncode, 0, process.stderr)
            self.assertEqual(sorted(line.split(":")[0] for line in process.stderr.splitlines() if line.startswith("run ")),
                             [f"run {i}/6" for i in range(1, 7)])
            self.no_leftovers(folder)
            return process.stdout.replace(str(folder), ""), (folder / "sweep.csv").read_text()

        self.assertEqual(sweep(3), sweep(1))

    def test_floats_are_refused_and_a_wrong_setting_ends_all_ranks(self):
        _, _, errors = self.on(2, "floats", "--epochs", "1", arithmetic=(), code=1)
        self.assertIn("only integer sums (--arith int8) do not depend on how a batch is cut", errors)
        _, _, errors = self.on(2, "wrong", "--epochs", "1", "--batch", "2000", code=1)
        self.assertIn("batch: got 2000", errors)


if __name__ == "__main__":
    main(needs_floats=False)
