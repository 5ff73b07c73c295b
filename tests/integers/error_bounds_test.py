# SPDX-License-Identifier: Apache-2.0
"""The error bounds of batch norms that docs/integer-training.md states, against exact rationals.

Of the second implementation, and of what the command wrote and answered. A square root is no rational: 1/σ is held between two
of them, 2^-200 apart. What is compared is linear in 1/σ, so that a bound that holds at both ends holds for the number itself.
"""

import random
from dataclasses import dataclass
from fractions import Fraction
from math import isqrt

import numpy as np
from batch_norm import (LEAST_SCALE, MOST, channel_of, frozen_bias, frozen_multiplier, line_of, plane_of, scale_gradient,
                        sign)
from files import ANSWERED, IMAGES, TRAIN_IMAGES, exponent_of, model_of
from laws import bit_width, byte_table, clamp, moments_of, shift
from second_implementation import pictures_of
from train_case import TrainCase, main

HALF, MOST_VALUE = Fraction(1, 2), 32767


def power(exponent):
    return Fraction(2) ** exponent


@dataclass
class Numbers:
    """The values and errors of a channel: `counts` of each pair."""

    v: list
    e: list
    counts: list

    def sum_of(self, term):
        return sum(n * term(v, e) for v, e, n in zip(self.v, self.e, self.counts))


class Real:
    """The real batch norm of numbers v, in their unit."""

    def __init__(self, count, total, squares, exponent):
        self.mean = Fraction(total, count)
        epsilon = min(max(-17 - 2 * exponent, 0), 30)
        self.variance = Fraction(squares, count) - self.mean**2 + 2**epsilon
        below = isqrt((self.variance.denominator << 400) // self.variance.numerator)
        self.inverses = [Fraction(below, 2**200), Fraction(below + 1, 2**200)]  # of the deviation


class BoundsCase(TrainCase):
    def is_within(self, distance, bound, what):
        self.assertLessEqual(abs(distance), bound, what)

    def check_statistics(self, channel, real):
        self.is_within(channel.mean - 2**15 * real.mean, HALF, "mean")
        self.assertEqual(channel.variance, 2**30 * real.variance // 1)
        self.assertTrue(channel.deviation**2 <= 2**30 * real.variance < (channel.deviation + 1) ** 2)

    def check_multiplier(self, multiplier, exact, deviation):
        self.assertTrue(-HALF <= multiplier - exact <= HALF + exact / deviation, (multiplier, deviation))

    def check_frozen(self, channel, real, scale, offset, z, sums):
        """Checks (±S + bias)·multiplier, in units of 2^-(z + 1); [(real value, bound)] of all sums, for both ends of 1/σ."""
        bias, multiplier = frozen_bias(channel, scale, offset), frozen_multiplier(channel, scale, z)
        of_bias = HALF + 2**channel.lift * (Fraction(abs(offset), abs(scale)) * power(-15) + power(-16))
        values = []
        for inverse in real.inverses:
            exact = abs(scale) * power(z - 15 - channel.lift) * inverse
            self.check_multiplier(multiplier, exact, channel.deviation)
            exact_bias = (Fraction(offset, abs(scale)) / inverse - sign(scale) * real.mean) * 2**channel.lift
            if abs(bias) == 2**30:
                self.assertGreaterEqual(abs(exact_bias) + of_bias, 2**30)
                continue
            self.is_within(bias - exact_bias, of_bias, "bias")
            for s in sums:
                signed = sign(scale) * s
                value = ((s * power(-channel.lift) - real.mean) * inverse * scale + offset) * power(-16)
                bound = abs(signed + bias) * (HALF + exact / channel.deviation) + exact * of_bias
                self.is_within((signed + bias) * multiplier - value * power(z + 1), bound, "frozen")
                values.append((value, bound * power(-z - 1)))
        return values


class Laws(BoundsCase):
    def check(self, numbers, exponent, scale, offset, lift=0):
        count, total = sum(numbers.counts), numbers.sum_of(lambda v, e: v)
        squares, errors = numbers.sum_of(lambda v, e: v * v), numbers.sum_of(lambda v, e: e)
        products = numbers.sum_of(lambda v, e: e * v)
        channel, real = channel_of(count, total, squares, exponent, lift), Real(count, total, squares, exponent)
        self.check_statistics(channel, real)
        line = m, addend, t = line_of(channel, scale, offset)
        self.assertTrue(2**13 <= abs(m) <= 2**15 and abs(addend) < 2**46 and -37 <= t <= -7)
        a, w, c = plane_of(channel, line, errors, products)
        self.assertTrue(abs(a) <= 2**23 and abs(w) < 2**31 and abs(c) < 2**48)
        tilt = Fraction(products, count) - real.mean * Fraction(errors, count)  # T / N²
        along = tilt / real.variance
        gradient = scale_gradient(channel, errors, products)
        points = list(zip(numbers.v, numbers.e))[:12] + [(v, e) for v in (-MOST_VALUE, MOST_VALUE) for e in (-127, 127)]
        for inverse in real.inverses:
            exact = scale * power(-16 - t) * inverse  # γ / σ in units of 2^t
            self.check_multiplier(abs(m), abs(exact), channel.deviation)
            self.is_within(m - exact, Fraction(3, 2), "multiplier")
            for v, e in points:
                distance = v - real.mean
                value = exact * distance + offset * power(-16 - t)
                self.is_within(m * v + addend - value, Fraction(3, 2) * (abs(distance) + 1), "value")
                about = e - Fraction(errors, count)
                bound = 384 * abs(about) + (385 * abs(along) + 256 / real.variance + 1) * abs(distance)
                self.is_within(a * e + w * v + c - 256 * exact * (about - along * distance),
                               bound + 129 * abs(along) + 1, "error")
            wanted = abs(tilt) * count * inverse
            self.assertTrue(-2 < abs(gradient) - wanted <= wanted / channel.deviation, "gradient")
        self.check_frozen(channel, real, scale, offset, lift + 20, [v << lift for v, _ in points])

    def drawn(self, chance):
        scale = chance.choice([LEAST_SCALE, MOST, 2 ** chance.randint(8, 22), 2 ** chance.randint(9, 22) - 1,
                               chance.randint(LEAST_SCALE, MOST)])
        offset = chance.choice([0, MOST, chance.randint(0, MOST), chance.randint(0, 2**16)])
        return (chance.randint(-40, 10), scale * chance.choice([-1, 1]), offset * chance.choice([-1, 1]),
                chance.randint(0, 12))

    def test_a_few_numbers_many_times(self):
        """Up to 2^31 - 1 numbers of a few values, with all that is extreme."""
        chance = random.Random(21)
        for _ in range(400):
            kinds = chance.randint(1, 6)
            spread = chance.choice([1, 2, 300, MOST_VALUE])
            center = chance.randint(spread - MOST_VALUE, MOST_VALUE - spread)
            ends = [center - spread, center + spread]
            v = [chance.choice([*ends, chance.randint(*ends)]) for _ in range(kinds)]
            e = [chance.choice([-127, 127, 0, 127 * sign(each - center), chance.randint(-127, 127)]) for each in v]
            most = 2 ** chance.randint(0, 31) // kinds
            counts = [chance.choice([1, max(most - 1, 1), chance.randint(1, max(most - 1, 1))]) for _ in v]
            self.assertLess(sum(counts), 2**31)
            with self.subTest(v=v, e=e, counts=counts):
                self.check(Numbers(v, e, counts), *self.drawn(chance))

    def test_many_numbers(self):
        """Up to 2^18 numbers, each by itself."""
        chance, rng = random.Random(1), np.random.default_rng(1)
        for bits in (1, 4, 8, 12, 18):
            for spread in (3, 2000, MOST_VALUE):
                v = clamp(np.rint(rng.normal(rng.integers(-9000, 9000), spread / 3, 2**bits)), MOST_VALUE).astype(int)
                e = clamp(rng.integers(-127, 128, 2**bits) + 60 * np.sign(v)).astype(int)
                self.check(Numbers(v.tolist(), e.tolist(), [1] * 2**bits), *self.drawn(chance))


class Command(BoundsCase):
    def trained(self, layers):
        """(tensors, nodes, exponent of the input, mantissas of all pictures) of a model that the command trained."""
        text = self.folder / "net.toml"
        text.write_text(f'input = [8, 8, 1]\nlayers = [{layers}  {{ op = "softmax_cross_entropy" }},\n]\n')
        folder, _, _ = self.train("run", "--arith", "int8", "--epochs", "1", network=text)
        network, tensors = model_of(folder / "model.nib")
        table, exponent = byte_table(*moments_of(IMAGES[:TRAIN_IMAGES]))
        return folder, tensors, network["nodes"], exponent, pictures_of(IMAGES, table, exponent).mantissas

    def channels_of(self, sums, weight, exponent, tensors):
        """(statistics in the model, the real ones, γ, β, sums) of each channel; sums are of the images that calibrate."""
        for i, h in enumerate(max(bit_width(127 * int(np.abs(row).sum())) - 15, 0) for row in weight.astype(int)):
            v = clamp(shift(sums[..., i], h), MOST_VALUE)
            by_sums = v.size, int(v.sum()), int((v * v).sum()), exponent + h
            channel, real = channel_of(*by_sums, h), Real(*by_sums)
            channel.mean = int(tensors["norm.mean"][i])
            channel.spread += int(tensors["norm.variance"][i]) - channel.variance
            yield channel, real, int(tensors["norm.scale"][i]), int(tensors["norm.shift"][i])

    def test_the_statistics_of_65536_numbers(self):
        _, tensors, nodes, exponent, pictures = self.trained(
            '{ op = "conv2d", name = "conv", channels = 6, kernel = 3, padding = 1 },\n{ op = "batch_norm", name = "norm" },\n'
            '{ op = "relu" }, { op = "global_average_pool" }, { op = "linear", name = "fc", features = 10 },\n')
        weight = tensors["conv.weight"].astype(int)
        padded = np.pad(pictures[:1024, ..., 0], ((0, 0), (1, 1), (1, 1)))
        sums = sum(padded[:, y:y + 8, x:x + 8, None] * weight[:, y, x, 0] for y in range(3) for x in range(3))
        for channel, real, _, _ in self.channels_of(sums, weight.reshape(6, -1), exponent + exponent_of(nodes[1]["weight"]),
                                                    tensors):
            self.assertEqual(channel.count, 2**16)
            self.check_statistics(channel, real)

    def test_the_answers_of_a_frozen_norm(self):
        folder, tensors, nodes, exponent, pictures = self.trained(
            '{ op = "conv2d", name = "conv", channels = 10, kernel = 8 },\n{ op = "batch_norm", name = "norm" }, { op = "flatten" },\n')
        weight = tensors["conv.weight"].reshape(10, 64).astype(int)
        sums, shown = pictures.reshape(-1, 64) @ weight.T, IMAGES[-ANSWERED:]
        self.done("run", folder / "model.nib", "--input", self.save("pictures.npy", shown), "--output", self.output)
        answers, of_values = np.load(self.output).reshape(ANSWERED, 10), exponent_of(nodes[2]["value"])
        channels = list(self.channels_of(sums[:1024], weight, exponent + exponent_of(nodes[1]["weight"]), tensors))
        z = 61 - of_values
        while max(frozen_multiplier(channel, scale, z) for channel, _, scale, _ in channels) > 2**30:
            z -= 1
        for i, (channel, real, scale, offset) in enumerate(channels):
            self.check_statistics(channel, real)
            told = [int(each) for each in sums[-ANSWERED:, i]]
            values = self.check_frozen(channel, real, scale, offset, z, told)
            self.assertEqual(len(values), 2 * ANSWERED)
            for k, (value, bound) in enumerate(values):
                answer = int(answers[k % ANSWERED, i])
                held = min(max(value * power(-of_values), -127), 127)
                self.is_within(answer - held, HALF + bound * power(-of_values), "answer")


if __name__ == "__main__":
    main()
