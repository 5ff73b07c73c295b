# SPDX-License-Identifier: Apache-2.0
"""Integer training that begins with floats whose batch norms fold, and with quantized models, beside the second implementation."""

from files import IMAGES, LABELS, TRAIN_IMAGES
from second_implementation import Settings
from train_case import main
from twice_case import SGD, TwiceCase, nodes_of

# Every way to fold: into products of pictures and of vectors, with and without a bias before; behind a sum; before a linear layer.
NORMS = """
  { op = "conv2d", name = "stem", channels = 6, kernel = 3, padding = 1, stride = 2 },
  { op = "bias", name = "raised" }, { op = "batch_norm", epsilon = 0.01 }, { op = "relu", name = "open" },
  { op = "conv2d", name = "branch", channels = 6, kernel = 3, padding = 1, groups = 2, bias = true },
  { op = "batch_norm", name = "end" }, { op = "dropout", share = 0.5 },
  { op = "add", from = ["dropout1", "open"] }, { op = "batch_norm", name = "of_sums" }, { op = "relu" },
  { op = "max_pool", kernel = 2 }, { op = "flatten" }, { op = "dropout", share = 0.3 },
  { op = "linear", features = 12 }, { op = "batch_norm" }, { op = "relu" }, { op = "batch_norm", name = "of_vectors" },
  { op = "linear", name = "fc", features = 10 },
"""
RESIDUAL = """
  { op = "conv2d", name = "stem", channels = 6, kernel = 3, padding = 1 }, { op = "batch_norm" }, { op = "relu6", name = "open" },
  { op = "conv2d", channels = 6, kernel = 3, padding = 1 }, { op = "batch_norm", name = "branch" },
  { op = "add", from = ["branch", "open"] }, { op = "relu", name = "sum" },
  { op = "average_pool", name = "mean", kernel = 2 },
  { op = "max_pool", name = "most", from = "sum", kernel = 2 },
  { op = "concat", from = ["mean", "most"] },
  { op = "depthwise", kernel = 3 }, { op = "relu" }, { op = "global_average_pool" }, { op = "linear", features = 10, bias = true },
"""


class Starts(TwiceCase):
    def floats(self, layers):
        """A model that was trained for an epoch in floats."""
        return self.train("floats", "--epochs", "1", "--lr", "0.01", network=self.network(layers))[0] / "model.nib"

    def compare(self, start, *flags, **settings):
        folder, _, _ = self.train("run", "--arith", "int8", "--overwrite", "--from", start, "--epochs", "1", *flags, network="")
        settings = Settings(**{"epochs": 1, "batch": 64, "mu": "0", **settings})
        return self.compare_model(folder, IMAGES, LABELS, TRAIN_IMAGES, settings, start)

    def test_batch_norms_fold(self):
        floats = self.floats(NORMS)
        model = self.compare(floats, "--fraction-bits", "8", fraction_bits=8)
        self.assertEqual(sum(node["op"] == "batch_norm" for node in nodes_of(floats)[0]), 5)
        self.assertEqual([layer.name for layer in model.network.layers if hasattr(layer, "weight")],
                         ["stem", "branch", "of_sums", "linear1", "fc"])
        self.compare(floats, "--update", "sgd", "--lr", "0.01", lr=0.01, **SGD)

    def test_quantized_models_and_their_fake_twins(self):
        floats, fake, integers = self.floats(RESIDUAL), self.folder / "fake.nib", self.folder / "integers.nib"
        for options in ((), ("--weights", "int4", "--activations", "int8"), ("--weights", "int3", "--per-tensor")):
            with self.subTest(options):
                self.done("quantize", floats, "-o", integers, "--fake", fake, "--calib", "digits", *options)
                self.compare(integers)
                self.compare(fake, "--fraction-bits", "4", fraction_bits=4)


if __name__ == "__main__":
    main()
