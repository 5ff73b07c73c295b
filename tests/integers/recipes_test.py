# SPDX-License-Identifier: Apache-2.0
"""Recipes in integers, for a few steps on a few pictures, beside the second implementation."""

import tomllib
import unittest

import numpy as np
from files import IMAGES, LABELS, ROOT
from second_implementation import Settings
from train_case import main
from twice_case import NORMALIZED_SGD, TwiceCase

# Keys of recipes that are settings by another name; the others have the same one or say nothing of the numbers here.
NAMES = {"rate": "lr"}
SETTINGS = ("rate", "schedule", "momentum", "nesterov", "weight_decay", "decay_norms", "crop", "flip", "average_from", "mu", "bias_mu",
            "momentum16", "fraction_bits", "residual_bits")
OTHERS = ("summary", "follows", "arith", "network", "data", "epochs", "batch")
# Recipes in integers and their twins in floats, by the command itself.
TWINS = {"mnist-mlp-int8": "mnist-mlp-twin-fp32", "mnist-lenet-int8": "mnist-lenet-twin-fp32",
         "fashion-mlp-int8": "fashion-mlp-twin-fp32", "cifar10-vgg-small-7-bn-int8": "cifar10-vgg-small-7-bn-fp32",
         "cifar10-resnet20-int8": "cifar10-resnet20-onecycle-fp32", "cifar10-resnet18-int8": "cifar10-resnet18-fp32"}
SIZES = {"cifar10": 32, "mnist": 28, "fashion-mnist": 28, "digits": 8}


def pictures_for(data, count):
    """Digits in the size of other pictures, those of CIFAR-10 in three different channels."""
    large, size = IMAGES[:count].repeat(4, axis=1).repeat(4, axis=2), SIZES[data]
    if size == 8:
        return IMAGES[:count]
    if size == 28:
        return large[:, 2:30, 2:30]
    return np.concatenate([large, 255 - large, large // 2 + 60], axis=-1)


def recipe_of(name):
    return tomllib.loads((ROOT / "recipes" / f"{name}.toml").read_text())


class Twins(unittest.TestCase):
    def test_have_the_course_of_their_recipe(self):
        for name, twin in TWINS.items():
            own, floats = recipe_of(name), recipe_of(twin)
            keys = ["network", "data", "crop", "flip", "epochs", "batch"]
            keys += ["rate", "schedule", "momentum", "weight_decay"] if "rate" in own else []
            for key in keys:
                self.assertEqual(floats.get(key), own.get(key), (twin, key))
            last_quarter = own["epochs"] - own["epochs"] // 4 + 1
            self.assertEqual(floats.get("average_from", 0), own.get("average_from", last_quarter), twin)


class Recipes(TwiceCase):
    def compare(self, name, count, batch, epochs=1, average_from=None):
        recipe = recipe_of(name)
        self.assertEqual(recipe.keys() - {*SETTINGS, *OTHERS}, set())
        images, labels = pictures_for(recipe["data"], count), LABELS[:count]
        data = self.folder / f"{name}-data"
        data.mkdir()
        np.save(data / "images.npy", images)
        np.save(data / "labels.npy", labels)
        flags = ["--data", data, "--epochs", str(epochs), "--batch", str(batch)]
        if average_from is None:  # the last quarter of so few epochs is none
            self.assertLess(epochs, 4)
            recipe["average_from"] = 0
        else:
            flags += ["--average-from", str(average_from)]
            recipe["average_from"] = average_from
        folder, _, _ = self.train(name, *flags, network=name)
        settings = {NAMES.get(key, key): recipe[key] for key in SETTINGS if key in recipe}
        of_rule = NORMALIZED_SGD if "rate" in recipe else {}
        self.compare_model(folder, images, labels, count, Settings(epochs=epochs, batch=batch, **{**of_rule, **settings}))

    def test_digits(self):
        self.compare("digits-convnet-int8", 200, 16, epochs=3, average_from=2)

    def test_lenet(self):
        self.compare("mnist-lenet-int8", 16, 8, epochs=2, average_from=2)

    def test_mlps(self):
        for name in ("mnist-mlp-int8", "fashion-mlp-int8"):
            with self.subTest(name):
                self.compare(name, 64, 16, epochs=2)

    def test_resnet20(self):
        self.compare("cifar10-resnet20-int8", 8, 4, epochs=2, average_from=2)

    def test_resnet20_without_batch_norms(self):
        self.compare("cifar10-resnet20-nobn-int8", 4, 2, epochs=2, average_from=2)

    def test_vgg_small_7_has_a_dropout(self):
        self.compare("cifar10-vgg-small-7-int8", 1, 1, epochs=2)

    def test_vgg_small_8(self):
        self.compare("cifar10-vgg-small-8-int8", 1, 1)

    def test_vgg_small_9(self):
        self.compare("cifar10-vgg-small-9-int8", 1, 1)

    def test_vgg_small_7_with_batch_norms(self):
        self.compare("cifar10-vgg-small-7-bn-int8", 2, 2)

    def test_past_93_percent(self):
        self.compare("cifar10-fast-int8", 1, 1, epochs=2)

    def test_resnet18(self):
        self.compare("cifar10-resnet18-int8", 1, 1)


if __name__ == "__main__":
    main(needs_floats=False)
