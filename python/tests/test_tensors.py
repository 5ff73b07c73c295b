# SPDX-License-Identifier: Apache-2.0
"""torch tensors on the CPU: NumPy's bits, torch's rules about memory and gradients."""

import numpy as np
import pytest
from arrays import FORMATS, ROUNDINGS, mixed_values

torch = pytest.importorskip("torch")

import nibble
from torch_devices import same_bits


@pytest.mark.parametrize("rounding", ROUNDINGS)
@pytest.mark.parametrize("fmt", FORMATS)
def test_the_bits_of_numpy(fmt, rounding):
    x = mixed_values(1000)
    got = nibble.quantize(torch.from_numpy(x), fmt, rounding=rounding, seed=9)
    assert same_bits(got, torch.from_numpy(nibble.quantize(x, fmt, rounding=rounding, seed=9)))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("fmt", FORMATS)
def test_narrow_types_are_rounded_from_their_exact_values(fmt, dtype):
    x = torch.from_numpy(mixed_values(500)).to(dtype)
    got = nibble.quantize(x, fmt)
    wide = nibble.quantize(x.float(), fmt)
    assert got.dtype == dtype and same_bits(got, wide.to(dtype))
    assert same_bits(nibble.quantize(x, fmt, out=torch.empty(x.shape)), wide)


@pytest.mark.parametrize("fmt", ["e4m3", "mxfp4"])
@pytest.mark.parametrize("rounding", ["nearest-even", "stochastic"])
def test_strides(fmt, rounding):
    x = torch.from_numpy(mixed_values(2 * 3 * 64)).reshape(4, 3, 8, 8)
    views = [x.permute(3, 1, 0, 2), x[:, ::2], x.expand(2, 4, 3, 8, 8), x.to(memory_format=torch.channels_last), x[:0]]
    for view in views:
        got = nibble.quantize(view, fmt, rounding=rounding)
        assert got.stride() == torch.empty_like(view).stride()
        assert same_bits(got, nibble.quantize(view.contiguous(), fmt, rounding=rounding))


def test_in_place_counts_as_a_write():
    x = torch.randn(100)
    expected, version = nibble.quantize(x, "e4m3"), x._version
    assert nibble.quantize(x, "e4m3", out=x) is x
    assert same_bits(x, expected) and x._version > version
    weight = torch.ones(3, requires_grad=True)
    saved = torch.full((3,), 1.3)
    product = (saved * weight).sum()
    nibble.quantize(saved, "e2m1", out=saved)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        product.backward()


def test_gradients():
    leaf = torch.full((3,), 1.3, requires_grad=True)
    assert not nibble.quantize(leaf, "e2m1").requires_grad
    for tensor in (leaf, leaf * 2):
        with pytest.raises(RuntimeError, match="requires grad"):
            nibble.quantize(tensor, "e2m1", out=tensor)
    with torch.no_grad():
        nibble.quantize(leaf, "e2m1", out=leaf)
    assert leaf.tolist() == [1.5] * 3
    assert type(nibble.quantize(torch.nn.Parameter(torch.ones(2)), "e4m3")) is torch.Tensor


def test_overlap_and_other_mistakes():
    x = torch.randn(8, 8)
    for source, out, error in [
        (x, x.t(), ValueError),
        (x[1:], x[:-1], ValueError),
        (x, torch.empty(1).expand(8, 8), ValueError),
        (x, torch.empty(8, 7), ValueError),
        (x, torch.empty(8, 8, dtype=torch.float64), TypeError),
        (x.double(), None, TypeError),
        (x.to_sparse(), None, TypeError),
        (torch.empty(8, 8, device="meta"), None, RuntimeError),
        (x, torch.empty(8, 8, device="meta"), RuntimeError),
        (torch.ones(2, dtype=torch.complex64).conj().imag, None, TypeError),
        (torch.quantize_per_tensor(x, 0.1, 0, torch.qint8), None, TypeError),
        (torch.ones((1,) * 9), None, ValueError),
    ]:
        with pytest.raises(error) as caught:
            nibble.quantize(source, "e4m3", out=out)
        assert "\n" not in str(caught.value)


class Own(torch.Tensor):
    """A subclass that answers for itself."""


def test_unusual_tensors():
    x = torch.randn(64)
    expected = nibble.quantize(x, "e4m3")
    own = nibble.quantize(x.as_subclass(Own), "e4m3")
    assert type(own) is Own and same_bits(own.as_subclass(torch.Tensor), expected)
    assert same_bits(nibble.quantize(x[3], "e4m3"), expected[3]) and nibble.quantize(x[:0], "e4m3").shape == (0,)
    with pytest.raises(TypeError, match="negates lazily"):
        nibble.quantize(torch._neg_view(x), "e4m3")
    freed = torch.randn(64)
    (freed.untyped_storage() if hasattr(freed, "untyped_storage") else freed.storage()).resize_(0)
    with pytest.raises(RuntimeError, match="without memory"):
        nibble.quantize(freed, "e4m3")


@pytest.mark.skipif(not hasattr(torch, "func"), reason="needs torch 2")
def test_tensors_without_memory_are_refused():
    from torch._subclasses.fake_tensor import FakeTensorMode

    with pytest.raises(RuntimeError):
        torch.vmap(lambda row: nibble.quantize(row, "e4m3"))(torch.randn(3, 4))
    with FakeTensorMode() as mode, pytest.raises((RuntimeError, TypeError)):
        nibble.quantize(mode.from_tensor(torch.randn(4)), "e4m3")


def test_numpy_and_torch_share_a_call():
    x = mixed_values(64)
    out = torch.empty(128)
    assert nibble.quantize(x, "e4m3", out=out) is out
    assert same_bits(out, torch.from_numpy(nibble.quantize(x, "e4m3")))


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("fmt", ["e4m3", "fp16", "tf32", "mxfp4", "nvfp4", "uint8(scale=minmax)", "int4(scale=absmax,block=32)"])
def test_codes(fmt, packed):
    x = torch.randn(5, 96).t()
    encoded = nibble.encode(x, fmt, packed=packed)
    other = nibble.encode(x.numpy(), fmt, packed=packed)
    for ours, theirs in zip(
        (encoded.codes, encoded.scales, encoded.zeros, encoded.tensor_scale),
        (other.codes, other.scales, other.zeros, other.tensor_scale),
    ):
        assert (ours is None) == (theirs is None)
        if ours is not None:
            assert isinstance(ours, torch.Tensor) and ours.numpy().tobytes() == theirs.tobytes()
    assert encoded.nbytes == other.nbytes and encoded.shape == (96, 5)
    assert same_bits(encoded.decode(), nibble.quantize(x, fmt).contiguous())


def test_stats_and_matmul():
    a, b = torch.randn(5, 40), torch.randn(7, 40).t()
    assert nibble.stats(a, "e4m3") == nibble.stats(a.numpy(), "e4m3")
    product = nibble.matmul(a, b, accumulator="e5m10")
    assert isinstance(product, torch.Tensor)
    assert np.array_equal(product.numpy(), nibble.matmul(a.numpy(), b.numpy(), accumulator="e5m10"))
    wide = nibble.matmul(a.bfloat16(), b.bfloat16(), accumulator="e5m10")
    assert wide.dtype == torch.float32
    assert same_bits(wide, nibble.matmul(a.bfloat16().float(), b.bfloat16().float(), accumulator="e5m10"))


def test_a_gpu_is_refused_without_kernels_for_it():
    if nibble.has_cuda or not torch.cuda.is_available():
        pytest.skip("needs a GPU and a build without CUDA")
    with pytest.raises(RuntimeError, match="without CUDA"):
        nibble.quantize(torch.ones(3, device="cuda"), "e4m3")
