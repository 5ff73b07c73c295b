# SPDX-License-Identifier: Apache-2.0
"""Rates and schedules of docs/integer-training.md: rationals that are rounded to mantissas, never floats."""

import re
from fractions import Fraction

ONE = 2**30  # of shares


def of_bits(number, bits):
    """(mantissa of so many bits, exponent) nearest to a number that is not negative; (0, 0) for 0."""
    number = Fraction(number)
    if number == 0:
        return 0, 0
    exponent = number.numerator.bit_length() - number.denominator.bit_length() - bits
    while number >= Fraction(2) ** (exponent + bits):
        exponent += 1
    mantissa = to_nearest(number / Fraction(2) ** exponent)
    return (mantissa, exponent) if mantissa < 1 << bits else (mantissa // 2, exponent + 1)


def to_nearest(number):
    """Of a number that is not negative, halves up."""
    return int(Fraction(number) + Fraction(1, 2))


def rounded_to(number, bits):
    mantissa, exponent = of_bits(number, bits)
    return mantissa * Fraction(2) ** exponent


def half_cosine(t):
    """c(t) = (1 + cos pi t) / 2, all in units of 2^-30."""
    if t >= ONE // 2:
        return ONE // 2 if t == ONE // 2 else ONE - half_cosine(ONE - t)
    x = t * 1686629713 >> 30
    y, z = ONE, x * x >> 30
    for k in (90, 56, 30, 12, 2):
        y = ONE - (z * y >> 30) // k
    return y * y >> 30


def passed(a, b):
    """[a / b]"""
    return min(max(a, 0), b) * ONE // b


def up(low, share):
    return low + ((ONE - low) * share >> 30)


def share_of(number):
    return to_nearest(Fraction(number) * ONE)


def epochs_of(number):
    return to_nearest(Fraction(number) * 2**16)


def of_share(rate, share):
    return rounded_to(rate * Fraction(share, ONE), 30)


class Words:
    """NAME(a,b,key=c): the numbers, those with a key, and words."""

    def __init__(self, text):
        self.name, _, inner = text.rstrip(")").partition("(")
        parts = [part for part in re.split("[,;]", inner) if part]
        self.keys = dict(part.split("=") for part in parts if "=" in part)
        self.parts = [part for part in parts if "=" not in part]

    def numbers(self, *usual):
        """Decimal numbers as f64 has them, exactly; the usual ones where none is written."""
        return [float(part) for part in self.parts] + list(usual[len(self.parts):])


def rate_at(rate, schedule, step, steps_an_epoch, epochs):
    """The rate of a step by the text of a schedule."""
    rate = rounded_to(rate, 30)
    whole = step // steps_an_epoch << 16
    now, end = whole + (step % steps_an_epoch << 16) // steps_an_epoch, epochs << 16
    before, _, text = schedule.rpartition("+")
    warm_up, words = Words(before), Words(text)
    length = epochs_of(warm_up.numbers(0)[0]) if "steps" not in warm_up.parts else (
        epochs_of(warm_up.parts[0]) // steps_an_epoch)
    seen = whole if words.keys.get("by") == "epoch" else now
    if words.name == "step":
        milestones, _, factor = text[5:-1].partition(";")
        for milestone in milestones.split(","):
            if epochs_of(float(milestone)) <= now:
                rate = rounded_to(rate * rounded_to(float(factor or 0.1), 30), 30)
    elif words.name == "values":
        for epoch, value in (part.split(":") for part in words.parts):
            if epochs_of(float(epoch)) <= now:
                rate = rounded_to(float(value), 30)
    elif words.name == "cosine":
        (low,) = map(share_of, words.numbers(0))
        if end > length:
            rate = of_share(rate, up(low, half_cosine(passed(seen - length, end - length))))
    elif words.name == "linear":
        first, last, low = map(share_of, words.numbers(0.5, 0.9, 0.01))
        t = passed(seen, max(epochs_of(float(words.keys["over"])), 1) if "over" in words.keys else end)
        rate = of_share(rate, up(low, ONE - passed(t - first, max(last - first, 1))))
    elif words.name == "onecycle":
        peak, start, low = map(share_of, words.numbers(0.3, 0.04, 4e-6))
        t = passed(now, end)
        share = up(start, ONE - half_cosine(passed(t, peak))) if t < peak else up(low, half_cosine(passed(t - peak, ONE - peak)))
        rate = of_share(rate, share)
    elif words.name != "constant":
        raise ValueError(schedule)
    if now >= length:
        return rate
    return of_share(rate, up(share_of(float(warm_up.keys.get("start", 0))), passed(now, length)))


def step_rates(rate, weight_decay, images):
    """Rate and decay of a step as (mantissa of 15 bits, exponent): errors are sums over the images of the batch."""
    mantissa, exponent = of_bits(rate, 30)
    by_image = Fraction((mantissa << 31) // images) * Fraction(2) ** (exponent - 31)
    decay = rounded_to(rate * rounded_to(weight_decay, 30), 30)
    return of_bits(rounded_to(by_image, 30), 15), of_bits(decay, 15)
