# SPDX-License-Identifier: Apache-2.0
"""Products of int8 with int32 sums against NumPy's own integers, and torch's gradients in float64, which are exact."""

import numpy as np
import pytest

import nibble
from nibble import integers

try:
    import torch
except ImportError:
    torch = None

KINDS = ["numpy"] + (["torch"] if torch else []) + (["cuda"] if torch and torch.cuda.is_available() else [])
GEOMETRIES = [
    dict(),
    dict(stride=2, padding=1),
    dict(stride=(2, 3), padding=(0, 2)),
    dict(padding=2, dilation=2),
    dict(stride=2, padding=1, dilation=(1, 2), groups=2),
]


def numbers(*shape, seed=0):
    return np.random.default_rng(seed).integers(-128, 128, shape).astype(np.int8)


def of_kind(kind, array):
    return array if kind == "numpy" else torch.from_numpy(array).to("cuda" if kind == "cuda" else "cpu")


def to_numpy(array):
    return array if isinstance(array, np.ndarray) else array.cpu().numpy()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("shape", [(1, 1, 1), (17, 5, 65), (3, 1000, 8), (40, 64, 24), (2, 0, 3), (0, 4, 3)])
def test_matrices(kind, shape):
    rows, depth, columns = shape
    a, b = numbers(rows, depth), numbers(depth, columns, seed=1)
    found = integers.matmul(of_kind(kind, a), of_kind(kind, b))
    assert type(found) is type(of_kind(kind, a)) and "int32" in str(found.dtype)
    assert np.array_equal(to_numpy(found), a.astype(np.int32) @ b.astype(np.int32))
    assert np.array_equal(to_numpy(integers.matmul(of_kind(kind, b).T, of_kind(kind, a).T)), to_numpy(found).T)


@pytest.mark.skipif(torch is None, reason="torch's gradients are what is compared with")
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("geometry", GEOMETRIES, ids=str)
def test_convolutions_and_both_gradients(kind, geometry):
    x, weight = numbers(3, 4, 9, 11), numbers(6, 4 // geometry.get("groups", 1), 3, 2, seed=1)
    wide = [torch.from_numpy(each).double().requires_grad_() for each in (x, weight)]
    y = torch.nn.functional.conv2d(*wide, **geometry)
    error = numbers(*y.shape, seed=2)
    y.backward(torch.from_numpy(error).double())
    x_, weight_, error_ = (of_kind(kind, each) for each in (x, weight, error))
    pairs = [
        (integers.conv2d(x_, weight_, **geometry), y.detach()),
        (integers.conv2d_input_gradient(error_, weight_, x.shape, **geometry), wide[0].grad),
        (integers.conv2d_weight_gradient(error_, x_, weight.shape, **geometry), wide[1].grad),
    ]
    for found, expected in pairs:
        assert "int32" in str(found.dtype) and np.array_equal(to_numpy(found), expected.numpy())


def test_sums_that_may_leave_int32_are_refused():
    a = np.full((1, integers.SAFE_DEPTH + 1), -128, np.int8)
    with pytest.raises(nibble.Error, match="sums of 131072 products: may leave int32"):
        integers.matmul(a, a.T)
    assert integers.matmul(a, np.full_like(a.T, 127))[0, 0] == -131072 * 128 * 127


def test_errors_say_what_was_expected():
    a = numbers(2, 3)
    with pytest.raises(nibble.Error, match="dtype: got int32, expected int8"):
        integers.matmul(a.astype(np.int32), a)
    with pytest.raises(nibble.Error, match=r"got \(2, 3\) and \(2, 3\), expected \(m, k\) and \(k, n\)"):
        integers.matmul(a, a)
    with pytest.raises(nibble.Error, match="got list"):
        integers.matmul([[1]], a)
    x, weight = numbers(1, 2, 4, 4), numbers(4, 2, 3, 3)
    with pytest.raises(nibble.Error, match="in 2 groups, expected"):
        integers.conv2d(x, weight, groups=2)
    with pytest.raises(nibble.Error, match="kernel larger than the picture"):
        integers.conv2d(x, weight, dilation=3)
    with pytest.raises(nibble.Error, match=r"error's shape: got \(1, 2, 4, 4\), expected \(1, 4, 2, 2\)"):
        integers.conv2d_input_gradient(x, weight, x.shape)
