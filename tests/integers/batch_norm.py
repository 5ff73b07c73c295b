# SPDX-License-Identifier: Apache-2.0
"""Batch norms of docs/integer-training.md: int64 arrays for images and pixels, Python integers for what a channel has."""

from dataclasses import dataclass, replace
from math import isqrt

import numpy as np
from laws import bit_width, clamp, largest, nearest_quotient, shift
from layers import Layer, Tensor
from updates import LEAST_SCALE

MOST = 127 * 2**16
MOST_BIAS = 2**30


def sign(x):
    return (x > 0) - (x < 0)


def nearest_shift(x, s):
    return nearest_quotient(x, 1 << s)


@dataclass
class Channel:
    """The statistics of one channel in one batch."""

    count: int  # N
    exponent: int  # of v
    lift: int  # h: sums are 2^h of v
    total: int  # A
    mean: int
    spread: int

    @property
    def variance(self):
        return self.spread + (1 << (30 + min(max(-17 - 2 * self.exponent, 0), 30)))

    @property
    def deviation(self):
        return isqrt(self.variance)


def channel_of(count, total, squares, exponent, lift=0):
    """Of numbers v of that exponent, by their exact sums."""
    spread = ((count * squares - total * total) << 30) // count // count
    return Channel(count, exponent, lift, total, nearest_quotient(total << 15, count), spread)


def in_unit(channel, exponent):
    """A channel's (mean, spread), which count in the unit of v, in another one."""
    fall = exponent - channel.exponent

    def moved(x, s, most):
        return nearest_shift(x, s) if s > 0 else min(max(x << -s, -most), most)
    return moved(channel.mean, fall, 2**30), moved(channel.spread, 2 * fall, 2**60)


def kept_with(kept, batch, share):
    """What is kept of batches, with one more; kept is None before the first."""
    if kept is None:
        return batch
    mean, spread = (x + nearest_shift((y - x) * share, 8)
                    for x, y in zip(in_unit(kept, batch.exponent), (batch.mean, batch.spread)))
    return replace(batch, mean=mean, spread=spread)


def line_of(channel, scale, offset):
    """(m, c, t): the value is (m v + c) 2^t."""
    deviation = channel.deviation
    k = 14 + deviation.bit_length() - abs(scale).bit_length()
    m = sign(scale) * nearest_quotient(abs(scale) << k, deviation)
    lifted = offset << (k - 15) if k >= 15 else nearest_shift(offset, 15 - k)
    return m, lifted - nearest_shift(m * channel.mean, 15), -k - 1


def plane_of(channel, line, errors, products):
    """(a, w, c) by the sums of e and of e v: the error passed on is a e + w v + c, in units of 2^(t - 8) over those of v."""
    m, n = line[0], channel.count
    tilt = n * products - channel.total * errors  # T
    slope = -sign(m) * sign(tilt) * (((abs(tilt) << 15) // n // n * 256 * abs(m) << 15) // channel.variance)
    return 256 * m, slope, -nearest_quotient(256 * m * errors, n) - nearest_shift(slope * channel.mean, 15)


def scale_gradient(channel, errors, products):
    tilt = channel.count * products - channel.total * errors
    return sign(tilt) * ((abs(tilt) // channel.count << 15) // channel.deviation)


def frozen_bias(channel, scale, offset):
    bias = nearest_quotient((offset * channel.deviation - scale * channel.mean) << channel.lift, abs(scale) << 15)
    return min(max(bias, -MOST_BIAS), MOST_BIAS)


def frozen_multiplier(channel, scale, z):
    return nearest_quotient(abs(scale) << z, channel.deviation << channel.lift)


def to_mantissas(columns, units, rounding, drawn):
    """One exponent for columns of numbers in units of 2^unit, and a shift for each; drawn has draws or is None."""
    exponent = max(unit + max(bit_width(largest(x)) - 7, 0) for x, unit in zip(columns, units))
    shifted = [clamp(shift(x, min(exponent - unit, 62), rounding, drawn if drawn is None else drawn[..., i]))
               for i, (x, unit) in enumerate(zip(columns, units))]
    return Tensor(np.stack(shifted, axis=-1), exponent)


class BatchNorm(Layer):
    learns = True

    def __init__(self, index, node, channels, product, network):
        super().__init__(index, node)
        self.product = product  # whose exact sums are normalized, or None
        self.share = max(int(np.floor(np.float32(node.get("momentum", 0.1)) * np.float64(256) + 0.5)), 1)
        self.kept = [None] * channels
        self.scale = network.make("scale", np.ones(channels, np.int64), 0, 16)
        self.shift = network.make("shift", np.zeros(channels, np.int64), 0, 16)

    def hold(self, before):
        """Keeps the scale, which was `before`, and the shift within their bounds."""
        scale = np.where(np.abs(self.scale.fine) < LEAST_SCALE, np.sign(before) * LEAST_SCALE, self.scale.fine)
        self.scale.fine, self.shift.fine = clamp(scale, MOST), clamp(self.shift.fine, MOST)

    def lifts(self, channels):
        if not self.product:
            return [0] * channels
        magnitudes = np.abs(self.product.weight.mantissas).sum(axis=-1).ravel()
        return [max(bit_width(127 * int(magnitude)) - 15, 0) for magnitude in magnitudes]

    def forward(self, points, x):
        return points.normalized(self, x)

    def normalized(self, points, x):
        lifts = self.lifts(x.mantissas.shape[-1])
        self.v = [clamp(shift(x.mantissas[..., i], lift), 32767) for i, lift in enumerate(lifts)]
        self.channels = [channel_of(v.size, int(v.sum()), int((v * v).sum()), x.exponent + lift, lift)
                         for v, lift in zip(self.v, lifts)]
        self.lines = [line_of(*one) for one in zip(self.channels, self.scale.fine.tolist(), self.shift.fine.tolist())]
        z = [m * v + c for v, (m, c, _) in zip(self.v, self.lines)]
        return to_mantissas(z, [t for _, _, t in self.lines], *points.rounding("value", self.index, x.mantissas.shape))

    def keep(self):
        """What the batch was like."""
        self.kept = [kept_with(kept, channel, self.share) for kept, channel in zip(self.kept, self.channels)]

    def freeze_by_kept(self):
        """In the units of the last batch."""
        kept = [in_unit(*each) for each in zip(self.kept, (channel.exponent for channel in self.channels))]
        self.channels = [replace(channel, mean=mean, spread=spread) for channel, (mean, spread) in zip(self.channels, kept)]

    def backward(self, points, error, is_asked):
        u, units, of_scale, of_shift = [], [], [], []
        for i, (v, channel, line) in enumerate(zip(self.v, self.channels, self.lines)):
            e = error.mantissas[..., i]
            sums = int(e.sum()), int((e * v).sum())
            a, w, c = plane_of(channel, line, *sums)
            u.append(a * e + w * v + c)
            units.append(error.exponent + line[2] - 8 - channel.exponent)
            of_scale.append(scale_gradient(channel, *sums))
            of_shift.append(sums[0])
        passed = to_mantissas(u, units, *points.rounding("error", self.index, error.mantissas.shape)) if is_asked else None
        before = self.scale.fine
        points.move(self.scale, np.array(of_scale), error.exponent)
        points.move(self.shift, np.array(of_shift), error.exponent)
        self.hold(before)
        return [passed]

    def frozen(self, sums, exponent):
        """The answers by the exact sums and the statistics of the last batch: a bias and a multiplier a channel."""
        scales, offsets = self.scale.fine.tolist(), self.shift.fine.tolist()
        z, multipliers = 62 - exponent, [2**31]
        while max(multipliers) > 2**30:
            z -= 1
            multipliers = [frozen_multiplier(channel, scale, z) for scale, channel in zip(scales, self.channels)]
        columns = []
        for i, (scale, offset, channel) in enumerate(zip(scales, offsets, self.channels)):
            signed = sign(scale) * sums[..., i] + frozen_bias(channel, scale, offset)
            columns.append(clamp(shift(signed * multipliers[i], z + 1 + exponent)))
        return Tensor(np.stack(columns, axis=-1), exponent)

    def held(self):
        """How many channels have a frozen bias at its bound."""
        numbers = zip(self.channels, self.scale.fine.tolist(), self.shift.fine.tolist())
        return sum(abs(frozen_bias(*each)) == MOST_BIAS for each in numbers)

    def tensors(self):
        means, variances = (np.array([getattr(c, name) for c in self.channels]) for name in ("mean", "variance"))
        return {"scale": self.scale.fine, "shift": self.shift.fine, "mean": means, "variance": variances}
