# SPDX-License-Identifier: Apache-2.0
"""What the tests of nibble train, eval and sweep share; those of floats end as skipped where a build has no oneDNN."""

import json
import sys
import unittest
from pathlib import Path

from case import Case, has_floats, run

SMALL = Path(__file__).parent / "small-convnet.toml"
CONVNET = "convnet-8x8"
NORMED = """
name = "normed"
input = [8, 8, 1]
layers = [
  { op = "conv2d", channels = 8, kernel = 3, padding = 1 }, { op = "batch_norm" }, { op = "relu", name = "a" },
  { op = "conv2d", channels = 8, kernel = 3, padding = 1 }, { op = "batch_norm", name = "b" },
  { op = "add", from = ["a", "b"] }, { op = "relu" }, { op = "max_pool", kernel = 2 },
  { op = "flatten" }, { op = "linear", features = 10, bias = true }, { op = "softmax_cross_entropy" },
]
"""
DEFAULTS = {"--data": "digits", "--threads": "1", "--batch": "64"}


def quick(*options):
    """The options, with quick ones where they say nothing else."""
    more = [word for name, value in DEFAULTS.items() if name not in options for word in (name, value)]
    return (*more, *options)


QUICK = quick()


class TrainCase(Case):
    def train(self, name, *options, network="mlp-64-32-10", code=0):
        """Trains into a folder of that name; its path, and what was said on both streams."""
        folder = self.folder / name
        process = run("train", network, *quick("--out", folder, *options))
        self.assertEqual(process.returncode, code, process.stderr.decode())
        return folder, process.stdout.decode(), process.stderr.decode()

    def hash_of(self, folder, model="model.nib"):
        return json.loads(self.done("describe", folder / model, "--json"))["weights_hash"]

    def summary(self, folder):
        return json.loads((folder / "summary.json").read_text())

    def rows(self, folder, name="epochs.csv"):
        """The lines of a table below its header, as lists of fields."""
        return [line.split(",") for line in (folder / name).read_text().splitlines()[1:]]

    def no_leftovers(self, folder):
        self.assertEqual([path.name for path in folder.rglob("*.tmp")], [])


class IntegerCase(TrainCase):
    network = CONVNET

    def integers(self, name, *options, **more):
        more.setdefault("network", self.network)
        return self.train(name, "--arith", "int8", *options, **more)

    def normed(self, name, *options, **more):
        network = self.folder / "normed.toml"
        network.write_text(NORMED)
        return self.integers(name, "--update", "sgd", "--lr", "0.05", *options, network=network, **more)


class TrainedCase(TrainCase):
    """Its tests share a model of integers, trained once."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.shared = cls("no_leftovers")
        cls.shared.setUp()
        folder, _, _ = cls.shared.train("trained", "--arith", "int8", "--epochs", "2", network=CONVNET)
        cls.model = folder / "model.nib"

    @classmethod
    def tearDownClass(cls):
        cls.shared.doCleanups()
        super().tearDownClass()


def main(needs_floats=True):
    if needs_floats and not has_floats():
        print("this build has no oneDNN, and so no floats")
        sys.exit(77)
    unittest.main()
