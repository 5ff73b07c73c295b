# SPDX-License-Identifier: Apache-2.0
"""nibble.encode and nibble.decode."""

import pickle

import numpy as np
import pytest
from arrays import FORMATS, mixed_values, same_bits

import nibble

ALL = [*FORMATS, "uint8(scale=minmax)", "int4(scale=absmax,block=32)", "e3m2", "bf16", "posit(16,2)", "fp32"]


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("fmt", ALL)
def test_codes_come_back_as_the_quantized_values(fmt, packed):
    x = np.clip(mixed_values(700), -1e30, 1e30).reshape(7, -1)
    encoded = nibble.encode(x, fmt, packed=packed, rounding="stochastic", seed=2)
    assert same_bits(encoded.decode(), nibble.quantize(x, fmt, rounding="stochastic", seed=2))
    assert same_bits(nibble.decode(encoded), encoded.decode())
    again = nibble.decode(
        encoded.codes,
        fmt,
        scales=encoded.scales,
        zeros=encoded.zeros,
        tensor_scale=encoded.tensor_scale,
        packed=packed,
        shape=x.shape,
    )
    assert same_bits(again, encoded.decode())


def test_fields():
    x = np.float32([[1, -6, 3, 0.5]])
    plain = nibble.encode(x, "e2m1")
    assert plain.codes.tolist() == [[2, 15, 5, 1]] and plain.codes.dtype == np.uint8
    assert plain.scales is None and plain.zeros is None and plain.tensor_scale is None
    assert plain.format == nibble.Format("e2m1") and plain.shape == (1, 4) and not plain.packed
    packed = nibble.encode(x, "e2m1", packed=True)
    assert packed.codes.tolist() == [0xF2, 0x15] and packed.nbytes == 2
    nvfp4 = nibble.encode(np.ones((2, 40), np.float32), "nvfp4")
    assert nvfp4.scales.shape == (2, 3) and nvfp4.scales.dtype == np.float32 and nvfp4.tensor_scale.shape == ()
    affine = nibble.encode(np.float32([0, 1]), "uint8(scale=minmax)")
    assert affine.zeros.dtype == np.int32 and affine.zeros.shape == affine.scales.shape == ()
    assert nibble.encode(x, "fp16").codes.dtype == np.uint16 and nibble.encode(x, "tf32").codes.dtype == np.uint32


def test_posits_of_32_bits_decode_to_doubles():
    x = np.random.default_rng(1).standard_normal(100).astype(np.float32)
    values = nibble.encode(x, "posit(32,2)").decode()
    assert values.dtype == np.float64 and np.array_equal(values, x)  # 27 significant bits near 1


def test_strided_input_and_codes():
    x = mixed_values(64).reshape(16, 8)
    encoded = nibble.encode(x.T, "mxfp8")
    assert same_bits(encoded.decode(), nibble.quantize(x.T.copy(), "mxfp8"))
    codes = nibble.encode(x, "e4m3").codes
    assert same_bits(nibble.decode(codes.T, "e4m3"), nibble.decode(codes, "e4m3").T.copy())


def test_encoded_pickles():
    encoded = nibble.encode(mixed_values(64), "nvfp4", packed=True)
    assert same_bits(pickle.loads(pickle.dumps(encoded)).decode(), encoded.decode())


def test_a_format_may_give_the_tensors_scale():
    x = mixed_values(64)
    fmt = "nvfp4(tensor_scale=0.002)"
    encoded = nibble.encode(x, fmt)
    assert encoded.tensor_scale == np.float32(0.002)
    assert same_bits(nibble.decode(encoded.codes, fmt, scales=encoded.scales), nibble.quantize(x, fmt))
    assert same_bits(encoded.decode(), nibble.quantize(x, fmt))


def test_empty_arrays():
    for fmt in ("e4m3", "mxfp4", "int8"):
        encoded = nibble.encode(np.empty((0, 4), np.float32), fmt)
        assert encoded.codes.shape == (0, 4) and encoded.decode().shape == (0, 4)


def test_mistakes():
    x = np.float32([1, np.nan])
    codes = np.zeros(4, np.uint8)
    with pytest.raises(ValueError, match="NaN"):
        nibble.encode(x, "e2m1")
    with pytest.raises(ValueError, match="clamp"):
        nibble.encode(x, "fixed(8,4,clamp=off)")
    with pytest.raises(TypeError, match="packed"):
        nibble.encode(x, "e4m3", packed=1)
    with pytest.raises(TypeError, match="fmt"):
        nibble.decode(codes)
    with pytest.raises(TypeError, match="alone"):
        nibble.decode(nibble.encode(x, "e4m3"), "e4m3")
    with pytest.raises(ValueError, match="scales"):
        nibble.decode(codes, "mxfp4")
    with pytest.raises(ValueError, match="scales"):
        nibble.decode(codes, "mxfp4", scales=[1, 2])
    with pytest.raises(ValueError, match="tensor_scale"):
        nibble.decode(codes, "nvfp4", scales=[1])
    with pytest.raises(TypeError, match="uint16"):
        nibble.decode(codes, "fp16")
    with pytest.raises(ValueError, match="bytes of packed"):
        nibble.decode(codes, "e2m1", packed=True, shape=(9,))
    with pytest.raises(ValueError, match="shape"):
        nibble.decode(codes, "e2m1", shape=(5,))
    with pytest.raises(ValueError):
        nibble.decode(np.uint8([200]), "nf4", scales=[1])
    with pytest.raises(ValueError):
        nibble.decode(np.uint8([16]), "e2m1")
