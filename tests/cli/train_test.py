# SPDX-License-Identifier: Apache-2.0
"""nibble train and nibble eval on the bundled digits: folders, hashes, interruptions, progress."""

import fcntl
import json
import os
import pty
import re
import signal
import struct
import subprocess
import termios
import time

from case import NIBBLE, run
from train_case import QUICK, TrainCase, main, quick

FILES = {"settings.json", "epochs.csv", "layers.csv", "histograms.csv", "checkpoint.safetensors", "model.nib",
         "summary.json"}
LONG = "200"  # epochs that nobody waits for


class Run(TrainCase):
    def test_the_run_folder_is_complete(self):
        folder, text, _ = self.train("run", "--epochs", "2", "--round", "weight,activation=e4m3", "--seed", "5")
        names = {path.name for path in folder.iterdir()}
        self.assertEqual({name for name in names if not name.startswith("events.out.tfevents.")}, FILES)
        self.assertEqual(len(names), len(FILES) + 1)
        settings = json.loads((folder / "settings.json").read_text())
        for key in ("started", "nibble", "commit", "command", "machine"):
            self.assertIn(key, settings)
        told = json.dumps(settings)
        for words in ("mlp-64-32-10", "digits", "e4m3", '"seed": 5', '"epochs": 2', '"batch": 64'):
            self.assertIn(words, told)
        self.assertEqual([row[0] for row in self.rows(folder)], ["1", "2"])
        self.assertLess({"weight", "activation", "error", "gradient"}, {row[2] for row in self.rows(folder, "layers.csv")})
        self.assertIn(f"weights        {self.hash_of(folder)}\n", text)
        self.assertIn("% top-1", text)
        self.assertIn("MiB", text)
        self.assertEqual(self.summary(folder)["weights_hash"], self.hash_of(folder))
        self.assertEqual(self.summary(folder)["epochs"], 2)

    def test_threads_do_not_change_the_weights(self):
        options = ("--epochs", "1", "--round", "weight,activation=e4m3", "--round", "error,gradient=e5m2/stochastic")
        hashes = set()
        for threads in ("1", "3"):
            folder, _, _ = self.train(threads, *options, "--threads", threads, network="convnet-8x8")
            hashes.add(self.hash_of(folder))
        self.assertEqual(len(hashes), 1)
        other, _, _ = self.train("other", *options, "--seed", "2", network="convnet-8x8")
        self.assertNotIn(self.hash_of(other), hashes)

    def test_products_on_a_device(self):
        def weights(name, *options):
            return self.hash_of(self.train(name, "--epochs", "1", *options, network="convnet-8x8")[0])

        wanted = weights("cpu")
        self.assertEqual(weights("fp32", "--place", "conv*=pretend, fc.forward=pretend"), wanted)
        narrow = weights("int8", "--place", "pretend", "--wire", "int8")
        self.assertNotEqual(narrow, wanted)
        self.assertEqual(weights("threads", "--place", "pretend", "--wire", "int8", "--threads", "3"), narrow)
        train = ("train", "convnet-8x8", "--data", "digits", "--out", self.folder / "refused")
        self.fails(1, "the optimizer of floats is the CPU's", *train, "--place", "fc.update=pretend")
        self.fails(1, "conv1, conv2, fc", *train, "--place", "relu1=pretend")
        self.fails(1, "pretend, which alone have products", *train, "--device", "reference")
        self.fails(2, "--device, which means the same", *train, "--place", "cpu", "--device", "cpu")
        self.fails(1, "fp32, fp16, bf16, int8", *train, "--place", "pretend", "--wire", "int4")
        self.fails(1, "fp32, tf32, fp16, bf16", *train, "--place", "pretend", "--compute", "int8")
        for option in ("--wire", "--compute"):
            self.fails(2, "--place with a device", *train, option, "fp16")
        self.assertFalse((self.folder / "refused").exists())

    def test_cutout_changes_the_weights_by_its_counter(self):
        plain, _, _ = self.train("plain", "--epochs", "1")
        cut, _, _ = self.train("cut", "--epochs", "1", "--cutout", "3")
        again, _, _ = self.train("again", "--epochs", "1", "--cutout", "3", "--threads", "2")
        self.assertNotEqual(self.hash_of(plain), self.hash_of(cut))
        self.assertEqual(self.hash_of(cut), self.hash_of(again))
        self.assertIn('"cutout": 3', json.dumps(json.loads((cut / "settings.json").read_text())))

    def test_eval_refuses_what_it_would_not_use(self):
        folder, _, _ = self.train("run", "--epochs", "0")
        self.fails(1, "--shifts: got a model without shifts", "eval", folder, "--data", "digits", "--shifts", "exact")
        integers, _, _ = self.train("int8", "--epochs", "0", "--arith", "int8")
        policy = self.folder / "policy.toml"
        policy.write_text('[[round]]\nrole = "activation"\nformat = "e4m3"\n')
        self.fails(1, "--policy: got a model of integers", "eval", integers, "--data", "digits", "--policy", policy)
        self.fails(1, "--pictures: got folders of runs", "compare", folder, integers, "--pictures", self.folder / "x.html")

    def test_eval_says_what_the_run_said(self):
        folder, _, _ = self.train("run", "--epochs", "1")
        told = json.loads(self.done("eval", folder, "--data", "digits", "--json", "--threads", "1"))
        for key, value in self.summary(folder)["test"].items():
            self.assertEqual(told[key], value, key)
        self.assertEqual((told["images"], len(told["confusion"])), (360, 10))
        self.assertEqual(told["correct"], sum(told["confusion"][i][i] for i in range(10)))
        self.assertEqual(told["top1"], told["correct"] / 360)
        self.assertTrue(told["top1"] <= told["top5"] <= 1)
        self.assertGreater(told["loss"], 0)
        self.assertEqual(told["weights_hash"], self.hash_of(folder))
        model = json.loads(self.done("eval", folder / "model.nib", "--data", "digits", "--json", "--split", "train"))
        self.assertEqual(model["images"], 1437)
        process = run("eval", folder, "--data", "digits", "--confusion")
        self.assertEqual(process.returncode, 0)
        self.assertIn("label (down), answer (across)", process.stdout.decode())

    def test_validation_chooses_and_stops(self):
        folder, text, _ = self.train("run", "--epochs", "60", "--val", "0.2", "--patience", "2", "--lr", "0.02")
        summary = self.summary(folder)
        self.assertLess(summary["epochs"], 60)
        self.assertEqual(summary["val"]["images"], 287)
        self.assertEqual(summary["best"]["val_top1"], summary["val"]["top1"])
        self.assertIn(f"best           epoch {summary['best']['epoch']}\n", text)
        told = json.loads(self.done("eval", folder, "--data", "digits", "--json"))
        self.assertEqual(told["weights_hash"], self.hash_of(folder, "best.nib"))
        self.assertEqual(told["top1"], summary["test"]["top1"])
        # What has stopped for good does not go on.
        before = self.hash_of(folder)
        self.train("run", "--epochs", "60", "--val", "0.2", "--patience", "2", "--lr", "0.02", "--resume")
        self.assertEqual((self.hash_of(folder), self.summary(folder)["epochs"]), (before, summary["epochs"]))

    def test_a_run_is_not_lost_by_mistake(self):
        folder, _, _ = self.train("run", "--epochs", "1")
        before = {path: path.read_bytes() for path in folder.iterdir()}
        line = self.fails(1, "already holds a run", "train", "mlp-64-32-10", *QUICK, "--epochs", "1", "--out", folder)
        self.assertIn("--overwrite", line)
        self.assertEqual({path: path.read_bytes() for path in folder.iterdir()}, before)
        self.fails(2, "--resume", "train", "mlp-64-32-10", *QUICK, "--out", folder, "--resume", "--overwrite")
        (folder / "notes.txt").write_text("mine")
        self.train("run", "--epochs", "2", "--overwrite")
        self.assertEqual(self.summary(folder)["epochs"], 2)
        self.assertEqual((folder / "notes.txt").read_text(), "mine")

    def test_an_overwritten_run_stays_until_the_new_one_has_a_checkpoint(self):
        folder, _, _ = self.train("run", "--epochs", "1")
        before = {path: path.read_bytes() for path in folder.iterdir()}
        line = self.fails(1, "expected a finite number", "train", "mlp-64-32-10", *quick("--out", folder, "--overwrite", "--quiet", "--lr",
                                                                           "1e30", "--epochs", "3", "--optimizer", "sgd"))
        self.assertTrue(line.endswith(f"; the run that {folder} held is still there"), line)
        self.assertEqual({path: path.read_bytes() for path in folder.iterdir()}, before)

    def test_continue_starts_or_goes_on(self):
        folder, _, _ = self.train("run", "--epochs", "2", "--continue", "--stop-after", "1")
        self.assertFalse((folder / "summary.json").exists())
        self.train("run", "--epochs", "2", "--continue")
        whole, _, _ = self.train("whole", "--epochs", "2")
        self.assertEqual(self.hash_of(folder), self.hash_of(whole))
        self.assertEqual([row[:2] for row in self.rows(folder)], [row[:2] for row in self.rows(whole)])
        self.train("run", "--epochs", "2", "--continue")  # once more changes nothing
        self.assertEqual(self.hash_of(folder), self.hash_of(whole))
        for other in ("--resume", "--overwrite"):
            self.fails(2, "--continue", "train", "mlp-64-32-10", *QUICK, "--out", folder, "--continue", other)

    def test_a_run_without_a_checkpoint_yet_starts_again(self):
        """As kill -9 in the first epoch leaves it."""
        for option in ("--resume", "--continue"):
            name = option.strip("-")
            folder, _, _ = self.train(name, "--epochs", "1")
            expected = self.hash_of(folder)
            for file in ("checkpoint.safetensors", "model.nib", "summary.json"):
                (folder / file).unlink()
            line = self.fails(1, "already holds a run", "train", "mlp-64-32-10", *QUICK, "--out", folder)
            self.assertIn("--continue starts it again", line)
            self.assertNotIn("--resume", line)
            self.train(name, "--epochs", "1", option)
            self.assertEqual(self.hash_of(folder), expected)
            self.assertEqual(len(self.rows(folder)), 1)

    def test_the_recipes_are_listed_and_run_by_name(self):
        text = self.done("train").decode()
        for name in ("digits-convnet-fp32", "digits-convnet-e4m3", "mnist-lenet-bfp8-swalp", "cifar10-wage"):
            self.assertIn(f"{name} ", text)
        folder, _, _ = self.train("run", "--epochs", "1", network="digits-mlp-fp32")
        self.assertIn("digits-mlp-fp32", (folder / "settings.json").read_text())

    def test_a_flag_turns_off_what_a_recipe_turns_on(self):
        recipe = self.folder / "mine.toml"
        recipe.write_text('network = "convnet-8x8"\ndata = "digits"\narith = "int8"\nupdate = "sgd"\nepochs = 1\n'
                          'flip = true\nnesterov = true\ndecay_norms = true\n')
        for word, expected in (("", True), ("=true", True), ("=false", False)):
            flags = [f"--{name}{word}" for name in ("flip", "nesterov", "decay-norms")] if word else []
            folder, _, _ = self.train("run", "--overwrite", *flags, network=recipe)
            settings = json.loads((folder / "settings.json").read_text())
            found = [settings["augment"]["flip"], settings.get("nesterov", False), settings.get("decay_norms", False)]
            self.assertEqual(found, 3 * [expected])
        self.fails(2, "--flip: got maybe, expected true or false", "train", recipe, "--flip=maybe")

    def test_fewer_epochs_bring_the_average_of_a_recipe_forward(self):
        recipe = self.folder / "mine.toml"
        recipe.write_text('network = "mlp-64-32-10"\nepochs = 9\naverage_from = 8\n')
        for name, epochs, start in (("eight", "8", 8), ("five", "5", 5), ("three", "3", None)):
            folder, _, _ = self.train(name, "--epochs", epochs, network=recipe)
            self.assertEqual(json.loads((folder / "settings.json").read_text()).get("average_from"), start)
        refusal = "epoch from which weights are averaged: got 8, expected at most 5"
        self.fails(1, refusal, "train", recipe, *quick("--epochs", "5", "--average-from", "8", "--out", self.folder / "none"))


class Interruptions(TrainCase):
    OPTIONS = ("--epochs", "4", "--round", "weight=e4m3", "--round", "gradient=e5m2/stochastic", "--average-from", "3")

    def whole(self):
        return self.hash_of(self.train("whole", *self.OPTIONS)[0])

    def test_a_run_goes_on_to_the_same_weights(self):
        folder, text, _ = self.train("parts", *self.OPTIONS, "--stop-after", "1")
        self.assertIn("stopped after 1 epochs, 23 steps", text)
        self.assertFalse((folder / "summary.json").exists())
        self.train("parts", *self.OPTIONS, "--stop-after", "2", "--resume", "--threads", "2")
        self.train("parts", *self.OPTIONS, "--resume")
        self.assertEqual(self.hash_of(folder), self.whole())
        told = json.loads(self.done("compare", folder, self.folder / "whole", "--json"))
        self.assertTrue(told["weights_equal"])
        for name in ("layers.csv", "histograms.csv"):
            self.assertEqual((folder / name).read_bytes(), (self.folder / "whole" / name).read_bytes())
        # Once more changes nothing.
        self.train("parts", *self.OPTIONS, "--resume")
        self.assertEqual(self.hash_of(folder), self.hash_of(self.folder / "whole"))

    def interrupted(self, number, *options):
        """A long run that gets the signal in its midst: its folder, exit code and last line."""
        folder = self.folder / "interrupted"
        process = subprocess.Popen([NIBBLE, "train", "convnet-8x8", *QUICK, "--out", folder, "--epochs", LONG, *options],
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        for _ in range(2):
            process.stderr.readline()
        time.sleep(0.05)  # in the third epoch
        process.send_signal(number)
        text, lines = process.communicate(timeout=300)
        self.assertEqual(text, b"")
        return folder, process.returncode, lines.decode().splitlines()[-1]

    def test_ctrl_c_leaves_a_checkpoint_and_says_how_to_go_on(self):
        folder, code, line = self.interrupted(signal.SIGINT, "--checkpoint-every", "0")
        self.assertEqual(code, 130)
        self.assertRegex(line, r"^nibble: interrupted after \d+ epochs, \d+ steps; .*--resume.* in .*/interrupted$")
        done, steps = (int(word) for word in line.replace(",", "").split() if word.isdigit())
        self.assertFalse((folder / "summary.json").exists())
        self.no_leftovers(folder)
        self.done("report", folder, "-o", self.folder / "half.html")
        epochs = str(done + 1)
        self.train("interrupted", "--epochs", epochs, "--resume", network="convnet-8x8")
        whole, _, _ = self.train("whole", "--epochs", epochs, network="convnet-8x8")
        self.assertEqual(self.hash_of(folder), self.hash_of(whole))
        self.assertEqual([row[:2] for row in self.rows(folder)], [row[:2] for row in self.rows(whole)])
        self.assertGreaterEqual(steps, 23 * done)

    def test_a_request_to_end_is_one_too(self):
        folder, code, line = self.interrupted(signal.SIGTERM)
        self.assertEqual(code, 143)
        self.assertIn("--resume", line)
        self.assertTrue((folder / "checkpoint.safetensors").exists())

    def test_two_runs_do_not_share_a_folder(self):
        process = subprocess.Popen([NIBBLE, "train", "convnet-8x8", *QUICK, "--out", self.folder / "run", "--epochs", LONG],
                                   stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        process.stderr.readline()
        self.fails(1, "in use by another run", "train", "convnet-8x8", *QUICK, "--out", self.folder / "run", "--overwrite")
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=300)
        self.assertEqual(process.returncode, 130)


class Progress(TrainCase):
    def test_a_pipe_gets_lines(self):
        _, text, lines = self.train("run", "--epochs", "2")
        self.assertNotIn("\r", lines)
        self.assertNotIn("\x1b", text + lines)
        self.assertRegex(lines, r"^epoch +1/2  loss [\d.]+  train [\d.]+ %  test [\d.]+ % \(loss [\d.]+\)  rate 0.001  \d+ images/s\n"
                                r"epoch +2/2  .*\n$")
        self.assertEqual(self.train("quiet", "--epochs", "1", "--quiet")[2], "")

    def test_epochs_show_the_loss_of_validation(self):
        folder, _, lines = self.train("run", "--epochs", "2", "--val", "100")
        header = (folder / "epochs.csv").read_text().splitlines()[0].split(",")
        for line, row in zip(lines.splitlines(), self.rows(folder), strict=True):
            shown = re.search(r"  val ([\d.]+) % \(loss ([\d.]+)\)  ", line)
            self.assertIsNotNone(shown, line)
            self.assertAlmostEqual(float(shown[1]), 100 * float(row[header.index("val_top1")]), delta=0.006)
            self.assertAlmostEqual(float(shown[2]), float(row[header.index("val_loss")]), delta=6e-5)

    def test_a_terminal_gets_a_bar(self):
        try:
            leader, follower = pty.openpty()
        except OSError as error:
            self.skipTest(f"no terminal: {error}")
        fcntl.ioctl(follower, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 100, 0, 0))
        command = [NIBBLE, "train", "convnet-8x8", *QUICK, "--epochs", "2", "--out", self.folder / "run"]
        process = subprocess.Popen(command, stdin=follower, stdout=follower, stderr=follower,
                                   env={**os.environ, "TERM": "xterm", "LC_ALL": "C.UTF-8"})
        os.close(follower)
        shown = b""
        try:
            while piece := os.read(leader, 65536):
                shown += piece
        except OSError:  # the other end is closed
            pass
        os.close(leader)
        self.assertEqual(process.wait(timeout=300), 0)
        text = shown.decode()
        self.assertRegex(text, r"\repoch 1/2 .* 64/1437 .* s left  loss [\d.]+ .* images/s\x1b\[K")
        self.assertIn("\x1b[K", text)
        self.assertRegex(text, r"\x1b\[Kepoch +1/2  loss")  # the bar goes before its line comes
        self.assertRegex(text, r"weights        [0-9a-f]{16}")
        for piece in text.replace("\x1b[K", "").replace("\n", "\r").split("\r"):
            self.assertLess(len(piece), 140)


if __name__ == "__main__":
    main()
