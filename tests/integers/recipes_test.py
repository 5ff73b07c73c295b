# SPDX-License-Identifier: Apache-2.0
"""The courses on CIFAR-10 by their recipes, for a few steps on a few pictures, beside the second implementation."""

import tomllib

import numpy as np
from files import IMAGES, LABELS, ROOT
from second_implementation import Settings
from train_case import main
from twice_case import NORMALIZED_SGD, TwiceCase

# Keys of recipes that are settings by another name; the others have the same one or say nothing of the numbers here.
NAMES = {"rate": "lr"}
SETTINGS = ("rate", "schedule", "momentum", "nesterov", "weight_decay", "decay_norms", "crop", "flip", "average_from")
OTHERS = ("summary", "follows", "arith", "network", "data", "epochs", "batch")


def coloured(images):
    """32 x 32 pictures of three different channels."""
    large = images.repeat(4, axis=1).repeat(4, axis=2)
    return np.concatenate([large, 255 - large, large // 2 + 60], axis=-1)


class Recipes(TwiceCase):
    def compare(self, name, count, batch, epochs=1):
        recipe = tomllib.loads((ROOT / "recipes" / f"{name}.toml").read_text())
        self.assertEqual(recipe.keys() - {*SETTINGS, *OTHERS}, set())
        images, labels = coloured(IMAGES[:count]), LABELS[:count]
        data = self.folder / "data"
        data.mkdir()
        np.save(data / "images.npy", images)
        np.save(data / "labels.npy", labels)
        folder, _, _ = self.train("run", "--data", data, "--epochs", str(epochs), "--batch", str(batch), network=name)
        settings = {NAMES.get(key, key): recipe[key] for key in SETTINGS if key in recipe}
        of_rule = NORMALIZED_SGD if "rate" in recipe else {}
        self.compare_model(folder, images, labels, count, Settings(epochs=epochs, batch=batch, **of_rule, **settings))

    def test_resnet20(self):
        self.compare("cifar10-resnet20-int8", 8, 4, epochs=2)

    def test_vgg_small_7_has_a_dropout(self):
        self.compare("cifar10-vgg-small-7-int8", 1, 1, epochs=2)

    def test_vgg_small_7_with_batch_norms(self):
        self.compare("cifar10-vgg-small-7-bn-int8", 2, 2)

    def test_resnet18(self):
        self.compare("cifar10-resnet18-int8", 1, 1)


if __name__ == "__main__":
    main(needs_floats=False)
