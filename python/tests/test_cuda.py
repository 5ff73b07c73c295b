# SPDX-License-Identifier: Apache-2.0
"""CUDA tensors: the CPU's bits on the current stream and device."""

import statistics
import time

import pytest
from arrays import FORMATS, ROUNDINGS, mixed_values

torch = pytest.importorskip("torch")

import nibble
from torch_devices import same_bits

pytestmark = pytest.mark.skipif(
    not (torch.cuda.is_available() and nibble.has_cuda), reason="needs a GPU and a build with CUDA"
)

EVERY_FORMAT = [*FORMATS, "uint8(scale=minmax)", "int4(scale=absmax,block=32)", "e3m2", "bf16", "posit(16,2)", "mxfp8"]
DTYPES = [torch.float32, torch.float16, torch.bfloat16]


def values(*shape):
    count = 1
    for extent in shape:
        count *= extent
    return torch.from_numpy(mixed_values(count)[-count:].copy()).reshape(shape)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("rounding", ROUNDINGS)
@pytest.mark.parametrize("fmt", EVERY_FORMAT)
def test_quantize_gives_the_bits_of_the_cpu(fmt, rounding, dtype):
    x = torch.cat([torch.from_numpy(mixed_values(5000)), values(77)]).to(dtype)
    options = {"rounding": rounding, "seed": 5, "step": 6, "stream": 7}
    got = nibble.quantize(x.cuda(), fmt, **options)
    assert got.is_cuda and got.dtype == dtype and same_bits(got, nibble.quantize(x, fmt, **options))


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("fmt", [*EVERY_FORMAT, "fp16", "tf32", "posit(32,2)"])
def test_codes_of_the_cpu(fmt, packed):
    if packed and nibble.Format(fmt).bits >= 8:
        pytest.skip("nothing to pack")
    x = torch.randn(33, 96)
    ours, theirs = nibble.encode(x.cuda(), fmt, packed=packed), nibble.encode(x, fmt, packed=packed)
    for name in ("codes", "scales", "zeros", "tensor_scale"):
        one, other = getattr(ours, name), getattr(theirs, name)
        assert (one is None) == (other is None), name
        if one is not None:
            assert one.is_cuda and torch.equal(one.cpu(), other), name
    assert torch.equal(ours.decode().cpu(), theirs.decode())


@pytest.mark.parametrize("rules", ["e5m10", "e4m3", "fixed(16,8)"])
@pytest.mark.parametrize("rounding", ["nearest-even", "stochastic"])
def test_matmul_gives_the_bits_of_the_cpu(rules, rounding):
    a, b = torch.randn(33, 70), torch.randn(40, 70).t()
    accumulator = nibble.Accumulator(rules, rounding=rounding, chunk=16)
    expected = nibble.matmul(a, b, accumulator=accumulator, seed=3)
    assert same_bits(nibble.matmul(a.cuda(), b.cuda(), accumulator=accumulator, seed=3), expected)
    out = torch.empty(40, 33, device="cuda").t()
    nibble.matmul(a.cuda(), b.cuda(), accumulator=accumulator, seed=3, out=out)
    assert same_bits(out, expected)
    half = nibble.matmul(a.half().cuda(), b.half().cuda(), accumulator=accumulator, seed=3)
    assert same_bits(half, nibble.matmul(a.half(), b.half(), accumulator=accumulator, seed=3))


def test_stats_of_the_cpu():
    x = torch.randn(1000)
    assert nibble.stats(x.cuda(), "e4m3") == nibble.stats(x, "e4m3")


@pytest.mark.parametrize("fmt", ["e4m3", "mxfp4", "nvfp4"])
@pytest.mark.parametrize("rounding", ["nearest-even", "stochastic"])
def test_strides(fmt, rounding):
    x = values(4, 6, 8, 8)
    on_gpu = x.cuda()
    for view in (lambda t: t.permute(3, 1, 0, 2), lambda t: t[:, ::2], lambda t: t.expand(2, *t.shape), lambda t: t[:0]):
        got = nibble.quantize(view(on_gpu), fmt, rounding=rounding)
        assert same_bits(got, nibble.quantize(view(x).contiguous(), fmt, rounding=rounding))
    out = torch.empty(8, 4, 6, 8, device="cuda").permute(1, 2, 3, 0)
    assert nibble.quantize(on_gpu, fmt, rounding=rounding, out=out) is out
    assert same_bits(out, nibble.quantize(x, fmt, rounding=rounding))
    assert same_bits(nibble.quantize(on_gpu, fmt, rounding=rounding, out=on_gpu), out)


@pytest.mark.parametrize("fmt", ["e4m3", "mxfp4", "int8(scale=absmax)", "nf4"])
def test_work_goes_to_the_current_stream(fmt):
    x = torch.randn(1 << 22)
    expected = nibble.quantize(torch.full_like(x, 1.3), fmt)
    side = torch.cuda.Stream()
    on_gpu = torch.zeros_like(x, device="cuda")
    torch.cuda.synchronize()
    with torch.cuda.stream(side):
        torch.cuda._sleep(100_000_000)
        on_gpu.fill_(1.3)  # seen only by work behind it on the same stream
        got = nibble.quantize(on_gpu, fmt)
    started_early = not side.query()
    side.synchronize()
    assert started_early, "the call waited for the stream"
    assert same_bits(got, expected)


@pytest.mark.parametrize("fmt", ["e4m3", "mxfp4", "nvfp4", "int8(scale=absmax)", "nf4", "posit(8,1)", "codebook([1,2,4],signed)"])
def test_graphs_capture_it(fmt):
    x = torch.randn(4096, device="cuda")
    nibble.quantize(x, fmt)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        got = nibble.quantize(x, fmt, rounding="stochastic", seed=1)
        encoded = nibble.encode(x, fmt)
        decoded = encoded.decode()
    for seed in (1, 2):
        torch.manual_seed(seed)
        x.copy_(torch.randn(4096))
        graph.replay()
        torch.cuda.synchronize()
        assert same_bits(got, nibble.quantize(x.cpu(), fmt, rounding="stochastic", seed=1))
        assert same_bits(decoded, nibble.quantize(x.cpu(), fmt))


def test_a_format_may_give_the_tensors_scale():
    x, fmt = torch.randn(40, 64), "nvfp4(tensor_scale=0.002)"
    encoded = nibble.encode(x.cuda(), fmt)
    assert same_bits(nibble.decode(encoded.codes, fmt, scales=encoded.scales), nibble.quantize(x, fmt))


def test_packed_codes_of_16_bits_at_odd_addresses_are_refused():
    packed = nibble.encode(torch.randn(100).cuda(), "posit(16,2)", packed=True).codes
    moved = torch.empty(packed.numel() + 1, dtype=torch.uint8, device="cuda")[1:].copy_(packed)
    with pytest.raises(ValueError, match="multiple of 2"):
        nibble.decode(moved, "posit(16,2)", packed=True, shape=(100,))


def test_devices():
    x = torch.randn(10, device="cuda")
    with pytest.raises(RuntimeError, match="device"):
        nibble.quantize(x, "e4m3", out=torch.empty(10))
    with pytest.raises(RuntimeError, match="device"):
        nibble.matmul(x.reshape(2, 5), torch.ones(5, 2), accumulator="fp16")
    if torch.cuda.device_count() > 1:
        other = x.to("cuda:1")
        assert nibble.quantize(other, "e4m3").device == other.device
    leaf = torch.ones(3, device="cuda", requires_grad=True)
    with pytest.raises(RuntimeError, match="requires grad"):
        nibble.quantize(leaf, "e4m3", out=leaf)
    with pytest.raises(ValueError):
        nibble.quantize(x, "e4m3", overflow="infinity")
    with pytest.raises(ValueError, match="overlaps"):
        nibble.quantize(x[1:], "e4m3", out=x[:-1])


def microseconds(work, count=500):
    """What a call costs this thread, while the GPU's queue is not full."""
    torch.cuda.synchronize()
    started = time.perf_counter()
    for _ in range(count):
        work()
    return (time.perf_counter() - started) / count * 1e6


@pytest.mark.parametrize("fmt", ["e4m3", "posit(8,1)", "mxfp4"])
def test_call_overhead(fmt):
    x = torch.randn(1000, device="cuda")
    turns = [(microseconds(lambda: nibble.quantize(x, fmt)), microseconds(lambda: torch.add(x, 1))) for _ in range(60)]
    spent, added = map(min, zip(*turns))
    share = statistics.median(one / other for one, other in turns)
    print(f"{fmt}: {spent:.2f} µs a call, torch.add {added:.2f} µs, {share:.2f} times")
    assert spent <= max(10, 1.2 * added)  # there are minutes in which all calls take twice as long
