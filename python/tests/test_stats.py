# SPDX-License-Identifier: Apache-2.0
"""nibble.stats."""

import math

import numpy as np
import pytest

import nibble


def test_by_hand():
    x = np.float32([2.25, -0.1, 100, 1, np.inf])
    found = nibble.stats(x, "e2m1")  # 2, -0, 6, 1
    assert (found.elements, found.non_finite) == (5, 1)
    assert found.max_abs_error == 94 and found.share_saturated == 1 / 4 and found.share_flushed == 1 / 4
    errors = np.array([0.25, np.float64(np.float32(0.1)), 94, 0])
    assert math.isclose(found.mean_abs_error, errors.mean())
    assert math.isclose(found.mean_error, (-0.25 + errors[1] - 94) / 4)
    finite = x[:4].astype(np.float64)
    assert math.isclose(found.sqnr_db, 10 * math.log10((finite**2).sum() / (errors**2).sum()))


def test_of_what_was_quantized_before():
    x = np.random.default_rng(1).standard_normal((32, 48)).astype(np.float32)
    for fmt in ("e4m3", "mxfp4", "nf4", "int8(scale=absmax)"):
        quantized = nibble.quantize(x, fmt, rounding="stochastic", seed=4)
        assert nibble.stats(x, fmt, rounding="stochastic", seed=4) == nibble.stats(x, fmt, quantized=quantized)
        assert nibble.stats(x.T, fmt, quantized=x.T).sqnr_db == math.inf


def test_half_counts_as_its_values():
    x = np.random.default_rng(2).standard_normal(1000).astype(np.float16)
    assert nibble.stats(x, "e4m3") == nibble.stats(x.astype(np.float32), "e4m3")


def test_mistakes():
    x = np.ones(4, np.float32)
    with pytest.raises(ValueError, match="shape"):
        nibble.stats(x, "e4m3", quantized=x[:3])
    with pytest.raises(TypeError, match="quantized"):
        nibble.stats(x, "e4m3", quantized=x.tolist())
    with pytest.raises(TypeError, match="dtype"):
        nibble.stats(x.astype(np.float64), "e4m3")
