# SPDX-License-Identifier: Apache-2.0
"""The laws of docs/integer-training.md on arrays of int64: shifts, draws, data, loss. No float but in byte_table."""

import math

import numpy as np

ORDER, HOLD_OUT, AUGMENTATION, FIRST_WEIGHTS, ERROR_OF_LOSS = 0xDA7A0001, 0xDA7A0002, 0xDA7A0003, 0x70000000, 0x80000000
DROPOUT = 0x60000000
ROUNDING_STREAMS = {"value": 0x50000000, "error": 0x50000001, "errors": 0x50000007, "loss": ERROR_OF_LOSS}


def bit_width(magnitude):
    return 0 if magnitude <= 1 else (int(magnitude) - 1).bit_length()


def largest(x):
    return int(np.abs(x).max(initial=0))


def clamp(x, limit=127):
    return np.clip(x, -limit, limit)


def truncated(x, divisor):
    """Division toward zero."""
    return np.sign(x) * (np.abs(x) // divisor)


def nearest_quotient(a, b):
    """R(a / b) of Python integers, b > 0: to the nearest, halves away from zero."""
    return (-1 if a < 0 else 1) * ((2 * abs(a) + b) // (2 * b))


# Randomness.


def words_of(seed, stream, step, groups):
    """The four 32-bit words of each of these groups (uint64) by Philox4x32-10."""
    low = np.uint64(0xFFFFFFFF)
    x = [groups & low, groups >> np.uint64(32), np.full_like(groups, step % 2**32), np.full_like(groups, stream)]
    keys = [seed % 2**32, seed >> 32]
    for _ in range(10):
        p0, p1 = np.uint64(0xD2511F53) * x[0], np.uint64(0xCD9E8D57) * x[2]
        k0, k1 = np.uint64(keys[0]), np.uint64(keys[1])
        x = [(p1 >> np.uint64(32)) ^ x[1] ^ k0, p1 & low, (p0 >> np.uint64(32)) ^ x[3] ^ k1, p0 & low]
        keys = [(keys[0] + 0x9E3779B9) % 2**32, (keys[1] + 0xBB67AE85) % 2**32]
    return np.stack(x, axis=-1).astype(np.int64)


def draws(seed, stream, step, elements):
    """The 32-bit draws of these elements."""
    groups, words = np.divmod(np.asarray(elements, np.int64), 4)
    return np.take_along_axis(words_of(seed, stream, step, groups.astype(np.uint64)), words[..., None], axis=-1)[..., 0]


def draws_of_all(seed, stream, step, shape):
    """The draws of the elements 0, 1, … of an array of that shape."""
    count = math.prod(shape)
    return words_of(seed, stream, step, np.arange(-(-count // 4), dtype=np.uint64)).ravel()[:count].reshape(shape)


# The three rounding shifts.


def shift(x, s, rounding="nearest", draw=None):
    """x / 2^s for 0 <= s <= 62, by the rounding's name; draw has the 32-bit draws of a stochastic one."""
    if s == 0:
        return x
    m = np.abs(x)
    t, r = m >> s, m & ((1 << s) - 1)
    if rounding == "nearest":
        up = r >= 1 << (s - 1)
    elif rounding == "stochastic":
        up = r > (draw >> (32 - s) if s <= 32 else draw << (s - 32))
    else:
        half = s // 2
        up = (r >> half) > (r & ((1 << half) - 1)) * (2 if s % 2 else 1)
    return np.sign(x) * (t + up)


def aligned(operands):
    """([numbers], their exponent) of pairs (mantissas, exponent)."""
    top = max(exponent for _, exponent in operands)
    common = min(exponent for _, exponent in operands if exponent >= top - 40)
    return [x << (e - common) if e >= common else 0 * x for x, e in operands], common


def aligned_sum(operands):
    """(sum, exponent) of pairs (mantissas, exponent)."""
    numbers, common = aligned(operands)
    return sum(numbers), common


# Data.


def order_of(count, seed, epoch, stream=ORDER):
    """The order of an epoch, by Fisher and Yates."""
    order = list(range(count))
    first = draws(seed, stream, epoch, np.arange(count))
    for i in range(count - 1, 0, -1):
        product, tries = int(first[i]) * (i + 1), 0
        while product % 2**32 < 2**32 % (i + 1):
            tries += 1
            product = int(draws(seed, stream, epoch, [i + tries * 2**32])[0]) * (i + 1)
        j = product >> 32
        order[i], order[j] = order[j], order[i]
    return np.array(order)


def in_training(count, seed, held_out):
    """The images that are not set aside, in ascending order."""
    aside = held_out * count // 1 if held_out < 1 else held_out
    return np.sort(order_of(count, seed, 0, HOLD_OUT)[int(aside):])


def augmented(images, indices, seed, epoch, crop, flip, cutout=0):
    """These images (n, rows, columns, channels), each by its own draws."""
    height, width = images.shape[1:3]
    drawn = [draws(seed, AUGMENTATION, epoch, 8 * indices + k) for k in range(5)]
    shift_y, shift_x = ((d * (2 * crop + 1) >> 32) - crop for d in drawn[:2])
    tops, lefts = ((d * extent >> 32) - cutout // 2 for d, extent in zip(drawn[3:], (height, width)))
    pictures = []
    for index, down, right, half, top, left in zip(indices, shift_y, shift_x, drawn[2] * 2 >> 32, tops, lefts):
        bordered = np.pad(images[index], ((crop, crop), (crop, crop), (0, 0)))
        cut = bordered[crop + down:crop + down + height, crop + right:crop + right + width]
        picture = cut[:, ::-1].copy() if flip and half else cut
        picture[max(top, 0):max(top + cutout, 0), max(left, 0):max(left + cutout, 0)] = 0
        pictures.append(picture)
    return np.stack(pictures)


def exponent_for(x):
    """Of a tensor of floats whose largest magnitude becomes a mantissa of 64 to 127, or 128."""
    fraction, exponent = math.frexp(np.abs(x).max())
    return exponent - 7 - (fraction == 0.5) if fraction else -7


def to_nearest(x):
    """Of f64, halves away from zero."""
    whole, fraction = np.divmod(np.abs(x), 1)
    return (np.sign(x) * (whole + (fraction >= 0.5))).astype(np.int64)


def moments_of(images):
    """Mean and deviation of each channel of images (n, rows, columns, channels) of bytes, in units of 255."""
    moments = []
    for channel in np.moveaxis(images, -1, 0).astype(np.int64):
        mean = int(channel.sum()) / channel.size
        variance = int((channel * channel).sum()) / channel.size - mean * mean
        moments.append((mean / 255, math.sqrt(variance) / 255 if variance > 0 else 1))
    return np.array(moments).T.astype(np.float32)


def byte_table(mean, deviation):
    """(mantissas [byte, channel], exponent) by mean and deviation of f32."""
    x = (np.arange(256)[:, None] / 255 - np.float64(mean)) / np.float64(deviation)
    exponent = exponent_for(x[[0, 255]])
    return clamp(to_nearest(x * 2.0**-exponent)), exponent


def first_weights(shape, seed, parameter):
    return (draws_of_all(seed, FIRST_WEIGHTS + parameter, 0, shape) * 255 >> 32) - 127


def first_exponent(fan_in, fan_out):
    k = -40
    while 6 * 4**40 > (fan_in + fan_out) * 4 ** (k + 40):
        k += 1
    return k - 7


# The loss.

OCTAVE = np.array([round(2 ** (15 + j / 256)) for j in range(256)], np.int64)


def loss_differences(answers, exponent, labels, form="fractional", smoothing=0.0):
    """d of the cross-entropy: 2^11 (softmax - target), one row an image."""
    e = min(max(exponent, -24), 16)
    if e <= -7:
        n = (1 << (1 - 2 * e)) + answers * (1 << (1 - e)) + answers * answers
    elif form == "fractional":
        z = answers * 47274
        z = z << e if e >= 0 else truncated(z, 1 << -e)
        z = np.maximum(z - (z.max(axis=1, keepdims=True) - 10 * 2**15), 0)
        n = ((OCTAVE[z % 2**15 // 128] << (z >> 15)) >> 5) - 1024
    else:
        z = truncated(answers * 47274, 1 << 15)
        z = z << e if e >= 0 else truncated(z, 1 << -e)
        z = np.maximum(z - (z.max(axis=1, keepdims=True) - 10), 0)
        n = (1 << z) - 1
    d = n * 2**11 // n.sum(axis=1, keepdims=True)
    share, total = np.float32(smoothing).as_integer_ratio()
    classes = answers.shape[1]
    q = nearest_quotient(share * 2**11, total * classes)
    d[np.arange(len(labels)), labels] -= d.sum(axis=1) - classes * q
    return d - q


def loss_error(answers, exponent, labels, seed, step, form="fractional", smoothing=0.0):
    """The mantissas of the answer's error; its exponent is -7."""
    d = loss_differences(answers, exponent, labels, form, smoothing)
    return clamp(shift(d, 4, "stochastic", draws_of_all(seed, ERROR_OF_LOSS, step, d.shape)))
