# SPDX-License-Identifier: Apache-2.0
"""Arrays on a GPU of packages other than torch, by DLPack alone."""

import os
import subprocess
import sys

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


def taken(answer):
    """What a package makes of an answer that is nobody's array: it lies on the GPU and has __dlpack__."""
    assert answer.__dlpack_device__() == (2, 0) and not isinstance(answer, torch.Tensor)
    return torch.from_dlpack(answer)


@pytest.mark.parametrize("fmt", ["e4m3", "mxfp4", "nvfp4", "posit(16,2)"])
def test_answers_without_out_lie_on_the_gpu(fmt):
    x = torch.randn(32, 32)
    lent = Lent(x.cuda())
    assert same_bits(taken(nibble.quantize(lent, fmt)), nibble.quantize(x, fmt))
    assert same_bits(taken(nibble.matmul(lent, lent, accumulator="fp16")), nibble.matmul(x, x, accumulator="fp16"))
    encoded, expected = nibble.encode(lent, fmt), nibble.encode(x, fmt)
    assert torch.equal(taken(encoded.codes).view(expected.codes.dtype).cpu(), expected.codes)
    assert same_bits(taken(encoded.decode()), expected.decode())


def test_memory_of_answers_goes_back():
    lent = Lent(torch.ones(1 << 24, device="cuda"))
    free = lambda: torch.cuda.mem_get_info()[0]
    nibble.quantize(lent, "e4m3")
    before = free()
    kept = torch.from_dlpack(nibble.quantize(lent, "e4m3"))  # lives with what took it, not with the answer
    size = kept.numel() * kept.element_size()
    assert before - free() >= size and kept[-1].item() == 1
    del kept
    assert before - free() < size / 2  # torch may keep a little of its own


WITHOUT_TORCH = """
import ctypes, sys
import numpy as np
import nibble
from dlpack_structures import GPU, LentAs

driver = ctypes.CDLL("libcuda.so.1")
context = ctypes.c_void_p()
assert driver.cuInit(0) == 0 and driver.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0) == 0
assert driver.cuCtxSetCurrent(context) == 0


def managed(count):
    pointer = ctypes.c_void_p()
    assert driver.cuMemAllocManaged(ctypes.byref(pointer), ctypes.c_size_t(4 * count), 1) == 0
    return np.ctypeslib.as_array((ctypes.c_float * count).from_address(pointer.value))


x, out = managed(4096), managed(4096)
x[:] = np.random.default_rng(1).normal(size=4096)
for fmt in ("e4m3", "nvfp4", "int8(scale=absmax)"):  # the last two need memory beside
    answer = nibble.quantize(LentAs(x, device=GPU), fmt)
    assert answer.__dlpack_device__() == GPU
    nibble.quantize(answer, "fp32", out=LentAs(out, device=GPU))
    assert np.array_equal(out, nibble.quantize(x, fmt)), fmt
assert "torch" not in sys.modules
"""


def test_without_torch():
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([os.path.dirname(__file__), *sys.path])}
    done = subprocess.run([sys.executable, "-c", WITHOUT_TORCH], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


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
    assert cupy.array_equal(cupy.from_dlpack(nibble.quantize(array, "mxfp4")), out)
    assert same_bits(torch.from_numpy(cupy.asnumpy(out)), nibble.quantize(x, "mxfp4"))
