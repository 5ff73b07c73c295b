# SPDX-License-Identifier: Apache-2.0
"""Arrays on a GPU of packages other than torch, by DLPack alone."""

import pytest
from arrays import mixed_values

torch = pytest.importorskip("torch")

import nibble
from torch_devices import same_bits

pytestmark = pytest.mark.skipif(
    not (torch.cuda.is_available() and nibble.has_cuda), reason="needs a GPU and a build with CUDA"
)


class Lent:
    """A tensor that shows nothing but DLPack, and remembers the streams it was asked for."""

    def __init__(self, tensor, knows_versions=True):
        self.tensor, self.knows_versions, self.streams = tensor, knows_versions, []

    def __dlpack__(self, *, stream=None, **more):
        if more and not self.knows_versions:
            raise TypeError("unexpected keyword argument 'max_version'")
        self.streams.append(stream)
        return self.tensor.__dlpack__(stream=stream)

    def __dlpack_device__(self):
        return self.tensor.__dlpack_device__()


def values(count=3000):
    return torch.from_numpy(mixed_values(count)[-count:].copy())


@pytest.mark.parametrize("knows_versions", [True, False])
@pytest.mark.parametrize("fmt", ["e4m3", "mxfp4", "nvfp4", "int8(scale=absmax)", "posit(8,1)", "nf4"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16], ids=str)
def test_quantize_goes_to_out(fmt, dtype, knows_versions):
    x = values().to(dtype)
    expected = nibble.quantize(x, fmt, rounding="stochastic", seed=3)
    lent = Lent(x.cuda(), knows_versions)
    for out in (Lent(torch.empty_like(lent.tensor), knows_versions), torch.empty_like(lent.tensor), lent):
        assert nibble.quantize(lent, fmt, rounding="stochastic", seed=3, out=out) is out
        assert same_bits(out.tensor if isinstance(out, Lent) else out, expected)


def test_other_functions():
    x = torch.randn(32, 32)
    lent, out = Lent(x.cuda()), Lent(torch.empty(32, 32, device="cuda"))
    assert nibble.matmul(lent, lent, accumulator="fp16", out=out) is out
    assert same_bits(out.tensor, nibble.matmul(x, x, accumulator="fp16"))
    for call in (
        lambda: nibble.quantize(lent, "e4m3"),
        lambda: nibble.encode(lent, "e4m3"),
        lambda: nibble.matmul(lent, lent, accumulator="fp16"),
    ):
        with pytest.raises(RuntimeError, match="another package"):
            call()


def test_strided_memory_is_refused():
    x = torch.randn(8, 8, device="cuda")
    with pytest.raises(ValueError, match="contiguous"):
        nibble.quantize(Lent(x.t()), "e4m3", out=torch.empty_like(x))


def test_work_waits_for_the_package():
    x, own, ours = torch.zeros(1 << 22, device="cuda"), torch.cuda.Stream(), torch.cuda.Stream()
    out = torch.empty_like(x)
    torch.cuda.synchronize()
    lent = Lent(x)

    class Owner(Lent):
        def __dlpack__(self, *, stream=None, **more):
            with torch.cuda.stream(own):  # where this package writes
                return super().__dlpack__(stream=stream, **more)

    with torch.cuda.stream(own):
        torch.cuda._sleep(50_000_000)
        x.fill_(1.3)
    with torch.cuda.stream(ours):
        nibble.quantize(Owner(x), "e4m3", out=out)
    ours.synchronize()
    assert same_bits(out, torch.full((1 << 22,), 1.25))
    nibble.quantize(lent, "e4m3", out=out)
    assert lent.streams == [1]  # the default stream, by DLPack's number for it


def test_memory_goes_back_when_the_work_is_done():
    x, ours = torch.ones(1 << 20, device="cuda"), torch.cuda.Stream()
    out = torch.empty_like(x)
    torch.cuda.synchronize()
    with torch.cuda.stream(ours):
        torch.cuda._sleep(50_000_000)
        nibble.quantize(x, "e4m3", out=out)
        assert not ours.query()  # torch's own tensors are ordered by the stream: nobody waits
        nibble.quantize(Lent(x), "e4m3", out=out)
        assert ours.query()


def test_cupy_arrays():
    cupy = pytest.importorskip("cupy")
    x = values()
    array, out = cupy.asarray(x.numpy()), cupy.empty(x.shape, "float32")
    assert nibble.quantize(array, "mxfp4", out=out) is out
    assert same_bits(torch.from_numpy(cupy.asnumpy(out)), nibble.quantize(x, "mxfp4"))
