# SPDX-License-Identifier: Apache-2.0
"""nibble sweep, and nibble report and compare on the runs that it made."""

import csv
import json
import signal
import subprocess
from xml.etree import ElementTree

import numpy as np

from case import NIBBLE, run
from train_case import QUICK, TrainCase, main, quick


class Sweep(TrainCase):
    def options(self, epochs="2"):
        return ("sweep", "mlp-64-32-10", *QUICK, "--epochs", epochs, "--formats", "e4m3", "fixed(8,4)", "--roles", "weight",
                "activation", "--out", self.folder / "sweep")

    def sweep(self, *options, code=0, epochs="2"):
        process = run(*self.options(epochs), *options)
        self.assertEqual(process.returncode, code, process.stderr.decode())
        return process.stdout.decode(), process.stderr.decode()

    def done_quietly(self, *words):
        """What is printed by a sweep that ends well."""
        process = run(*words, "--threads", "1")
        self.assertEqual(process.returncode, 0, process.stderr.decode())
        return process.stdout.decode()

    def stamps(self):
        return {path: path.stat().st_mtime_ns for path in (self.folder / "sweep").glob("*/*")}

    def test_a_folder_that_cannot_be_made_is_named(self):
        (self.folder / "sweep").write_text("a file")
        for out in (self.folder / "sweep", self.folder / "sweep" / "below"):
            process = run(*self.options()[:-2], "--out", out)
            self.assertEqual(process.returncode, 1)
            self.assertIn(f"nibble: [sweep] cannot make folder {out}: ", process.stderr.decode())

    def test_formats_give_a_table_a_file_and_a_picture(self):
        folder = self.folder / "sweep"
        text, lines = self.sweep()
        self.assertRegex(text, r"^format +rounding +top-1 % +± +to fp32\nfp32 +[\d.]+ +0.00 +\+0.00\n"
                               r"e4m3 +nearest-even +[\d.]+ +0.00 +[+-][\d.]+\nfixed\(8,4\) +nearest-even ")
        self.assertEqual([line for line in lines.splitlines() if line.startswith("run ")],
                         ["run 1/3: fp32  seed 1", "run 2/3: e4m3 nearest-even seed 1", "run 3/3: fixed(8,4) nearest-even seed 1"])
        with open(folder / "sweep.csv", newline="") as file:
            rows = list(csv.DictReader(file))
        self.assertEqual([(row["format"], row["seeds"]) for row in rows], [("fp32", "1"), ("e4m3", "1"), ("fixed(8,4)", "1")])
        runs = [folder / name for name in ("fp32-seed1", "e4m3-nearest-even-seed1", "fixed_8_4_-nearest-even-seed1")]
        for row, path in zip(rows, runs):
            self.assertEqual(float(row["top1_mean"]), self.summary(path)["test"]["top1"])
        self.assertTrue(ElementTree.parse(folder / "sweep.svg").getroot().tag.endswith("svg"))
        page = (folder / "report.html").read_text()
        for path in runs:
            self.assertIn(path.name, page)

        # Again: the same answer, and nothing is trained.
        before = self.stamps()
        again, lines = self.sweep()
        self.assertEqual((again, self.stamps()), (text, before))
        self.assertNotIn("epoch", lines)
        # Another seed is two runs more for each format.
        told = json.loads(self.sweep("--seeds", "2", "--json")[0])
        self.assertEqual([len(cell["top1"]) for cell in told], [2, 2, 2])
        self.assertEqual({path: stamp for path, stamp in self.stamps().items() if path in before}, before)

        page = self.folder / "r.html"
        self.done("report", *runs, "-o", page)
        for words in ("fixed(8,4)", "e4m3-nearest-even-seed1", "<svg", "activation"):
            self.assertIn(words, page.read_text())
        told = json.loads(self.done("compare", *runs[:2], "--json"))
        self.assertFalse(told["weights_equal"])
        self.assertTrue(any(key.startswith("policy") for key in told["different"]), told["different"])
        self.assertEqual(told["results"]["test_top1"], [self.summary(path)["test"]["top1"] for path in runs[:2]])
        self.assertIn("the weights are different", self.done("compare", *runs).decode())

    def test_fp32_alone_is_a_row_and_a_picture(self):
        process = run("sweep", "mlp-64-32-10", *QUICK, "--epochs", "1", "--formats", "fp32", "--out", self.folder / "sweep")
        self.assertEqual(process.returncode, 0, process.stderr.decode())
        self.assertRegex(process.stdout.decode(), r"\nfp32 +[\d.]+ +0.00 +\+0.00\n\n")
        self.assertIn("fp32", (self.folder / "sweep" / "sweep.svg").read_text())

    def test_options_are_varied_beside_a_twin_in_floats(self):
        folder = self.folder / "sweep"
        options = ("sweep", "digits-convnet-int8", "--epochs", "1", "--threads", "1", "--vary", "mu=5", "mu=-1",
                   "shift-rounding=error=nearest", "shift-rounding=error=stochastic", "--twin", "digits-convnet-fp32", "--out", folder)
        process = run(*options)
        self.assertEqual(process.returncode, 0, process.stderr.decode())
        text = process.stdout.decode()
        self.assertRegex(text, r"^mu +shift-rounding +top-1 % +± +to fp32\nfp32 +[\d.]+ +0.00 +\+0.00\n5 +error=nearest +[\d.]+ ")
        with open(folder / "sweep.csv", newline="") as file:
            rows = list(csv.DictReader(file))
        self.assertEqual([(row["mu"].strip("'"), row["shift-rounding"]) for row in rows],
                         [("fp32", ""), ("5", "error=nearest"), ("5", "error=stochastic"), ("-1", "error=nearest"), ("-1", "error=stochastic")])
        self.assertTrue(ElementTree.parse(folder / "sweep.svg").getroot().tag.endswith("svg"))
        runs = [folder / f"{name}-seed1" for name in ("fp32", "mu_5_shift-rounding_error_stochastic")]
        told = [json.loads((path / "settings.json").read_text()) for path in runs]
        self.assertEqual([told[0]["optimizer"]["rate"], told[0]["epochs"], told[0]["batch"]], [0.005, 1, 16])
        self.assertEqual([told[1]["mu"], told[1]["rounding"]["error"]], ["5", "stochastic"])
        alone, _, _ = self.train("alone", "--epochs", "1", "--batch", "16", "--mu", "5", "--shift-rounding", "error=stochastic",
                                 network="digits-convnet-int8")
        self.assertEqual(self.hash_of(runs[1]), self.hash_of(alone))
        page = self.folder / "r.html"
        self.done("report", *runs, "-o", page)
        self.assertIn("int8", page.read_text())
        before = self.stamps()
        self.assertEqual(run(*options).stdout.decode(), text)
        self.assertEqual(self.stamps(), before)

    def test_schedules_and_rates_of_integers_are_varied(self):
        folder, of_integers = self.folder / "sweep", ("--arith", "int8", "--update", "sgd", "--epochs", "2")
        values = ("schedule=cosine", "schedule=onecycle", "lr=0.05", "lr=0.2")
        process = run("sweep", "mlp-64-32-10", *QUICK, *of_integers, "--vary", *values, "--out", folder)
        self.assertEqual(process.returncode, 0, process.stderr.decode())
        with open(folder / "sweep.csv", newline="") as file:
            rows = [(row["schedule"], float(row["lr"])) for row in csv.DictReader(file)]
        self.assertEqual(rows, [("cosine", 0.05), ("cosine", 0.2), ("onecycle", 0.05), ("onecycle", 0.2)])
        hashes = set()
        for schedule, rate in rows:
            path = folder / f"schedule_{schedule}_lr_{rate}-seed1"
            told = json.loads((path / "settings.json").read_text())
            self.assertEqual((told["schedule"].partition("(")[0], told["rate"], told["update"]), (schedule, rate, "sgd"))
            alone, _, _ = self.train("alone", *of_integers, "--overwrite", "--schedule", schedule, "--lr", str(rate))
            self.assertEqual(self.hash_of(path), self.hash_of(alone))
            hashes.add(self.hash_of(path))
        self.assertEqual(len(hashes), 4)

    def test_seeds_alone_are_a_row(self):
        folder = self.folder / "sweep"
        of_floats = ("sweep", "mlp-64-32-10", *QUICK, "--epochs", "1", "--seeds", "2", "--out", folder)
        text = run(*of_floats).stdout.decode()
        self.assertRegex(text, r"^arith +top-1 % +± +to fp32\nfp32 +[\d.]+ +[\d.]+ +\+0.00\n\n")
        for seed in (1, 2):
            alone, _, _ = self.train(f"alone{seed}", "--epochs", "1", "--seed", str(seed))
            self.assertEqual(self.hash_of(folder / f"fp32-seed{seed}"), self.hash_of(alone))
        # Another run of floats below its twin, and integers below theirs.
        twin = ("--twin", "digits-convnet-fp32", "--json", "--out", self.folder / "twins")
        told = json.loads(self.done_quietly("sweep", "digits-mlp-fp32", *twin, "--epochs", "1"))
        self.assertEqual([cell["arith"] for cell in told], ["fp32", "digits-mlp-fp32"])
        twin = (*twin[:-1], self.folder / "int8")
        told = json.loads(self.done_quietly("sweep", "digits-convnet-int8", *twin, "--epochs", "1", "--seeds", "2"))
        self.assertEqual([(cell["arith"], len(cell["top1"])) for cell in told], [("fp32", 2), ("int8", 2)])

    def test_a_twin_takes_the_mean_of_the_epochs_that_are_swept(self):
        twin = self.folder / "twin.toml"
        twin.write_text('network = "convnet-8x8"\nepochs = 9\naverage_from = 8\n')
        self.done_quietly("sweep", "digits-convnet-int8", "--epochs", "4", "--batch", "64", "--twin", twin, "--json", "--out",
                          self.folder / "twins")
        told = json.loads((self.folder / "twins" / "fp32-seed1" / "settings.json").read_text())
        self.assertEqual((told["epochs"], told["average_from"]), (4, 4))

    def test_an_interrupted_sweep_goes_on(self):
        process = subprocess.Popen([NIBBLE, *self.options("100")], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        while not process.stderr.readline().startswith(b"run 2/3"):
            self.assertIsNone(process.poll())
        process.stderr.readline()  # its first epoch
        process.send_signal(signal.SIGINT)
        text, lines = process.communicate(timeout=300)
        self.assertEqual((process.returncode, text), (130, b""))
        self.assertEqual(lines.decode().splitlines()[-1], "nibble: interrupted; the same command goes on")
        self.assertFalse((self.folder / "sweep" / "sweep.csv").exists())
        before = self.stamps()
        text, _ = self.sweep(epochs="100")
        first = self.folder / "sweep" / "fp32-seed1"
        self.assertEqual({path: stamp for path, stamp in self.stamps().items() if path.parent == first},
                         {path: stamp for path, stamp in before.items() if path.parent == first})
        whole, _, _ = self.train("whole", "--epochs", "100", "--round", "weight,activation=e4m3")
        self.assertEqual(self.hash_of(self.folder / "sweep" / "e4m3-nearest-even-seed1"), self.hash_of(whole))
        self.assertIn("fixed(8,4)", text)

    def test_wrong_requests_are_refused(self):
        def refused(words, *options, code=1):
            line = self.fails(code, words, "sweep", "mlp-64-32-10", *quick("--out", self.folder / "none", *options))
            self.assertFalse((self.folder / "none").exists())
            return line

        refused("e4m99", "--formats", "e4m99")
        refused("sideways", "--formats", "e4m3", "--roundings", "sideways")
        refused("'wieght'", "--formats", "e4m3", "--roles", "wieght")
        refused("accumulator", "--formats", "e4m3", "--roles", "accumulator", "weight")
        refused("--formats, --vary, --twin or more than one of --seeds", code=2)
        refused("--formats", "--seeds", "1", code=2)
        refused("--seeds", "--formats", "e4m3", "--seeds", "0", code=2)
        refused("'imagenet'", "--formats", "e4m3", "--data", "imagenet")
        refused("--formats", "--formats", "e4m3", "--arith", "int8", code=2)
        refused("--vary", "--formats", "e4m3", "--vary", "lr=1", code=2)
        refused("got 'mu'", "--arith", "int8", "--vary", "mu", code=2)
        refused("got 'seed'", "--arith", "int8", "--vary", "seed=1", code=2)
        refused("got 'wieght'", "--vary", "wieght=1", code=2)
        refused("'x'", "--arith", "int8", "--vary", "mu=5", "mu=x")
        refused("fraction-bits", "--arith", "int8", "--vary", "fraction-bits=99", code=2)
        refused("--mu: is an option of integer training", "--vary", "mu=5", code=2)
        refused("two in a folder", "--arith", "int8", "--vary", "mu=5", "mu=5")

    def test_what_gives_no_accuracy_is_refused_before_the_first_run(self):
        x, y = np.zeros((20, 6), np.float32), np.arange(20)
        network = self.folder / "line.toml"
        network.write_text('input = [6]\nlayers = [{ op = "linear", features = 20 }, { op = "squared_error" }]\n')
        np.savez(self.folder / "targets.npz", x_train=x, y_train=np.zeros((20, 20), np.float32), x_test=x,
                 y_test=np.zeros((20, 20), np.float32))
        np.savez(self.folder / "untested.npz", x_train=x, y_train=y)
        for name, words in (("targets", "[sweep] data: got targets of a regression, expected labels of classes"),
                            ("untested", "[sweep] data: got none to test with, expected x_test and y_test, a set with a test split,")):
            out = self.folder / name
            self.fails(1, words, "sweep", network, "--formats", "e4m3", "--data", self.folder / f"{name}.npz", "--out", out)
            self.assertFalse(out.exists())

    def test_two_sweeps_do_not_mix(self):
        self.sweep(epochs="0")
        self.assertIn("other settings", self.sweep(epochs="1", code=1)[1])


if __name__ == "__main__":
    main()
