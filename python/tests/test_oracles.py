# SPDX-License-Identifier: Apache-2.0
"""Values beside ml_dtypes and the nibble command."""

import os
import subprocess

import numpy as np
import pytest
from arrays import FORMATS, ROUNDINGS, mixed_values, same_bits

import nibble

ML_NAMES = {
    "e4m3": "float8_e4m3fn",
    "e5m2": "float8_e5m2",
    "e4m3fnuz": "float8_e4m3fnuz",
    "e5m2fnuz": "float8_e5m2fnuz",
    "e4m3b11fnuz": "float8_e4m3b11fnuz",
    "e3m4": "float8_e3m4",
    "e3m2": "float6_e3m2fn",
    "e2m3": "float6_e2m3fn",
    "e2m1": "float4_e2m1fn",
    "bf16": "bfloat16",
    "fp16": None,
}


@pytest.mark.parametrize("fmt", ML_NAMES)
def test_ml_dtypes_agrees_within_the_range(fmt):
    ml_dtypes = pytest.importorskip("ml_dtypes")
    dtype = np.dtype(np.float16 if ML_NAMES[fmt] is None else getattr(ml_dtypes, ML_NAMES[fmt]))
    x = mixed_values(1 << 15)
    x = x[np.abs(x) <= nibble.Format(fmt).max]
    ours = nibble.quantize(x, fmt)
    theirs = x.astype(dtype).astype(np.float32)
    assert np.array_equal(ours, theirs)  # ml_dtypes drops the sign of zero in some
    held = nibble.Format(fmt).values()
    finite = held[np.isfinite(held)].astype(np.float32)
    codes = nibble.encode(finite, fmt).codes
    nonzero = finite != 0
    assert np.array_equal(codes[nonzero], finite.astype(dtype).view(f"u{dtype.itemsize}")[nonzero])


def test_bfloat16_arrays_of_ml_dtypes():
    ml_dtypes = pytest.importorskip("ml_dtypes")
    x = mixed_values(500).astype(ml_dtypes.bfloat16)
    got = nibble.quantize(x, "e4m3")
    assert got.dtype == x.dtype
    assert same_bits(got, nibble.quantize(x.astype(np.float32), "e4m3").astype(x.dtype))
    strided = x.reshape(10, -1).T
    assert same_bits(np.ascontiguousarray(nibble.quantize(strided, "mxfp4")), nibble.quantize(strided.copy(), "mxfp4"))
    assert nibble.quantize(x, "e5m2", out=x) is x
    assert nibble.encode(x, "e4m3").codes.shape == x.shape and nibble.stats(x, "e4m3").elements == x.size
    with pytest.raises(TypeError):
        nibble.quantize(x.astype(ml_dtypes.float8_e4m3fn), "e4m3")


@pytest.mark.skipif("NIBBLE_BIN" not in os.environ, reason="the nibble command is not there")
@pytest.mark.parametrize("rounding", ROUNDINGS)
@pytest.mark.parametrize("fmt", FORMATS)
def test_the_command_agrees(fmt, rounding, tmp_path):
    x = mixed_values(1000).reshape(-1, 50)
    np.save(tmp_path / "x.npy", x)
    draws = ["--seed", "7", "--step", "2", "--stream", "3"] if rounding.startswith("stochastic") else []
    options = ["--rounding", rounding, *draws]
    command = [os.environ["NIBBLE_BIN"], "round", "--to", fmt, *options, tmp_path / "x.npy", tmp_path / "y.npy"]
    subprocess.run(command, check=True)
    assert same_bits(nibble.quantize(x, fmt, rounding=rounding, seed=7, step=2, stream=3), np.load(tmp_path / "y.npy"))
