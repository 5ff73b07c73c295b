# SPDX-License-Identifier: Apache-2.0
"""What the tests share: numbers of every kind, and comparison by bits."""

import numpy as np

FORMATS = ["e4m3", "e5m2", "fp16", "fixed(8,4)", "int8(scale=0.05)", "posit(8,1)", "mxfp4", "nvfp4", "nf4", "bfp(8)"]
ROUNDINGS = ["nearest-even", "nearest-away", "toward-zero", "up", "down", "to-odd", "stochastic(16)", "stochastic"]


def mixed_values(count=4096, seed=1):
    """Any finite or infinite bit pattern, and normal numbers of many sizes."""
    random = np.random.default_rng(seed)
    patterns = random.integers(0, 2**32, count, dtype=np.uint64).astype(np.uint32).view(np.float32)
    sizes = np.exp2(random.integers(-12, 8, count)).astype(np.float32)
    normal = random.standard_normal(count).astype(np.float32) * sizes
    return np.concatenate([np.where(np.isnan(patterns), np.float32(0.5), patterns), normal])


def same_bits(a, b):
    """Equal bit by bit; any NaN equals any other."""
    a, b = np.asarray(a), np.asarray(b)
    if a.dtype != b.dtype or a.shape != b.shape:
        return False
    bits = np.dtype(f"u{a.dtype.itemsize}")
    equal = np.ascontiguousarray(a).view(bits) == np.ascontiguousarray(b).view(bits)
    return bool((equal | ((a != a) & (b != b))).all())
