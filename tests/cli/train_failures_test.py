# SPDX-License-Identifier: Apache-2.0
"""Bad input to nibble train and nibble eval: one line that names file and field, nothing half-written."""

import json
import os
import resource
import shutil
import struct
import subprocess

import numpy as np

from case import NIBBLE, npy
from train_case import QUICK, TrainCase, main, quick

NETWORK = """input = [2, 2, 1]
layers = [
  { op = "conv2d", name = "conv1", channels = 4, kernel = 1 },
  { op = "relu" },
  { op = "flatten" },
  { op = "linear", name = "fc", features = 3 },
  { op = "softmax_cross_entropy" },
]
"""


class Refused(TrainCase):
    """Each refusal leaves the folder as it was: no run folder appears."""

    def setUp(self):
        super().setUp()
        self.network = self.folder / "net.toml"
        self.network.write_text(NETWORK)
        self.data = self.folder / "data"
        self.write_data()

    def write_data(self, images=None, labels=None, split="train"):
        folder = self.data / split
        folder.mkdir(parents=True, exist_ok=True)
        np.save(folder / "images.npy", np.arange(48, dtype=np.uint8).reshape(12, 2, 2) if images is None else images)
        np.save(folder / "labels.npy", np.arange(12) % 3 if labels is None else labels)

    def refused(self, words, *options, network=None, data=None, code=1):
        before = sorted(self.folder.rglob("*"))
        line = self.fails(code, words, "train", network or self.network, "--data", data or self.data, "--epochs", "1",
                          "--threads", "1", "--out", self.folder / "run", *options)
        self.assertEqual(sorted(self.folder.rglob("*")), before)
        return line


class Data(Refused):
    def test_damaged_arrays(self):
        for split in ("train", "test"):
            self.write_data(split="test")
            for name, whole in (("images", npy(np.zeros((12, 2, 2), np.uint8))), ("labels", npy(np.arange(12) % 3))):
                path = self.data / split / f"{name}.npy"
                path.write_bytes(whole[:-3])
                line = self.refused("truncated")
                self.assertIn(str(path), line)
                path.write_bytes(b"\x93NUMPY" + b"\xff" * 100)
                self.refused(str(path))
                path.write_bytes(b"")
                self.refused(str(path))
                path.write_bytes(whole)
        self.train("run", "--data", self.data, "--epochs", "1", network=self.network)

    def test_labels_that_cannot_be(self):
        self.write_data(labels=np.full(12, -1))
        self.refused("train/labels.npy: label 0: got -1")
        self.write_data(labels=np.arange(11) % 3)
        self.refused("train/labels.npy")
        self.write_data()
        (self.data / "class_names.txt").write_text("a\nb\n")
        self.refused("label 2: got 2, expected 0 to 1")

    def test_data_that_does_not_fit_the_network(self):
        self.refused("shape of an example: got (8, 8, 1), expected (2, 2, 1), the input of net", data="digits")
        self.write_data(images=np.zeros((12, 3, 2), np.uint8))
        self.refused("shape of an example: got (3, 2, 1)")
        self.write_data(labels=np.arange(12) % 4)
        self.refused("classes: got 4, expected at most 3, the answers of net")
        self.write_data()
        self.write_data(images=np.zeros((12, 3, 2), np.uint8), split="test")
        self.refused("shape of an example: got (3, 2, 1)")

    def test_data_that_is_not_there(self):
        self.refused("'imagenet', expected digits, mnist, fashion-mnist, cifar10", data="imagenet")
        self.refused("'nowhere/set.txt'", data="nowhere/set.txt")
        self.write_data(images=np.zeros((0, 2, 2), np.uint8), labels=np.zeros(0, np.int64))
        self.refused("examples: got none")

    def test_idx_files_that_are_damaged(self):
        source = json.loads(self.done("data", "list", "--json"))[0]["path"]
        folder = self.folder / "digits"
        shutil.copytree(source, folder)
        path = folder / "images.idx3.gz"
        path.write_bytes(path.read_bytes()[:-100])
        before = sorted(self.folder.rglob("*"))
        self.fails(1, str(path), "train", "mlp-64-32-10", "--data", "digits", "--out", self.folder / "run",
                   NIBBLE_DATA=str(self.folder))
        self.assertEqual(sorted(self.folder.rglob("*")), before)

    def test_splits_that_cannot_be(self):
        self.refused("validation", "--val", "12")
        self.refused("validation", "--val", "0.01")
        self.refused("early stopping", "--patience", "2")


class Options(Refused):
    def test_options_that_do_nothing(self):
        self.refused("epoch from which weights are averaged: got 2, expected at most 1", "--average-from", "2")
        self.refused("--momentum: is of sgd, and the optimizer is adam", "--momentum", "0.9", code=2)
        self.refused("--nesterov: is of sgd, and the optimizer is adam", "--nesterov", code=2)
        self.refused("--stop-after: got 2, expected at most 1, the epochs", "--stop-after", "2", code=2)
        self.fails(2, "NETWORK|RECIPE", "train", "--epochs", "3")
        self.refused("residual bits: got a network without adds", "--arith", "int8", "--residual-bits", "1",
                     network="mlp-64-32-10", data="digits")

    def test_features_have_no_borders(self):
        x, y = np.ones((12, 4), np.float32), np.arange(12) % 3
        np.savez(self.folder / "x.npz", x_train=x, y_train=y)
        self.network.write_text('input = [4]\nlayers = [{ op = "linear", features = 3 }, { op = "softmax_cross_entropy" }]\n')
        for option in (("--crop", "1"), ("--flip",), ("--cutout", "1")):
            self.refused("examples for crop, flip or cutout: got features, expected pictures", *option,
                         data=self.folder / "x.npz")

    def test_recipes_say_nothing_in_vain(self):
        recipe = self.folder / "r.toml"
        for line, words in (('momentum = 0.5', "momentum: got it beside adam, expected sgd"),
                            ('average_every = 3', "average_every: got it alone, expected average_from"),
                            ('report = "x.html"', "'report': got an unknown key, expected one of arith, name, summary"),
                            ('out = "x"', "'out': got an unknown key, expected one of arith, name, summary")):
            recipe.write_text(f'network = "mlp-64-32-10"\ndata = "digits"\noptimizer = "adam"\n{line}\n')
            self.fails(1, f"r.toml:4: {words}", "train", recipe, "--out", self.folder / "run")


class Policies(Refused):
    def policy(self, text):
        path = self.folder / "policy.toml"
        path.write_text(text)
        return "--policy", path

    def test_a_policy_names_file_line_and_key(self):
        def refused(words, text):
            options = self.policy(text)
            self.refused(f"policy.toml:{words}", *options)

        refused("2: round[0].role: role: got 'wieght', expected weight, activation", '[[round]]\nrole = "wieght"\nformat = "e4m3"\n')
        refused("3: round[0].format: ", '[[round]]\nrole = "weight"\nformat = "e4m99"\n')
        refused("3: round[0].layers: got 'cnov*' for the role weight, expected a pattern that fits one of net: conv1, fc",
                '[[round]]\nrole = "weight"\nlayers = "cnov*"\nformat = "e4m3"\n')
        refused("2: round[0].layers: got 'flatten*' for the role activation, expected a pattern",
                '[[round]]\nlayers = "flatten*"\nrole = "activation"\nformat = "e4m3"\n')
        refused("4: round[0].'layer': got an unknown key", '[[round]]\nrole = "weight"\nformat = "e4m3"\nlayer = "x"\n')
        refused("2: ", "[[round]]\nrole = weight\n")
        refused("1: loss_scale: got -1", "loss_scale = -1\n")
        self.refused("absent.toml", "--policy", self.folder / "absent.toml")

    def test_a_rule_of_the_command_line(self):
        self.refused("'wieght', expected weight", "--round", "wieght=e4m3")
        self.refused("e4m99", "--round", "weight=e4m99")
        self.refused("ROLE[,ROLE…]=FORMAT[/ROUNDING]", "--round", "e4m3")
        self.refused("ROLE[,ROLE…]=FORMAT[/ROUNDING]", "--round", "=e4m3")
        self.refused("sideways", "--round", "weight=e4m3/sideways")

    def test_recipes(self):
        path = self.folder / "recipe.toml"
        for words, text in (("recipe.toml:2: epochs", "epochs = 1000000000000000000"), ("recipe.toml:2: rate", "rate = -1"),
                            ("recipe.toml:2: schedule", 'schedule = "cosin"'), ("recipe.toml:2: 'epoch'", "epoch = 3")):
            path.write_text(f'network = "{self.network}"\n{text}\n')
            self.refused(words, network=path)
        path.write_text('network = "nothing-like-it"\n')
        self.refused("recipe.toml:1: network", network=path)
        self.refused("'nothing-like-it', expected a name or the path of a .toml file; 'nibble train' lists recipes", network="nothing-like-it")

    def test_wrong_usage(self):
        for option, value in (("--epochs", "-1"), ("--epochs", "1000000000000000000"), ("--batch", "0"), ("--lr", "0"),
                              ("--lr", "nan"), ("--lr", "inf"), ("--val", "nan"), ("--momentum", "nan"),
                              ("--smoothing", "nan"), ("--seed", "x"), ("--threads", "0"), ("--optimiser", "sgd")):
            self.refused(option, option, value, code=2)
        self.fails(2, "--data", "train", self.network)
        self.refused("'sdg', expected sgd, adam, adamw", "--optimizer", "sdg")
        self.refused("cosin", "--schedule", "cosin")


class Checkpoints(TrainCase):
    def setUp(self):
        super().setUp()
        self.run_folder, _, _ = self.train("run", "--epochs", "2", "--stop-after", "1")

    def resume_fails(self, words, *options, network="mlp-64-32-10"):
        before = {path: path.read_bytes() for path in self.run_folder.iterdir()}
        line = self.fails(1, words, "train", network,
                          *quick("--epochs", "2", "--out", self.run_folder, "--resume", *options))
        self.assertEqual({path: path.read_bytes() for path in self.run_folder.iterdir()}, before)
        return line

    def test_of_another_run(self):
        line = self.resume_fails("is of another run: network: got 'mlp-64-32-10', expected 'convnet-8x8'",
                                 network="convnet-8x8")
        self.assertIn("checkpoint.safetensors", line)
        self.resume_fails("is of another run: seed: got '1', expected '2'", "--seed", "2")
        self.resume_fails("is of another run: batch", "--batch", "32")
        self.resume_fails("is of another run", "--round", "weight=e4m3")

    def test_that_are_damaged(self):
        path = self.run_folder / "checkpoint.safetensors"
        whole = path.read_bytes()
        path.write_bytes(whole[:-1])
        self.assertIn(str(path), self.resume_fails("bytes"))
        path.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
        self.assertIn(str(path), self.resume_fails("is damaged: hash"))
        path.write_bytes(b"")
        self.resume_fails(str(path))
        path.write_bytes(whole.replace(b'"word.epoch":"1"', b'"word.epoch":"9"'))
        self.resume_fails("is damaged: hash")
        path.unlink()
        self.resume_fails("cannot be resumed")
        path.write_bytes(whole)
        self.train("run", "--epochs", "2", "--resume")

    def test_that_are_absent(self):
        self.fails(1, "cannot be resumed", "train", "mlp-64-32-10", *QUICK, "--out", self.folder / "none", "--resume")
        self.assertFalse((self.folder / "none").exists())


class Models(TrainCase):
    def setUp(self):
        super().setUp()
        self.model = self.train("run", "--epochs", "0")[0] / "model.nib"
        self.whole = self.model.read_bytes()

    def eval_fails(self, words, data="digits"):
        line = self.fails(1, words, "eval", self.model, "--data", data)
        return line

    def with_metadata(self, key, value):
        """The file with other words in its header."""
        size = struct.unpack("<Q", self.whole[:8])[0]
        header = json.loads(self.whole[8 : 8 + size])
        header["__metadata__"][key] = value
        text = json.dumps(header).encode()
        text += b" " * (-len(text) % 8)
        return struct.pack("<Q", len(text)) + text + self.whole[8 + size :]

    def test_that_are_damaged(self):
        self.model.write_bytes(self.whole[:-1])
        self.assertIn(str(self.model), self.eval_fails("bytes"))
        self.model.write_bytes(self.whole[:-1] + bytes([self.whole[-1] ^ 1]))
        self.assertIn(str(self.model), self.eval_fails("is damaged: content_hash"))
        self.model.write_bytes(self.whole[:100])
        self.eval_fails(str(self.model))
        self.model.write_bytes(b"\xff" * 64)
        self.eval_fails(str(self.model))
        self.model.unlink()
        self.eval_fails(str(self.model))

    def test_of_another_version(self):
        self.model.write_bytes(self.with_metadata("nibble_format", "99"))
        self.assertIn("got '99', expected '1'", self.eval_fails(str(self.model)))

    def test_that_do_not_fit_the_data(self):
        np.save(self.folder / "images.npy", np.zeros((2, 4, 4), np.uint8))
        np.save(self.folder / "labels.npy", np.zeros(2, np.int64))
        self.fails(1, "shape of an example: got (4, 4, 1)", "eval", self.model, "--data", self.folder, "--split", "train")
        self.fails(1, "test split", "eval", self.model, "--data", self.folder)
        self.eval_fails("'imagenet'", data="imagenet")
        self.fails(2, "--data", "eval", self.model)
        self.fails(1, "got a folder, expected a .nib model", "eval", self.folder, "--data", "digits")


class Limits(TrainCase):
    def limited(self, bytes_a_file, folder, *options):
        """A run whose files may not grow beyond a size, as on a full disk: its error line."""
        def limit():
            resource.setrlimit(resource.RLIMIT_FSIZE, (bytes_a_file, bytes_a_file))

        command = [NIBBLE, "train", "mlp-64-32-10", *QUICK, "--quiet", "--out", folder, *options]
        process = subprocess.run(command, capture_output=True, preexec_fn=limit, timeout=300)
        self.assertEqual(process.returncode, 1, process.stderr.decode())
        lines = process.stderr.decode().splitlines()
        self.assertEqual(len(lines), 1)
        self.assertIn(f"{folder}/", lines[0])
        self.assertIn("File too large", lines[0])
        self.no_leftovers(folder)
        return lines[0]

    def test_a_full_disk_keeps_what_was_written(self):
        options = ("--no-layer-statistics", "--epochs", "3")
        folder, _, _ = self.train("run", *options, "--stop-after", "1")
        before = {path: path.read_bytes() for path in folder.iterdir() if path.name == "checkpoint.safetensors"}
        self.assertIn("checkpoint.safetensors", self.limited(16384, folder, *options, "--resume"))
        self.assertEqual({path: path.read_bytes() for path in before}, before)
        self.train("run", *options, "--resume")
        self.assertEqual(self.hash_of(folder), self.hash_of(self.train("whole", *options)[0]))

    def test_a_full_disk_in_a_table(self):
        line = self.limited(16384, self.folder / "run", "--epochs", "9", "--checkpoint-every", "0")
        table = self.folder / "run" / "histograms.csv"
        self.assertTrue(not table.exists() or table.read_bytes().endswith(b"\n"), line)
        self.done("report", self.folder / "run", "-o", self.folder / "r.html")

    def test_a_full_disk_from_the_start(self):
        self.limited(64, self.folder / "run", "--epochs", "1")
        self.assertEqual([path.name for path in (self.folder / "run").iterdir() if path.suffix == ".nib"], [])

    def test_a_full_file_system(self):
        place = self.folder / "disk"
        place.mkdir()
        if os.geteuid() != 0 or subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", place],
                                               capture_output=True).returncode != 0:
            self.skipTest("no right to mount a file system")
        self.addCleanup(subprocess.run, ["umount", place], check=True)
        self.fails(1, "No space left on device", "train", "mlp-64-32-10", *QUICK, "--quiet", "--epochs", "9", "--out",
                   place / "run")
        self.no_leftovers(place)

    def test_a_folder_that_cannot_be_made(self):
        (self.folder / "file").write_text("")
        self.fails(1, str(self.folder / "file"), "train", "mlp-64-32-10", *QUICK, "--out", self.folder / "file" / "run")
        self.fails(1, str(self.folder / "file"), "train", "mlp-64-32-10", *QUICK, "--out", self.folder / "file")

    def test_a_loss_that_is_no_number_names_step_and_layer(self):
        for options in (("--optimizer", "sgd"), ("--optimizer", "sgd", "--batch", "2000"), ("--optimizer", "adam")):
            line = self.fails(1, "step", "train", "convnet-8x8",
                              *quick("--lr", "1e20", "--epochs", "2", "--quiet", "--overwrite", *options), "--out",
                              self.folder / "run")
            self.assertRegex(line, r"\[train\] (loss at step \d+: got (nan|inf), first in (layer|parameter) \w+"
                                   r"|parameter \w+\.\w+ after step \d+: got )")
            self.assertFalse((self.folder / "run" / "summary.json").exists())


if __name__ == "__main__":
    main()
