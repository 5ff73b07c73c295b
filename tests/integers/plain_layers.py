# SPDX-License-Identifier: Apache-2.0
"""The layers of docs/integer-training.md that have no parameters."""

import itertools

import numpy as np
from laws import aligned, aligned_sum
from layers import Layer, Tensor, Window


class Relu(Layer):
    def forward(self, points, x):
        self.is_open = x.mantissas > 0
        return Tensor(x.mantissas * self.is_open, x.exponent)

    def backward(self, points, error, is_asked):
        return [Tensor(error.mantissas * self.is_open, error.exponent)]


class Relu6(Layer):
    def forward(self, points, x):
        e = x.exponent
        cut = 128 if e < -4 else 6 << -e if e <= 0 else 6 >> e
        y = np.clip(x.mantissas, 0, cut)
        self.is_open = (0 < y) & (y < cut)
        return Tensor(y, e)

    backward = Relu.backward


class MaxPool(Layer):
    def __init__(self, index, node):
        super().__init__(index, node)
        self.window = Window(node)
        self.overlaps = any(s < k for s, k in zip(node["stride"], node["kernel"]))

    def forward(self, points, x):
        taps = self.window.unfolded(x.mantissas, fill=-128)
        first = np.argmax(taps, axis=3, keepdims=True)  # of equals the first
        self.shape, self.won = x.mantissas.shape, np.arange(taps.shape[3])[:, None] == first
        return Tensor(taps.max(axis=3), x.exponent)

    def backward(self, points, error, is_asked):
        sums = self.window.folded(error.mantissas[:, :, :, None] * self.won, self.shape)
        return [points.error(self, sums, error.exponent) if self.overlaps else Tensor(sums, error.exponent)]


def factor_of(count):
    """2^15 / count to the nearest."""
    return (2**15 + count // 2) // count


class AveragePool(Layer):
    def __init__(self, index, node):
        super().__init__(index, node)
        self.window, self.counts_padding = Window(node), node["counts_padding"]

    def forward(self, points, x):
        self.shape = x.mantissas.shape
        inside = self.window.unfolded(np.ones((1, *self.shape[1:3], 1), np.int64), fill=int(self.counts_padding))
        self.factors = factor_of(inside.sum(axis=3))
        taps = self.window.unfolded(x.mantissas)
        self.taps = taps.shape[3]
        return points.value(self, self.factors * taps.sum(axis=3), x.exponent - 15)

    def backward(self, points, error, is_asked):
        of_windows = (self.factors * error.mantissas)[:, :, :, None]
        n, height, width, _, channels = of_windows.shape
        sums = self.window.folded(np.broadcast_to(of_windows, (n, height, width, self.taps, channels)), self.shape)
        return [points.error(self, sums, error.exponent - 15)]


class GlobalAveragePool(Layer):
    def forward(self, points, x):
        self.shape = x.mantissas.shape
        self.factor = factor_of(self.shape[1] * self.shape[2])
        sums = x.mantissas.sum(axis=(1, 2), keepdims=True)
        return points.value(self, self.factor * sums, x.exponent - 15)

    def backward(self, points, error, is_asked):
        sums = self.factor * np.broadcast_to(error.mantissas, self.shape)
        return [points.error(self, sums, error.exponent - 15)]


class Add(Layer):
    def forward(self, points, *inputs):
        return points.value(self, *aligned_sum(inputs))

    def backward(self, points, error, is_asked):
        return [error] * len(self.inputs)


class Concat(Layer):
    def forward(self, points, *inputs):
        scaled, common = aligned(inputs)
        self.widths = [x.mantissas.shape[-1] for x in inputs]
        return points.value(self, np.concatenate(scaled, axis=-1), common)

    def backward(self, points, error, is_asked):
        ends = itertools.accumulate(self.widths)
        return [Tensor(error.mantissas[..., end - width:end], error.exponent) for end, width in zip(ends, self.widths)]


class Slice(Layer):
    def __init__(self, index, node):
        super().__init__(index, node)
        chosen = (slice(begin, end or None, step) for begin, end, step in zip(node["begin"], node["end"], node["step"]))
        self.chosen = (slice(None), *chosen)

    def forward(self, points, x):
        self.shape = x.mantissas.shape
        return Tensor(x.mantissas[self.chosen], x.exponent)

    def backward(self, points, error, is_asked):
        passed = np.zeros(self.shape, np.int64)
        passed[self.chosen] = error.mantissas
        return [Tensor(passed, error.exponent)]


class Pad(Layer):
    def __init__(self, index, node):
        super().__init__(index, node)
        self.borders = [(0, 0), *zip(node["before"], node["after"])]

    def forward(self, points, x):
        self.inside = tuple(slice(before, before + extent) for (before, _), extent in zip(self.borders, x.mantissas.shape))
        return Tensor(np.pad(x.mantissas, self.borders), x.exponent)

    def backward(self, points, error, is_asked):
        return [Tensor(error.mantissas[self.inside], error.exponent)]


class Flatten(Layer):
    def forward(self, points, x):
        self.shape = x.mantissas.shape
        return Tensor(x.mantissas.reshape(len(x.mantissas), 1, 1, -1), x.exponent)

    def backward(self, points, error, is_asked):
        return [Tensor(error.mantissas.reshape(self.shape), error.exponent)]


class Dropout(Layer):
    """Of the share 1 - 2^-k."""

    def __init__(self, index, node):
        super().__init__(index, node)
        self.k = [0, 0.5, 0.75, 0.875, 0.9375].index(node["share"])

    def dropped(self, x):
        return x if self.mask is None else Tensor(x.mantissas * self.mask, x.exponent + self.k)

    def forward(self, points, x):
        self.mask = points.mask(self, x.mantissas.shape[1:])
        return self.dropped(x)

    def backward(self, points, error, is_asked):
        return [self.dropped(error)]


PLAIN_LAYERS = {"relu": Relu, "relu6": Relu6, "max_pool": MaxPool, "average_pool": AveragePool,
                "global_average_pool": GlobalAveragePool, "add": Add, "concat": Concat, "slice": Slice, "pad": Pad,
                "flatten": Flatten, "dropout": Dropout}
