# SPDX-License-Identifier: Apache-2.0
"""Layers of docs/integer-training.md, those with weights. Pictures are int64 (n, rows, columns, channels), vectors have one pixel."""

import itertools
from typing import NamedTuple

import numpy as np
from laws import aligned_sum, first_exponent


class Tensor(NamedTuple):
    mantissas: np.ndarray
    exponent: int


class Window:
    """The taps of a convolution or pool."""

    def __init__(self, node):
        self.kernel, self.stride, self.padding = node["kernel"], node["stride"], node["padding"]
        self.dilation = node.get("dilation", [1, 1])

    def places(self, extents):
        """For each tap, in row-major order, the slices of the padded picture that its windows see."""
        reach = [d * (k - 1) for d, k in zip(self.dilation, self.kernel)]
        counts = [(x + 2 * p - r - 1) // s + 1 for x, p, r, s in zip(extents, self.padding, reach, self.stride)]
        for tap in itertools.product(*map(range, self.kernel)):
            starts = [t * d for t, d in zip(tap, self.dilation)]
            yield tuple(slice(b, b + s * (c - 1) + 1, s) for b, s, c in zip(starts, self.stride, counts))

    def unfolded(self, x, fill=0):
        """(n, rows, columns, taps, channels); what lies outside of the picture is fill."""
        (py, px) = self.padding
        padded = np.pad(x, ((0, 0), (py, py), (px, px), (0, 0)), constant_values=fill)
        return np.stack([padded[:, rows, columns] for rows, columns in self.places(x.shape[1:3])], axis=3)

    def folded(self, taps, shape):
        """The sums of taps at the pixels of a picture of that shape: the way back of unfolded."""
        n, height, width, channels = shape
        (py, px) = self.padding
        padded = np.zeros((n, height + 2 * py, width + 2 * px, channels), np.int64)
        for tap, (rows, columns) in enumerate(self.places((height, width))):
            padded[:, rows, columns] += taps[:, :, :, tap]
        return padded[:, py:py + height, px:px + width]


class Layer:
    """A node of the network; what `forward` keeps serves the `backward` of the same step."""

    learns = False
    is_normalized = False  # a batch norm takes the exact sums

    def __init__(self, index, node):
        self.index, self.name, self.inputs = index, node["name"], node["inputs"]

    def tensors(self):
        """What the model's file has of it, by kind."""
        return {}


def product(a, b):
    """a @ b of mantissas. float64 holds every integer below 2^53, so that its sums are exact in any order, and it is fast."""
    assert a.shape[-1] < 2**39
    return (a.astype(np.float64) @ b.astype(np.float64)).astype(np.int64)


class Product(Layer):
    """conv2d and linear."""

    learns = True

    def __init__(self, index, node, entering, network):
        super().__init__(index, node)
        if node["op"] == "linear":
            window = {"kernel": [1, 1], "stride": [1, 1], "padding": [0, 0]}
            node = {**node, **window, "groups": 1, "channels": node["features"]}
        self.window, self.groups, out = Window(node), node["groups"], node["channels"]
        taps = node["kernel"][0] * node["kernel"][1]
        shape = (self.groups, out // self.groups, taps * entering // self.groups)
        exponent = first_exponent(taps * entering // self.groups, taps * out // self.groups)
        self.weight = network.make_weight(shape, exponent)
        self.bias = network.make_bias(out) if node["bias"] else None

    def by_group(self, x):
        """(groups, positions, numbers of the group) of (n, rows, columns, …, channels)."""
        positions = x.shape[0] * x.shape[1] * x.shape[2]
        split = x.reshape(positions, -1, self.groups, x.shape[-1] // self.groups)
        return split.transpose(2, 0, 1, 3).reshape(self.groups, positions, -1)

    def forward(self, points, x):
        self.x = x
        self.patches = self.window.unfolded(x.mantissas)
        sums = product(self.by_group(self.patches), self.weight.mantissas.transpose(0, 2, 1))
        sums = sums.transpose(1, 0, 2).reshape(*self.patches.shape[:3], -1)
        exponent = x.exponent + self.weight.exponent
        if self.is_normalized:
            return Tensor(sums, exponent)
        if self.bias:
            common = max(min(exponent, self.bias.exponent), exponent - 28)
            lift = min(max(self.bias.exponent - common, 0), 28)
            sums = (sums << (exponent - common)) + (self.bias.mantissas << lift)
            exponent = common
        return points.value(self, sums, exponent)

    def backward(self, points, error, is_asked):
        passed = None
        by_group = self.by_group(error.mantissas)
        if is_asked:
            *_, taps, channels = self.patches.shape
            of_taps = product(by_group, self.weight.mantissas).reshape(self.groups, -1, taps, channels // self.groups)
            of_taps = of_taps.transpose(1, 2, 0, 3).reshape(self.patches.shape)
            sums = self.window.folded(of_taps, self.x.mantissas.shape)
            passed = points.error(self, sums, error.exponent + self.weight.exponent)
        gradient = product(by_group.transpose(0, 2, 1), self.by_group(self.patches))
        points.move(self.weight, gradient, error.exponent + self.x.exponent)
        if self.bias:
            points.move(self.bias, error.mantissas.sum(axis=(0, 1, 2)), error.exponent)
        return [passed]

    def tensors(self):
        return {"weight": self.weight.mantissas} | ({"bias": self.bias.mantissas} if self.bias else {})


class Bias(Layer):
    learns = True

    def __init__(self, index, node, channels, network):
        super().__init__(index, node)
        self.bias = network.make_bias(channels)

    def forward(self, points, x):
        return points.value(self, *aligned_sum([x, Tensor(self.bias.mantissas, self.bias.exponent)]))

    def backward(self, points, error, is_asked):
        points.move(self.bias, error.mantissas.sum(axis=(0, 1, 2)), error.exponent)
        return [error]

    def tensors(self):
        return {"bias": self.bias.mantissas}
