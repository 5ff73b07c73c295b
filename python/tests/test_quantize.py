# SPDX-License-Identifier: Apache-2.0
"""nibble.quantize on NumPy arrays: values, options, memory."""

import numpy as np
import pytest
from arrays import FORMATS, ROUNDINGS, mixed_values, same_bits

import nibble


def test_what_the_command_prints():
    x = np.float32([3.14159])
    expected = {"fp16": 3.140625, "e5m2": 3, "e4m3": 3.25, "e2m1": 3, "int4": 3, "fixed(8,4)": 3.125, "posit(8,1)": 3.125}
    assert {fmt: float(nibble.quantize(x, fmt)[0]) for fmt in expected} == expected


@pytest.mark.parametrize("rounding", ROUNDINGS)
@pytest.mark.parametrize("fmt", FORMATS)
def test_values_already_in_the_format_stay(fmt, rounding):
    held = nibble.quantize(np.float32([0.5, 1, -1, 2, 0]), fmt)
    assert same_bits(nibble.quantize(held, fmt, rounding=rounding, seed=3), held)


def test_every_rounding_between_two_neighbours():
    x = np.float32([2.25, -2.25, 2.75, 2.5, -2.5])  # e2m1 has 2 and 3
    results = {
        "nearest-even": [2, -2, 3, 2, -2],
        "nearest-away": [2, -2, 3, 3, -3],
        "toward-zero": [2, -2, 2, 2, -2],
        "up": [3, -2, 3, 3, -2],
        "down": [2, -3, 2, 2, -3],
        "to-odd": [3, -3, 3, 3, -3],
    }
    for rounding, expected in results.items():
        assert nibble.quantize(x, "e2m1", rounding=rounding).tolist() == expected, rounding


def test_stochastic_rounding_is_fair_and_repeats():
    x = np.full(100000, 2.25, np.float32)
    one = nibble.quantize(x, "e2m1", rounding="stochastic", seed=1)
    assert abs(one.mean() - 2.25) < 0.01 and set(one.tolist()) == {2, 3}
    assert same_bits(one, nibble.quantize(x, "e2m1", rounding="stochastic", seed=1))
    for other in ({"seed": 2}, {"seed": 1, "step": 1}, {"seed": 1, "stream": 1}, {"seed": 2**64 - 1}):
        assert not same_bits(one, nibble.quantize(x, "e2m1", rounding="stochastic", **other))


def test_overflow_rules():
    x = np.float32([1e9, -np.inf])
    assert nibble.quantize(x, "fp16").tolist() == [np.inf, -np.inf]
    assert nibble.quantize(x, "fp16", overflow="saturate").tolist() == [65504, -65504]
    assert np.isnan(nibble.quantize(x, "e4m3", overflow="nan")).all()
    with pytest.raises(ValueError):
        nibble.quantize(x, "e4m3", overflow="infinity")


def test_scales_and_zeros_beside_the_data():
    x = np.float32([[0.1, 0.2], [1, 2]])
    given = nibble.quantize(x, "int8(axis=0)", scales=[0.1, 1])
    assert np.allclose(given, x) and same_bits(given, nibble.quantize(x, "int8(axis=0)", scales=np.array([0.1, 1])))
    shifted = nibble.quantize(x, "uint8(axis=0)", scales=[0.1, 1], zeros=[1, 255])
    assert np.allclose(shifted, [[0.1, 0.2], [0, 0]])
    with pytest.raises(ValueError):
        nibble.quantize(x, "e4m3", scales=[1])


def test_compat_is_another_package():
    x = np.float32([2.5, 1e9])
    answers = {"none": [2, 6], "qtorch": [3, 6], "qtorch-bits": [3, 6], "qtorch+": [3, 3]}
    assert {name: nibble.quantize(x, "e2m1", compat=name).tolist() for name in answers} == answers
    with pytest.raises(ValueError, match="compat"):
        nibble.quantize(x, "e4m3", compat="pytorch")


@pytest.mark.parametrize("fmt", FORMATS)
@pytest.mark.parametrize("rounding", ["nearest-even", "stochastic(16)"])
def test_strides_do_not_matter(fmt, rounding):
    x = mixed_values(3 * 5 * 64).reshape(6, 5, 64)
    views = [x.T, x[::2], x[:, ::-1, 1::3], x.transpose(1, 0, 2), np.broadcast_to(x[:1], x.shape), x[0, 0, :0]]
    for view in views:
        expected = nibble.quantize(np.ascontiguousarray(view), fmt, rounding=rounding, seed=5)
        got = nibble.quantize(view, fmt, rounding=rounding, seed=5)
        assert same_bits(np.ascontiguousarray(got), expected)
        out = np.empty((*view.shape, 2), np.float32)[..., 0]
        assert nibble.quantize(view, fmt, rounding=rounding, seed=5, out=out) is out
        assert same_bits(np.ascontiguousarray(out), expected)


def test_unaligned_and_structured_memory():
    x = mixed_values(100)
    record = np.zeros(200, dtype=[("skip", "u1"), ("x", "<f4")])
    record["x"] = x
    assert same_bits(nibble.quantize(record["x"], "e4m3"), nibble.quantize(x, "e4m3"))
    nibble.quantize(x, "e5m2", out=record["x"])
    assert same_bits(np.ascontiguousarray(record["x"]), nibble.quantize(x, "e5m2"))
    assert not record["skip"].any()


@pytest.mark.parametrize("fmt", FORMATS)
def test_half_is_rounded_from_its_exact_values(fmt):
    with np.errstate(over="ignore"):
        x = mixed_values(500).astype(np.float16)
    got = nibble.quantize(x, fmt)
    assert got.dtype == np.float16
    wide = nibble.quantize(x.astype(np.float32), fmt)
    with np.errstate(over="ignore"):
        assert same_bits(got, wide.astype(np.float16))
    out = np.empty(x.shape, np.float32)
    assert same_bits(nibble.quantize(x, fmt, out=out), wide)


def test_in_place():
    x = mixed_values(1000)
    expected = nibble.quantize(x, "mxfp8")
    assert nibble.quantize(x, "mxfp8", out=x) is x and same_bits(x, expected)
    strided = np.repeat(mixed_values(1000), 2)[::2]
    expected = nibble.quantize(strided, "nvfp4")
    nibble.quantize(strided, "nvfp4", out=strided)
    assert same_bits(np.ascontiguousarray(strided), np.ascontiguousarray(expected))


def test_overlap_is_refused_and_neighbours_are_not():
    x = mixed_values(512).reshape(32, 32)[:16, :16].copy()
    overlapping = [(x[1:], x[:-1]), (x, x.T), (x[:, 1:], x[:, :-1]), (x, x[::-1]), (x.view(np.float16)[:, :16], x)]
    for source, out in overlapping:
        with pytest.raises(ValueError, match="overlaps"):
            nibble.quantize(source, "e4m3", out=out)
    for source, out in [(x[:8], x[8:]), (x[:, :8], x[:, 8:]), (x[:, ::2], x[:, 1::2])]:
        expected = nibble.quantize(np.ascontiguousarray(source), "e4m3")
        nibble.quantize(source, "e4m3", out=out)
        assert same_bits(np.ascontiguousarray(out), expected)


def test_outputs_that_cannot_take_the_result():
    x = mixed_values(8)
    frozen = np.empty(16, np.float32)
    frozen.flags.writeable = False
    shared = np.lib.stride_tricks.as_strided(np.empty(4, np.float32), (16,), (0,), writeable=True)
    for out, error in [
        (frozen, ValueError),
        (shared, ValueError),
        (np.empty(15, np.float32), ValueError),
        (np.empty(16, np.float64), TypeError),
        (np.empty(16, np.float16), TypeError),
        ([0.0] * 16, TypeError),
    ]:
        with pytest.raises(error) as caught:
            nibble.quantize(x, "e4m3", out=out)
        assert "out" in str(caught.value) and "\n" not in str(caught.value)


def test_small_shapes():
    assert nibble.quantize(np.array(0.3, np.float32), "e4m3").shape == ()
    assert nibble.quantize(np.empty((0, 3), np.float32), "mxfp4").shape == (0, 3)
    assert nibble.quantize(np.ones((1,) * 8, np.float32), "e4m3").shape == (1,) * 8
    with pytest.raises(ValueError, match="rank"):
        nibble.quantize(np.ones((1,) * 9, np.float32), "e4m3")


@pytest.mark.parametrize("dtype", ["float64", "int32", "complex64", "bool", ">f4", "U3", "O", "V8", "M8[s]", "longdouble"])
def test_other_types_are_refused(dtype):
    with pytest.raises(TypeError, match="expected float32, float16 or bfloat16"):
        nibble.quantize(np.zeros(3, dtype), "e4m3")


def test_subclasses_keep_their_class(tmp_path):
    x = np.memmap(tmp_path / "x", np.float32, "w+", shape=(8,))
    assert type(nibble.quantize(x, "e4m3")) is type(np.empty_like(x))
