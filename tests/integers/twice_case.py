# SPDX-License-Identifier: Apache-2.0
"""What the command trained beside what the second implementation makes of the same pictures."""

import json

import numpy as np
from batch_norm import BatchNorm
from files import ANSWERED, exponent_of, model_of
from second_implementation import start_of, trained
from train_case import TrainCase

# What the rule sgd, and batch norms, take where flags say nothing else.
SGD = {"update": "sgd", "fraction_bits": 16, "gradient_rounding": "stochastic"}
NORMALIZED_SGD = {**SGD, "error_rounding": "stochastic"}


def nodes_of(path):
    """The nodes and tensors of a model."""
    network, tensors = model_of(path)
    return network["nodes"], tensors


def plain(nodes):
    """Nodes up to the answer without the formats of their numbers."""
    formats = ("value", "weight", "bias_value", "weight_steps")
    return [{key: value for key, value in node.items() if key not in formats} for node in nodes
            if node["op"] not in ("softmax_cross_entropy", "squared_error")]


class TwiceCase(TrainCase):
    def network(self, layers, loss="softmax_cross_entropy", shape=(8, 8, 1)):
        """The path of a network, usually for the digits."""
        text = self.folder / "net.toml"
        text.write_text(f'input = {list(shape)}\nlayers = [{layers}  {{ op = "{loss}" }},\n]\n')
        return text

    def compare_model(self, folder, images, labels, train_images, settings, start=None, held=0):
        """Trains by the first images; compares parameters, exponents, statistics and answers for the last. The second model.

        `start` is the file of a model to begin with, `held` says how many channels of batch norms have a frozen bias at its bound."""
        network, tensors = model_of(folder / "model.nib")
        if start:
            start = start_of(*nodes_of(start))
            self.assertEqual(plain(start[0]), plain(network["nodes"]))
        model = trained(network, images[:train_images], labels[:train_images], settings, start)
        own = model.tensors()
        self.assertEqual(own.keys(), tensors.keys())
        for name, tensor in tensors.items():
            np.testing.assert_array_equal(own[name].reshape(tensor.shape), tensor, name)
        nodes = network["nodes"][:-1]
        self.assertEqual(model.exponents[0], exponent_of(nodes[0]["value"]))
        for layer in model.network.layers:
            node = nodes[layer.index]
            if layer.is_normalized:
                self.assertEqual(node["value"]["format"], "fp32")
            else:
                self.assertEqual(model.exponents[layer.index], exponent_of(node["value"]), layer.name)
            if hasattr(layer, "weight"):
                self.assertEqual(layer.weight.exponent, exponent_of(node["weight"]), layer.name)
        norms = [layer for layer in model.network.layers if isinstance(layer, BatchNorm)]
        told = json.loads(self.done("describe", folder / "model.nib", "--json")).get("held_channels", {})
        self.assertEqual(told, {norm.name: norm.held() for norm in norms if norm.held()})
        self.assertEqual(sum(told.values()), held)
        shown = images[-ANSWERED:]
        self.done("run", folder / "model.nib", "--input", self.save("pictures.npy", shown), "--output", self.output)
        np.testing.assert_array_equal(model.values(shown)[-1].reshape(len(shown), -1), np.load(self.output))
        return model
