# SPDX-License-Identifier: Apache-2.0
"""Engines as modules inside torch.compile, torch.export and vmap: one graph, and the bits of the module itself."""

import copy
import functools
import gc
import io
import pickle
import threading
import weakref

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import nibble.torch as nt
from nibble.torch import engine_ops, ops
from torch import nn
from torch_devices import DEVICES, same_bits

has_ops = pytest.mark.skipif(not ops.HAS_OPS, reason="torch before 2.5 registers no operations")
BACKENDS = ["eager", "aot_eager", "inductor"]


@pytest.fixture(autouse=True)
def forget():
    if ops.HAS_OPS:
        torch._dynamo.reset()


@pytest.fixture
def module(nibble, quantized):
    return nt.EngineModule(quantized, threads=1)


@pytest.fixture
def made(nibble, monkeypatch):
    """How many engines were made, and on which devices."""
    devices, begin = [], nibble.Engine.__init__

    def counted(self, *arguments, **options):
        devices.append(options["device"])
        begin(self, *arguments, **options)

    monkeypatch.setattr(nibble.Engine, "__init__", counted)
    return devices


class Pipeline(nn.Module):
    """Two engines, what is trained after them and something before them."""

    def __init__(self, quantized, device="cpu"):
        super().__init__()
        torch.manual_seed(0)
        self.scale = nn.Parameter(torch.ones(1))
        self.near, self.other = nt.EngineModule(quantized, device=device), nt.EngineModule(quantized, device="reference")
        self.head = nn.Linear(10, 3)

    def forward(self, x):
        return self.head(self.near(self.scale * x) + self.other(x.flip(2)))


def pictures_of(count, device="cpu"):
    return torch.randn(count, 1, 8, 8, generator=torch.Generator().manual_seed(count)).to(device)


@has_ops
@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("backend", BACKENDS)
def test_engines_compile_into_one_graph(quantized, made, device, backend):
    near = functools.partial(torch.allclose, atol=1e-5)
    is_same = near if backend == "inductor" else same_bits  # of the sums of torch's own layer
    for own in {"cpu", device}:
        model = Pipeline(quantized, own).to(device)
        seen = len(made)
        for dynamic in (None, True):
            compiled = torch.compile(model, fullgraph=True, backend=backend, dynamic=dynamic)
            for count in (5, 1, 20):
                x = pictures_of(count, device)
                assert is_same(compiled(x), model(x)) and len(compiled(x)) == count
        assert len(made) == seen  # graphs run the engines that are there
        told = torch._dynamo.explain(model)(pictures_of(5, device))
        assert told.graph_count == 1 and told.graph_break_count == 0


@has_ops
@pytest.mark.parametrize("backend", BACKENDS)
def test_one_graph_serves_every_batch(module, backend):
    graphs = []

    def counting(graph, examples):
        graphs.append(graph)
        return torch._dynamo.lookup_backend(backend)(graph, examples)

    compiled = torch.compile(module, fullgraph=True, dynamic=True, backend=counting)
    for count in (2, 3, 8, 20):
        for x in (pictures_of(count), pictures_of(count)[:, 0]):  # planes, which are an example where there is one alone
            assert same_bits(compiled(x), module(x))
    assert len(graphs) == 2


@has_ops
def test_whatever_engines_take(module, pictures):
    """Of one example or several, channels first or last, of bytes or floats: a graph knows what comes out."""
    compiled = torch.compile(module, fullgraph=True, backend="aot_eager")
    x = torch.from_numpy(pictures)
    for given in (x, x[3], x[3, :, :, 0], x[:8, :, :, 0], x[:1, :, :, 0], x.permute(0, 3, 1, 2), x.double(), x.long()):
        assert same_bits(compiled(given), module(given))
        torch.library.opcheck(torch.ops.nibble.engine_answers.default, (given, module._file, *module._arguments))


LAYOUTS = {
    "channels": (nn.Conv2d(3, 2, 3), (3, 8, 5), [(8, 5, 3), (3, 8, 5), (4, 8, 5, 3), (1, 3, 8, 5), (3, 3, 8, 5)]),
    "planes": (nn.Conv2d(1, 2, 3), (1, 8, 8), [(8, 8, 1), (8, 8), (8, 8, 8), (1, 8, 8), (4, 8, 8, 1), (1, 1, 8, 8)]),
    "rows": (nn.Linear(12, 7), (12,), [(12,), (12, 12), (4, 3, 4), (1, 12)]),
}


@pytest.mark.parametrize("name", LAYOUTS)
def test_shapes_of_answers_are_known_without_an_engine(nibble, name):
    layer, example, shapes = LAYOUTS[name]
    calibration = np.random.default_rng(0).normal(size=(16, *example)).astype(np.float32)
    module = nt.EngineModule(nibble.quantize_network(nn.Sequential(layer), calibration, progress=False))
    for shape in shapes:
        answers = module(torch.ones(shape))
        assert engine_ops._shape_of(shape, *module._arguments[-2:]) == [*answers.shape]
        if ops.HAS_OPS:
            assert same_bits(torch.vmap(module)(torch.ones(2, *shape)), torch.stack([answers, answers]))


@has_ops
def test_mistakes_are_the_engines(nibble, module):
    compiled = torch.compile(module, fullgraph=True, backend="aot_eager")
    for call in (module, compiled):
        with pytest.raises(nibble.errors.InputError, match=r"\[input\] x: shape: got \(4, 1, 8, 9\), expected \(8, 8, 1\)"):
            call(torch.zeros(4, 1, 8, 9))


@has_ops
@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
@pytest.mark.parametrize("device", DEVICES)
def test_autocast(module, device, dtype, backend):
    def inside(x):
        with torch.autocast(device, dtype=dtype):
            return module(x)

    x = pictures_of(4, device)
    assert inside(x).dtype == dtype and module(x).dtype == torch.float32
    assert same_bits(torch.compile(inside, fullgraph=True, backend=backend)(x), inside(x))
    compiled = torch.compile(module, fullgraph=True, backend=backend)
    with torch.autocast(device, dtype=dtype):
        assert same_bits(compiled(x), inside(x))
    assert compiled(x).dtype == torch.float32


@has_ops
@pytest.mark.parametrize("backend", BACKENDS)
def test_there_are_no_gradients(module, quantized, backend):
    """What stands behind an engine is trained, what stands before it is not; as without a compiler."""
    x = pictures_of(4).requires_grad_()
    assert not module(x).requires_grad
    assert not torch.ops.nibble.engine_answers(x, module._file, *module._arguments).requires_grad
    with pytest.raises(RuntimeError, match="does not require grad"):
        torch.compile(module, fullgraph=True, backend=backend)(x).sum().backward()
    model, traced = (Pipeline(quantized) for _ in range(2))
    for call in (model, torch.compile(traced, fullgraph=True, backend=backend)):
        call(x).square().sum().backward()
    assert x.grad is None and model.scale.grad is None and traced.scale.grad is None
    assert same_bits(traced.head.weight.grad, model.head.weight.grad)


@has_ops
@pytest.mark.parametrize("strict", [False, True])
def test_exported_programs_have_the_model_in_them(quantized, made, strict):
    model = Pipeline(quantized)
    sizes = {"x": {0: torch.export.Dim("batch")}}
    program = torch.export.export(model, (pictures_of(4),), dynamic_shapes=sizes, strict=strict)
    assert str(program.graph).count("nibble.engine_answers") == 2
    expected = [model(pictures_of(count)) for count in (1, 4, 20)]
    check = lambda run: all(same_bits(run(pictures_of(len(each))), each) for each in expected)
    assert made == ["cpu", "reference"] and check(program.module()) and len(made) == 2
    written = io.BytesIO()
    torch.export.save(program, written)
    del model, program
    gc.collect()
    written.seek(0)
    loaded = torch.export.load(written)
    assert len(made) == 2 and check(loaded.module()) and check(loaded.module())
    assert made == ["cpu", "reference"] * 2  # one of each: that of the program
    assert check(torch.compile(loaded.module(), fullgraph=True, backend="aot_eager")) and len(made) == 4
    assert check(loaded.run_decompositions().module())


@has_ops
@pytest.mark.parametrize("compiles", [False, True])
def test_vmap(made, module, pictures, compiles):
    """One call for all members of a batch, however many."""
    x = torch.from_numpy(pictures).float()
    expected = module(x)
    wrap = (lambda call: torch.compile(call, fullgraph=True, backend="aot_eager")) if compiles else (lambda call: call)
    assert same_bits(wrap(torch.vmap(module))(x), expected)
    assert same_bits(wrap(torch.vmap(module, in_dims=2))(x.movedim(0, 2)), expected)
    assert same_bits(wrap(torch.vmap(module))(x[..., 0]), expected)
    assert same_bits(wrap(torch.vmap(module))(x.view(5, 4, 8, 8, 1)), expected.view(5, 4, 10))
    assert same_bits(wrap(torch.vmap(torch.vmap(module)))(x.view(5, 4, 8, 8, 1)), expected.view(5, 4, 10))
    assert same_bits(wrap(torch.vmap(module))(x.permute(0, 3, 1, 2)), expected.view(20, 1, 10))  # planes: batches of one
    assert made == ["cpu"]


@has_ops
def test_vmap_asks_the_engine_once(module, monkeypatch):
    calls, engine_of = [], engine_ops._engine_of
    monkeypatch.setattr(engine_ops, "_engine_of", lambda *given: calls.append(given) or engine_of(*given))
    torch.vmap(module)(pictures_of(20)[:, 0])
    assert len(calls) == 1


@has_ops
def test_gradients_of_torch_func_pass_by(module):
    x = pictures_of(3)
    found = torch.func.grad(lambda weight: (module(x * weight.sum()) * weight).sum())(torch.ones(10))
    assert same_bits(found, module(x * 10).sum(0))


@has_ops
def test_fake_tensors_have_shapes_and_types(module):
    from torch._subclasses import FakeTensorMode

    with FakeTensorMode(allow_non_fake_inputs=True) as mode:
        answers = module(mode.from_tensor(pictures_of(6)))
    assert answers.shape == (6, 10) and answers.dtype == torch.float32


@has_ops
def test_cuda_graphs_leave_engines_out():
    """An engine has streams of its own, and the host waits for them."""
    assert [*ops.UNCAPTURED] == [tag for tag in torch.ops.nibble.engine_answers.default.tags if tag in ops.UNCAPTURED]
    assert ops.UNCAPTURED or not hasattr(torch.Tag, "cudagraph_unsafe")


@has_ops
@pytest.mark.skipif(len(DEVICES) < 2, reason="needs a GPU")
def test_cuda_graphs_stand_around_engines(quantized):
    model = Pipeline(quantized, "cuda").cuda().eval()
    compiled = torch.compile(model, fullgraph=True, mode="reduce-overhead")
    with torch.no_grad():
        for count in (8, 8, 8, 3):
            x = pictures_of(count, "cuda")
            assert torch.allclose(compiled(x).clone(), model(x), atol=1e-5)


def test_copies_have_engines_of_their_own(made, module):
    x = pictures_of(4)
    expected = module(x)
    copies = [copy.deepcopy(module), pickle.loads(pickle.dumps(module)), copy.deepcopy(nn.Sequential(module))[0]]
    assert made == ["cpu"] * 4 and [each.engine.threads for each in copies] == [1] * 3
    assert all(same_bits(each(x), expected) for each in copies)
    if ops.HAS_OPS:
        assert all(same_bits(torch.compile(each, fullgraph=True, backend="aot_eager")(x), expected) for each in copies)
    assert module.state_dict() == {} and [*module.buffers()] == [] and made == ["cpu"] * 4


def test_modules_stay_where_they_are(made, module):
    """Nothing of them is moved or converted with a model."""
    x = pictures_of(4)
    expected = module(x)
    for moved in (module.half(), module.to("meta"), module.double()):
        assert same_bits(moved(x), expected)
    assert made == ["cpu"]


@pytest.mark.parametrize("use", ["call", "compile", "vmap", "export"])
def test_engines_end_with_their_modules(quantized, use):
    """Whatever torch keeps of a program that was exported, the engine is not kept."""
    if use != "call" and not ops.HAS_OPS:
        pytest.skip("torch before 2.5 registers no operations")
    model = nn.Sequential(nt.EngineModule(quantized), nn.Softmax(-1))
    x = pictures_of(2)
    model(x)
    engine, file, at = weakref.ref(model[0].engine), weakref.ref(model[0]._file), id(model[0]._file)
    if use == "compile":
        torch.compile(model, fullgraph=True, backend="aot_eager")(x)
    elif use == "vmap":
        torch.vmap(model)(x)
    elif use == "export":
        torch.export.export(model, (x,)).module()(x)
    assert at in engine_ops._engines
    del model
    gc.collect()
    assert engine() is None
    assert use == "export" or (file() is None and at not in engine_ops._engines)


@has_ops
def test_engines_of_programs_end_with_them(module):
    program = torch.export.export(module, (pictures_of(2),))
    written = io.BytesIO()
    torch.export.save(program, written)
    known = set(engine_ops._engines)
    written.seek(0)
    loaded = torch.export.load(written)
    loaded.module()(pictures_of(2))
    assert len(engine_ops._engines) == len(known) + 1
    del loaded
    gc.collect()
    assert set(engine_ops._engines) <= known


@has_ops
def test_threads_share_modules_and_programs(made, module):
    """A program that was loaded makes its engine once, whoever is first."""
    written = io.BytesIO()
    torch.export.save(torch.export.export(module, (pictures_of(4),)), written)
    written.seek(0)
    x, expected = pictures_of(4), module(pictures_of(4))
    calls = [module, torch.compile(module, fullgraph=True, backend="aot_eager"), torch.export.load(written).module()]
    calls[1](x)
    wrong, begin = [], threading.Barrier(6)

    def work(call):
        begin.wait()
        for _ in range(50):
            if not same_bits(call(x), expected):
                wrong.append(call)

    threads = [threading.Thread(target=work, args=(call,)) for call in calls * 2]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == [] and made == ["cpu"] * 2


def test_options_of_numpy_and_mistakes_in_them(nibble, quantized):
    x = pictures_of(3)
    module = nt.EngineModule(quantized, threads=np.int64(1), max_batch=np.int32(2))
    assert same_bits(module(x), nt.EngineModule(quantized)(x))
    with pytest.raises(nibble.errors.ArgumentTypeError, match=r"\[engine\] device: got an object of type list, expected a text"):
        nt.EngineModule(quantized, device=["cpu"])
    with pytest.raises(nibble.errors.ArgumentTypeError, match=r"\[engine\] threads: got .*, expected an integer"):
        nt.EngineModule(quantized, threads=1.5)
