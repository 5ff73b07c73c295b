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

KINDS = ["numpy"] + (["torch", "stand-in"] if torch else []) + (["cuda"] if torch and torch.cuda.is_available() else [])
needs_torch = pytest.mark.skipif(torch is None, reason="needs torch")
GEOMETRIES = [
    dict(),
    dict(stride=2, padding=1),
    dict(stride=(2, 3), padding=(0, 2)),
    dict(padding=2, dilation=2),
    dict(stride=2, padding=1, dilation=(1, 2), groups=2),
]
DEPTH = 256 * 32 * 32  # products in a sum of a weight's gradient: 256 pictures of 32 x 32 places


def numbers(*shape, seed=0):
    return np.random.default_rng(seed).integers(-128, 128, shape).astype(np.int8)


def of_kind(kind, array):
    return array if kind == "numpy" else torch.from_numpy(array).to("cuda" if kind == "cuda" else "cpu")


def to_numpy(array):
    return array if isinstance(array, np.ndarray) else array.cpu().numpy()


def cublas(a, b):
    """What cuBLAS takes and gives."""
    assert a.shape[0] > 16 and a.shape[1] % 8 == 0 and b.shape[1] % 8 == 0
    assert a.is_contiguous() and b.t().is_contiguous()
    if b.shape[1] > 1 << 17:
        raise RuntimeError("CUDA error: CUBLAS_STATUS_NOT_SUPPORTED when calling cublasLtMatmul")
    return (a.double() @ b.double()).to(torch.int32)


@pytest.fixture(params=KINDS)
def kind(request, monkeypatch):
    """stand-in: what a GPU's tensors go through, on the CPU."""
    if request.param == "stand-in":
        monkeypatch.setattr(integers, "_Numpy", integers._Torch)
        monkeypatch.setattr(torch, "_int_mm", cublas, raising=False)
    return request.param


@pytest.mark.parametrize("shape", [(1, 1, 1), (17, 5, 65), (3, 1000, 8), (40, 64, 24), (2, 0, 3), (0, 4, 3)])
def test_matrices(kind, shape):
    rows, depth, columns = shape
    a, b = numbers(rows, depth), numbers(depth, columns, seed=1)
    found = integers.matmul(of_kind(kind, a), of_kind(kind, b))
    assert type(found) is type(of_kind(kind, a)) and "int32" in str(found.dtype)
    assert np.array_equal(to_numpy(found), a.astype(np.int32) @ b.astype(np.int32))
    assert np.array_equal(to_numpy(integers.matmul(of_kind(kind, b).T, of_kind(kind, a).T)), to_numpy(found).T)


def check_convolution(kind, x, weight, geometry):
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


@needs_torch
@pytest.mark.parametrize("geometry", GEOMETRIES, ids=str)
def test_convolutions_and_both_gradients(kind, geometry):
    x, weight = numbers(3, 4, 9, 11), numbers(6, 4 // geometry.get("groups", 1), 3, 2, seed=1)
    check_convolution(kind, x, weight, geometry)


@pytest.mark.parametrize("geometry", GEOMETRIES, ids=str)
def test_convolutions_of_no_pictures_and_of_no_channels(kind, geometry):
    groups = geometry.get("groups", 1)
    one, kernel = of_kind(kind, numbers(1, 4, 9, 11)), of_kind(kind, numbers(6, 4 // groups, 3, 2))
    rows, columns = integers.conv2d(one, kernel, **geometry).shape[2:]
    for images, channels, features in ((0, 4, 6), (3, 0, 6), (3, 4, 0)):
        x, weight = numbers(images, channels, 9, 11), numbers(features, channels // groups, 3, 2)
        error = numbers(images, features, rows, columns)
        x_, weight_, error_ = (of_kind(kind, each) for each in (x, weight, error))
        pairs = [
            (integers.conv2d(x_, weight_, **geometry), error.shape),
            (integers.conv2d_input_gradient(error_, weight_, x.shape, **geometry), x.shape),
            (integers.conv2d_weight_gradient(error_, x_, weight.shape, **geometry), weight.shape),
        ]
        for found, shape in pairs:
            assert type(found) is type(x_) and "int32" in str(found.dtype)
            assert tuple(found.shape) == shape and not to_numpy(found).any()


@needs_torch
@pytest.mark.parametrize("channels, features", [(43692, 2), (2, 43692), (2, 131080)], ids=["sums", "taps", "features"])
def test_convolutions_of_more_products_than_are_safe(kind, channels, features):
    check_convolution(kind, numbers(1, channels, 3, 2), numbers(features, channels, 3, 1, seed=1), dict(padding=1))


def test_gradients_of_a_linear_weight_over_many_rows(kind):
    error, x = numbers(DEPTH, 3), numbers(DEPTH, 5, seed=1)
    found = integers.matmul(of_kind(kind, error).T, of_kind(kind, x))
    assert "int32" in str(found.dtype)
    assert np.array_equal(to_numpy(found), error.T.astype(np.int64) @ x.astype(np.int64))


def test_gradients_of_a_convolution_over_many_pictures(kind):
    error, x = numbers(256, 4, 32, 32), numbers(256, 4, 32, 32, seed=1)
    found = integers.conv2d_weight_gradient(of_kind(kind, error), of_kind(kind, x), (4, 2, 3, 3), padding=1, groups=2)
    padded = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1))).astype(np.int64).reshape(256, 2, 2, 34, 34)
    wide = error.astype(np.int64).reshape(256, 2, 2, 32, 32)
    assert "int32" in str(found.dtype)
    for row, column in np.ndindex(3, 3):
        seen = padded[..., row : row + 32, column : column + 32]
        expected = np.einsum("ngfij,ngcij->gfc", wide, seen).reshape(4, 2)
        assert np.array_equal(to_numpy(found)[:, :, row, column], expected)


LOWEST, LARGEST = -(2**31), 2**31 - 1
TO_LOWEST = [(-128, 127)] * 132104 + [(-128, 8)]
TO_LARGEST = [(-128, -128)] * integers.SAFE_DEPTH + [(127, 127), (127, 2)]


@pytest.mark.parametrize("pairs, end", [(TO_LOWEST, LOWEST), (TO_LARGEST, LARGEST)], ids=["lowest", "largest"])
def test_sums_go_to_the_ends_of_int32(kind, pairs, end):
    a, b = np.int8([*pairs, (0, 0)]).T.copy()
    product = lambda: integers.matmul(of_kind(kind, a[None]), of_kind(kind, b[:, None]))
    assert product().item() == end
    a[-1], b[-1] = 1, 1 if end > 0 else -1
    beyond = end + int(b[-1])
    expected = rf"\[integers.matmul\] sum of {len(a)} products at \(0, 0\): got {beyond}, expected one within int32"
    with pytest.raises(nibble.Error, match=expected):
        product()


def test_sums_may_leave_int32_on_their_way(kind):
    a, b = np.full((1, DEPTH), -128, np.int8), np.full((DEPTH, 1), -128, np.int8)
    b[DEPTH // 2 :] = 127
    assert integers.matmul(of_kind(kind, a), of_kind(kind, b)).item() == DEPTH // 2 * 128


def test_sums_that_leave_int32_are_refused(kind):
    """Of -128 alone they are 2^32, which int32 has as 0."""
    lowest = lambda *shape: of_kind(kind, np.full(shape, -128, np.int8))
    with pytest.raises(nibble.Error, match=r"\[integers.matmul\] sum of 262144 products at \(0, 0\): got 4294967296,"):
        integers.matmul(lowest(1, DEPTH), lowest(DEPTH, 1))
    pictures = lowest(256, 1, 32, 32)
    expected = r"\[integers.conv2d_weight_gradient\] sum of 262144 products at \(0, 0, 0, 0\): got 4294967296,"
    with pytest.raises(nibble.Error, match=expected):
        integers.conv2d_weight_gradient(pictures, pictures, (1, 1, 1, 1))
    expected = r"\[integers.conv2d\] sum of 262144 products at \(0, 1, 0, 0\): got 4294967296,"
    weight = np.full((2, DEPTH, 1, 1), -128, np.int8)
    weight[0, ::2] = 127
    with pytest.raises(nibble.Error, match=expected):
        integers.conv2d(lowest(1, DEPTH, 1, 1), of_kind(kind, weight))
    expected = r"\[integers.conv2d_input_gradient\] sum of 262144 products at \(0, 0, 0, 0\): got 4294967296,"
    with pytest.raises(nibble.Error, match=expected):
        integers.conv2d_input_gradient(lowest(1, DEPTH, 1, 1), lowest(DEPTH, 1, 1, 1), (1, 1, 1, 1))


@needs_torch
def test_sums_of_few_products_wait_for_no_device(monkeypatch):
    """Tensors without numbers: what asks for one fails."""
    product = lambda a, b: torch.empty((a.shape[0], b.shape[1]), dtype=torch.int32, device="meta")
    monkeypatch.setattr(torch, "_int_mm", product, raising=False)
    empty = lambda *shape: torch.empty(shape, dtype=torch.int8, device="meta")
    error, weight, shape = empty(1, 6, 5, 5), empty(6, 2, 3, 3), (1, 4, 9, 9)
    how = dict(stride=2, padding=1, groups=2)
    assert integers.conv2d(empty(*shape), weight, **how).shape == error.shape
    assert integers.conv2d_input_gradient(error, weight, shape, **how).shape == shape
    assert integers.conv2d_weight_gradient(error, empty(*shape), weight.shape, **how).shape == weight.shape
    assert integers.matmul(empty(1, integers.SAFE_DEPTH), empty(integers.SAFE_DEPTH, 1)).shape == (1, 1)
    with pytest.raises((RuntimeError, NotImplementedError), match="[Mm]eta"):
        integers.matmul(empty(1, integers.SAFE_DEPTH + 1), empty(integers.SAFE_DEPTH + 1, 1))


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
