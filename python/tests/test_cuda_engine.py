# SPDX-License-Identifier: Apache-2.0
"""The engine on a GPU takes arrays of the host and of its own GPU, and gives the CPU's integers where they were asked."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import nibble as package

pytestmark = pytest.mark.skipif(
    not (torch.cuda.is_available() and package.has_cuda), reason="needs a GPU and a build with CUDA"
)


@pytest.fixture(scope="module")
def engine(nibble, quantized):
    return nibble.Engine(quantized, device="cuda", max_batch=32)


@pytest.fixture(scope="module")
def integers(engine):
    info = engine.inputs[0]
    shape = (20, *info.shape)
    return np.random.default_rng(1).integers(info.low, info.high + 1, shape).astype(info.dtype)


@pytest.fixture(scope="module")
def expected(nibble, quantized, integers):
    return nibble.Engine(quantized, device="cpu").run(integers)


def test_arrays_of_the_host(engine, integers, expected):
    assert np.array_equal(engine.run(integers), expected)
    assert np.array_equal(engine.run(torch.from_numpy(integers)).numpy(), expected)


def test_tensors_stay_on_the_gpu(engine, integers, expected):
    x = torch.from_numpy(integers).cuda()
    answers = engine.run(x)
    assert answers.is_cuda and np.array_equal(answers.cpu().numpy(), expected)
    assert np.array_equal(engine.run(x[3]).cpu().numpy(), expected[3])
    out = torch.empty_like(answers)
    assert engine.run(x, out) is out and torch.equal(out, answers)
    on_host = np.empty_like(expected)
    engine.run(x, on_host)
    assert np.array_equal(on_host, expected)


def test_it_grows_with_the_batches(nibble, quantized, integers, expected):
    growing = nibble.Engine(quantized, device="cuda")
    sizes = []
    for count in (1, 3, 20, 300, 1):
        x = np.resize(integers, (count, *integers.shape[1:]))
        assert np.array_equal(growing.run(torch.from_numpy(x).cuda()).cpu().numpy(), np.resize(expected, (count, 10)))
        sizes.append(growing.arena_bytes)
    wanted = [nibble.Engine(quantized, device="cuda", max_batch=size).arena_bytes for size in (1, 4, 64, 256)]
    assert sizes == [*wanted, wanted[-1]] and sizes == sorted(set(sizes)) + sizes[-1:]


def test_what_has_to_be_copied_is(engine, nibble, quantized, integers, expected, pictures):
    strided = torch.from_numpy(np.repeat(integers, 2, axis=1)).cuda()[:, ::2]
    assert np.array_equal(engine.run(strided).cpu().numpy(), expected)
    on_cpu = nibble.Engine(quantized)
    bytes_ = torch.from_numpy(pictures).cuda()
    assert engine.answers(bytes_).is_cuda
    assert np.array_equal(engine.answers(bytes_).cpu().numpy(), on_cpu.answers(pictures))
    values = engine.values(bytes_)
    assert all(np.array_equal(values[name].cpu().numpy(), each) for name, each in on_cpu.values(pictures).items())


class Lent:
    """A tensor as another package lends it."""

    def __init__(self, tensor):
        self.tensor = tensor

    def __dlpack__(self, **options):
        return self.tensor.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.tensor.__dlpack_device__()


def test_arrays_of_other_packages(engine, integers, expected):
    x = torch.from_numpy(integers).cuda()
    answers = engine.run(Lent(x))
    assert not isinstance(answers, (np.ndarray, torch.Tensor)) and answers.__dlpack_device__() == (2, 0)
    assert np.array_equal(torch.from_dlpack(answers).cpu().numpy(), expected)
    out = torch.zeros(expected.shape, dtype=engine.run(x).dtype, device="cuda")
    engine.run(Lent(x), Lent(out))
    assert np.array_equal(out.cpu().numpy(), expected)
    assert np.array_equal(torch.from_dlpack(engine.submit(Lent(x)).result(60)).cpu().numpy(), expected)
    with pytest.raises(RuntimeError, match="a strided array of another package on a GPU"):
        engine.run(Lent(x[:, ::2]))


def test_bytes_of_other_packages(engine, nibble, quantized, pictures):
    on_cpu, lent = nibble.Engine(quantized), Lent(torch.from_numpy(pictures).cuda())
    assert np.array_equal(torch.from_dlpack(engine.answers(lent)).cpu().numpy(), on_cpu.answers(pictures))
    values = engine.values(lent)
    for name, expected in on_cpu.values(pictures).items():
        assert np.array_equal(torch.from_dlpack(values[name]).cpu().numpy(), expected), name


def test_modules_leave_tensors_where_they_are(nibble, quantized, integers, pictures, monkeypatch):
    """A module of the GPU never copies a tensor there to the host by torch; one of the CPU answers where it was asked."""
    import nibble.torch as nt

    expected = nibble.Engine(quantized).answers(integers)
    module = nt.EngineModule(quantized, device="cuda", max_batch=32)
    x = torch.from_numpy(integers).cuda()
    with monkeypatch.context() as patched:
        patched.setattr(torch.Tensor, "cpu", None)
        answers = module(x)
    assert answers.is_cuda and np.array_equal(answers.cpu().numpy(), expected)
    assert np.array_equal(module(x.cpu()).numpy(), expected)
    floats = torch.from_numpy(pictures).permute(0, 3, 1, 2).float().cuda() / 16
    there, here = module(floats), nt.EngineModule(quantized)(floats)
    assert there.is_cuda and here.is_cuda and torch.equal(there, here)


def test_more_than_fit_at_once(engine, integers, expected):
    x = torch.from_numpy(np.concatenate([integers] * 4)).cuda()
    assert len(x) > 32 and np.array_equal(engine.run(x).cpu().numpy(), np.concatenate([expected] * 4))


def test_numbers_out_of_range_are_named(nibble, engine, integers):
    x = torch.from_numpy(integers).cuda()
    x[7, 0, 0, 0] = -128
    with pytest.raises(nibble.Error, match=r"\[engine\] input: got -128, expected -127 to 127"):
        engine.run(x)


def test_what_is_queued_before_is_done_before(engine, integers, expected):
    """The input is written by a stream that is still busy when the engine is called."""
    with torch.cuda.stream(torch.cuda.Stream()):
        x = torch.zeros(integers.shape, dtype=torch.int8, device="cuda")
        source = torch.from_numpy(integers).cuda()
        torch.cuda._sleep(50_000_000)
        x.copy_(source)
        futures = [engine.submit(x) for _ in range(4)]
        answers = engine.run(x)
    assert np.array_equal(answers.cpu().numpy(), expected)
    for each in futures:
        assert each.result(60).is_cuda and np.array_equal(each.result().cpu().numpy(), expected)


def test_an_engine_of_the_cpu_says_where_it_runs(nibble, quantized, integers):
    with pytest.raises(RuntimeError, match=r"\[run\] x's device: got cuda:0, expected cpu, where this engine runs"):
        nibble.Engine(quantized).run(torch.from_numpy(integers).cuda())
