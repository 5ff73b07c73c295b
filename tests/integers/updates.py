# SPDX-License-Identifier: Apache-2.0
"""The two update rules of docs/integer-training.md, the course of mu, and averages of weights."""

import numpy as np
from laws import bit_width, clamp, draws_of_all, exponent_for, largest, shift, to_nearest, truncated

GRADIENT = 0x90000000
LEAST_SCALE = 2**8


class Parameter:
    """Mantissas with an exponent; `fine` has F more bits below them, `momentum` is in the unit of `fine`.

    Its kind is weight, bias, scale or shift."""

    def __init__(self, kind, number, mantissas, exponent, fraction_bits):
        self.kind, self.number, self.mantissas, self.exponent = kind, number, mantissas, exponent
        self.fraction_bits = fraction_bits
        self.fine = mantissas << fraction_bits
        self.momentum = np.zeros_like(mantissas)

    def start_at(self, mantissas, exponent):
        self.mantissas, self.exponent, self.fine = mantissas, exponent, mantissas << self.fraction_bits

    def start_near(self, x):
        """Floats, each tensor rounded by itself."""
        exponent = max(exponent_for(x), -10) if self.kind == "bias" else exponent_for(x)
        self.exponent, self.fine = exponent, to_nearest(np.float64(x) * 2.0 ** (self.fraction_bits - exponent))
        self.settle()

    def drawn(self, seed, step):
        return draws_of_all(seed, GRADIENT + self.number, step, self.fine.shape)

    def settle(self):
        self.fine = clamp(self.fine, 127 << self.fraction_bits)
        self.mantissas = clamp(shift(self.fine, self.fraction_bits))


def move_by_shift(parameter, gradient, mu, momentum16, has_decay, rounding, drawn):
    """NITI's rule: the largest entry moves its weight by about 2^mu units."""
    limit, width = 127 << parameter.fraction_bits, bit_width(largest(gradient))
    if has_decay and width > 0:
        power, w = width - 15, parameter.mantissas
        gradient = gradient + (w << power if power >= 0 else truncated(w, 1 << -power))
        width = bit_width(largest(gradient))
    s = width - mu - parameter.fraction_bits
    if width == 0:
        g = np.zeros_like(gradient)
    else:
        g = clamp(gradient if s < 1 else shift(gradient, s, rounding, drawn), limit)
    parameter.momentum = clamp(truncated(parameter.momentum * momentum16, 16) + g, limit)
    parameter.fine = parameter.fine - parameter.momentum
    parameter.settle()


def move_by_sgd(parameter, gradient, exponent, rate, decay, momentum256, looks_ahead, rounding, drawn):
    """Rate and decay are (mantissa, exponent); the fine weights move, within +-2^30."""

    def scaled(x, s):
        if s > 62:
            return np.zeros_like(x)
        return clamp(shift(x, s, rounding, drawn) if s > 0 else clamp(x, 2**30) << min(-s, 31), 2**30)

    coarse = 16 - parameter.fraction_bits
    a = scaled(clamp(gradient, 2**47) * rate[0], parameter.exponent - 16 - (exponent + rate[1]))
    a = a + scaled(parameter.fine * decay[0], -decay[1] - coarse)
    parameter.momentum = clamp(truncated(parameter.momentum * momentum256, 256) + a, 2**30)
    change = truncated(parameter.momentum * momentum256, 256) + a if looks_ahead else parameter.momentum
    if coarse > 0:
        change = clamp(shift(change, coarse, rounding, drawn << 16 & 0xFFFFFFFF), 2**30)
    parameter.fine = clamp(parameter.fine - change, 2**30)


def move_exponent(parameter):
    """After a step by sgd the exponent of a weight follows its largest entry."""
    most, limit = largest(parameter.fine), 127 << parameter.fraction_bits
    if most > limit:
        halvings = 1
        while shift(most, halvings) > limit:
            halvings += 1
        halvings = min(halvings, 16 - parameter.exponent)
        parameter.fine, parameter.momentum = shift(parameter.fine, halvings), shift(parameter.momentum, halvings)
        parameter.exponent += halvings
    elif 0 < most < 48 << parameter.fraction_bits and parameter.exponent > -48:
        parameter.fine, parameter.momentum = 2 * parameter.fine, clamp(2 * parameter.momentum, 2**30)
        parameter.exponent -= 1


def mu_after(text, epochs_done):
    """The entry of a schedule as 5,4@100,3@150 after so many epochs."""
    entries = [entry.split("@") for entry in text.split(",")]
    return [int(value) for value, *epoch in entries if int(epoch[0] if epoch else 0) <= epochs_done][-1]


class Average:
    """The mean of a parameter over samples of its steps."""

    def __init__(self, parameter, rule):
        self.parameter, self.rule, self.total, self.count = parameter, rule, 0, 0
        self.held = []  # means of a scale that came below its bound

    def add(self):
        self.count += 1
        if self.rule == "shift":
            self.total = self.total + self.parameter.mantissas
            return
        if self.count == 1:
            self.exponent = self.parameter.exponent
        up = self.parameter.exponent - self.exponent + 8
        fine = self.parameter.fine
        self.total = self.total + (fine << min(up, 24) if up >= 0 else shift(fine, -up))

    def finish(self):
        parameter, bits, s = self.parameter, self.parameter.fraction_bits, 0
        if self.rule == "sgd":
            fewest = max(bit_width(largest(self.total) // self.count) - 7, bits)
            s = {"weight": fewest, "bias": bits + 8}.get(parameter.kind, 8)
        count = self.count << s
        mean = np.sign(self.total) * ((np.abs(self.total) + count // 2) // count)
        if parameter.kind == "scale":
            is_held = np.abs(mean) < LEAST_SCALE
            mean = np.where(is_held, np.where(mean < 0, -LEAST_SCALE, LEAST_SCALE), mean)
            self.held = mean[is_held].tolist()
        if parameter.kind in ("scale", "shift"):
            parameter.fine = mean
        else:
            parameter.mantissas = clamp(mean)
            parameter.exponent = parameter.exponent if self.rule == "shift" else self.exponent - bits - 8 + s
