# SPDX-License-Identifier: Apache-2.0
"""Losses, accuracies and confusions that the command reports, in training and of a test set, beside the second implementation."""

import json

from files import IMAGES, LABELS, TRAIN_IMAGES
from second_implementation import Settings
from train_case import main
from twice_case import NORMALIZED_SGD, TwiceCase

PLAIN = """
  { op = "conv2d", channels = 4, kernel = 3 }, { op = "relu" }, { op = "flatten" }, { op = "linear", features = 10, bias = true },
"""
NORMALIZED = """
  { op = "conv2d", channels = 6, kernel = 3, padding = 1, stride = 2 }, { op = "batch_norm" }, { op = "relu" },
  { op = "global_average_pool" }, { op = "linear", features = 10, bias = true },
"""
SHOWN = ("images", "correct", "top1", "top5", "confusion")


class Reports(TwiceCase):
    def is_reported(self, told, own):
        self.assertEqual({key: told[key] for key in SHOWN}, {key: own[key] for key in SHOWN})
        self.assertAlmostEqual(told["loss"] / own["loss"], 1, delta=1e-12)  # the last bits are those of exp and log

    def compare(self, layers, *flags, loss="softmax_cross_entropy", **settings):
        """Whether the two ways to evaluate differ."""
        folder, _, _ = self.train("run", "--arith", "int8", "--epochs", "2", "--overwrite", *flags, network=self.network(layers, loss))
        settings = Settings(epochs=2, batch=64, **settings)
        model = self.compare_model(folder, IMAGES, LABELS, TRAIN_IMAGES, settings)
        names = (folder / "epochs.csv").read_text().splitlines()[0].split(",")
        for row, (mean, right) in zip(self.rows(folder), model.epochs, strict=True):
            row = dict(zip(names, row))
            self.assertAlmostEqual(float(row["train_loss"]) / mean, 1, delta=1e-12)
            self.assertAlmostEqual(float(row["train_top1"]) * TRAIN_IMAGES, right, delta=0.01)
        images, labels, summary = IMAGES[TRAIN_IMAGES:], LABELS[TRAIN_IMAGES:], self.summary(folder)
        for name, shifts, own in (("test", "frozen", model.frozen_report(images, labels)),
                                  ("batch_shifts", "exact", model.batch_report(images, labels))):
            self.is_reported(json.loads(self.done("eval", folder, "--data", "digits", "--shifts", shifts, "--json")), own)
            self.is_reported(summary[name], own)
        return summary["test"]["loss"] != summary["batch_shifts"]["loss"]

    def test_shifts(self):
        self.assertTrue(self.compare(PLAIN, "--calibration", "3", calibration=3))

    def test_batch_norms(self):
        self.assertTrue(self.compare(NORMALIZED, "--smoothing", "0.1", **NORMALIZED_SGD))

    def test_squared_errors(self):
        self.compare(PLAIN, "--mu", "3", loss="squared_error", mu="3")


if __name__ == "__main__":
    main(needs_floats=False)
