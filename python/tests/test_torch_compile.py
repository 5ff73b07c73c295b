# SPDX-License-Identifier: Apache-2.0
"""Lowered models under torch.compile and torch.export: one graph, and the bits of the model itself."""

import copy

import pytest

torch = pytest.importorskip("torch")

import nibble
import nibble.torch as nt
from nibble import integers, qtorch
from nibble.torch import ops
from nibble.torch.graph_rounding import graph_rounding
from torch import nn
from torch_devices import DEVICES, mixed_values, same_bits

pytestmark = pytest.mark.skipif(not ops.HAS_OPS, reason="torch before 2.5 registers no operations")

CASES = [
    dict(),
    dict(rounding="stochastic"),
    dict(rounding="stochastic(16)", seed=(1 << 64) - 5),
    dict(rounding="stochastic", seed=None),
    dict(clamped_gradient=True),
    dict(accumulator="fp16"),
    dict(accumulator=nibble.Accumulator("fp16", rounding="stochastic"), backward_accumulator=None),
]
DRAWN = nibble.Accumulator("fp16", rounding="stochastic")


def network(device):
    """On GPUs without a batch norm: torch takes another one into its graphs than it computes itself."""
    torch.manual_seed(0)
    norm = nn.BatchNorm2d(4) if device == "cpu" else nn.Identity()
    return nn.Sequential(nn.Conv2d(1, 4, 3, 2, 1), norm, nn.ReLU(), nn.Flatten(), nn.Linear(64, 8)).to(device)


def step_of(model, call, x, seed):
    torch.manual_seed(seed)
    model.zero_grad()
    y = call(x)
    y.square().sum().backward()
    return [y.detach(), *(p.grad.clone() for p in model.parameters())]


@pytest.fixture(autouse=True)
def forget(monkeypatch):
    monkeypatch.setattr(torch.backends.cudnn, "deterministic", True)
    torch._dynamo.reset()


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("options", CASES, ids=str)
def test_compiled_models_have_the_bits_of_the_module(device, options):
    eager = nt.lower(network(device), "e4m3", "e4m3", "e5m2", "e5m2", **options)
    traced = copy.deepcopy(eager)
    compiled = torch.compile(traced, fullgraph=True, backend="aot_eager")
    for step in range(3):
        x = torch.randn(8, 1, 8, 8, device=device)
        assert all(map(same_bits, step_of(traced, compiled, x, step), step_of(eager, eager, x, step)))
    if "stochastic" in str(options) and options.get("seed", 0) is not None:
        assert traced[0].nibble_lowering.step == eager[0].nibble_lowering.step == 3


@pytest.mark.parametrize("mode", ["none", "qtorch"])
@pytest.mark.parametrize("rounding", ["nearest", "stochastic"])
def test_qpytorchs_numbers_compile(mode, rounding):
    with qtorch.compat(mode):
        numbers = qtorch.FloatingPoint(5, 2), qtorch.FixedPoint(8, 4), qtorch.BlockFloatingPoint(8), qtorch.Posit(8, 1)
        for number in numbers:
            eager = qtorch.quant.Quantizer(number, number, rounding, rounding)
            traced = copy.deepcopy(eager)
            compiled = torch.compile(traced, fullgraph=True, backend="aot_eager")
            for step in range(2):
                x, y = (torch.linspace(-3, 3, 100).requires_grad_() for _ in range(2))
                torch.manual_seed(step)
                found = compiled(x)
                torch.manual_seed(step)
                expected = eager(y)
                found.backward(torch.linspace(-1, 1, 100))
                expected.backward(torch.linspace(-1, 1, 100))
                assert same_bits(found, expected) and same_bits(x.grad, y.grad)
    with qtorch.compat("none"):
        compiled = torch.compile(lambda x: qtorch.quant.float_quantize(x, 5, 2, rounding, seed=3), fullgraph=True)
        assert same_bits(compiled(x.detach()), qtorch.quant.float_quantize(x.detach(), 5, 2, rounding, seed=3))


@pytest.mark.parametrize("device", DEVICES)
def test_the_real_compiler_takes_them(device):
    """Roundings are those of the module; what torch fuses around them may round otherwise, so layers are alone."""
    for options in (dict(), dict(rounding="stochastic")):
        eager = nt.Quantizer("e4m3", "e5m2", *[options.get("rounding", "nearest-even")] * 2)
        traced = copy.deepcopy(eager)
        compiled = torch.compile(traced, fullgraph=True)
        for step in range(2):
            x = torch.randn(100, device=device)
            found, expected = x.clone().requires_grad_(), x.clone().requires_grad_()
            y, z = compiled(found), eager(expected)
            assert same_bits(y, z)
            y.backward(x * 3)
            z.backward(x * 3)
            assert same_bits(found.grad, expected.grad)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("format", ["e4m3", "e5m2", "fp16", "e2m1", "e6m9", "fixed(8,4)", "int8", "p3109(8,3)"])
def test_roundings_that_compilers_fuse_are_the_formats(device, format):
    rule = graph_rounding(format, "nearest-even", "native")
    assert rule is not None
    x = mixed_values(20000).to(device)
    assert same_bits(rule.round(x), nibble.quantize(x, format))
    compiled = torch.compile(rule.round, fullgraph=True)
    assert same_bits(compiled(x * 1.5), nibble.quantize(x * 1.5, format))
    assert same_bits(compiled(x.bfloat16()), nibble.quantize(x.bfloat16(), format))


def test_roundings_that_are_not_fused():
    others = [(name, "nearest-even") for name in ("posit(8,1)", "bfp(8)", "bf16")] + [("e4m3", "stochastic")]
    assert all(graph_rounding(format, rounding, "native") is None for format, rounding in others)


def test_roundings_stay_operations_where_the_environment_asks(monkeypatch):
    x = torch.randn(8, 1, 8, 8)
    expected = nt.lower(network("cpu"), "e4m3", "e4m3").eval()(x)
    monkeypatch.setenv("NIBBLE_TORCH_FUSE", "0")
    lowered = nt.lower(network("cpu"), "e4m3", "e4m3").eval()
    assert "nibble.quantize" in str(torch.export.export(lowered, (x,)).graph)
    assert same_bits(torch.compile(lowered, fullgraph=True, backend="aot_eager")(x), expected)


def test_there_are_no_graph_breaks():
    lowered = nt.lower(network("cpu"), "e4m3", "e4m3", "e5m2", "e5m2", rounding="stochastic")
    told = torch._dynamo.explain(lowered)(torch.randn(8, 1, 8, 8))
    assert told.graph_count == 1 and told.graph_break_count == 0


@pytest.mark.parametrize("options", [dict(), dict(rounding="stochastic"), dict(accumulator="fp16")], ids=str)
def test_exported_programs_have_the_bits_of_the_module(options):
    lowered = nt.lower(network("cpu"), "e4m3", "e4m3", **options).eval()
    x = torch.randn(8, 1, 8, 8)
    program = torch.export.export(lowered, (x,))
    expected = copy.deepcopy(lowered)(x)
    assert ("nibble.quantize" in str(program.graph)) == ("stochastic" in str(options))  # others are torch's own
    assert same_bits(program.module()(x), expected)
    assert same_bits(program.module()(x), expected)  # without state


def test_operations_pass_torchs_own_checks():
    x = torch.randn(16, requires_grad=True)
    key = torch.tensor([3, 4])
    checks = ("test_schema", "test_autograd_registration", "test_faketensor")
    for rounding, own_key in (("nearest-even", None), ("stochastic", key)):
        arguments = (x, "e4m3", rounding, "native", "none", own_key, 5)
        torch.library.opcheck(torch.ops.nibble.quantize, arguments, test_utils=checks)
        torch.library.opcheck(torch.ops.nibble.quantize_by_draws, arguments, test_utils=checks)
    a, b = torch.randn(3, 4), torch.randn(4, 5)
    arguments = (a, b, "fp16", "", "nearest-even", "native", "separate", "sequential", 0, None, 0)
    for needs_gradients in (False, True):
        factors = [factor.clone().requires_grad_(needs_gradients) for factor in (a, b)]
        torch.library.opcheck(torch.ops.nibble.matmul, (*factors, *arguments[2:]), test_utils=checks)


def test_gradients_of_products_are_products_of_the_same_rules():
    a, b, error = torch.randn(3, 40), torch.randn(40, 5), torch.randn(3, 5)
    for rounding, key in (("nearest-even", None), ("stochastic", torch.tensor([3, 4]))):
        words = ("fp16", "", rounding, "native", "separate", "sequential", 0)
        own, others = ([a.clone().requires_grad_(), b.clone().requires_grad_()] for _ in range(2))
        name = "matmul" if key is None else "matmul_by_draws"
        getattr(torch.ops.nibble, name)(*own, *words, key, 4096).backward(error)
        seed, step = (0, 0) if key is None else (3, 4)
        rules = nibble.Accumulator("fp16", rounding=rounding)
        nt.matmul(*others, accumulator=rules, seed=seed, step=step, stream=1).backward(error)
        assert all(same_bits(one.grad, other.grad) for one, other in zip(own, others))


PRODUCTS = {
    "matmul": lambda x, w: nt.matmul(x, w, accumulator="fp16"),
    "drawn": lambda x, w: nt.matmul(x, w, accumulator=DRAWN, seed=(1 << 64) - 3, step=5, stream=2),
    "batch": lambda x, w: nt.matmul(x.view(2, 4, 16), w, accumulator=DRAWN, backward="fp16", seed=3),
    "linear": lambda x, w: nt.linear(x, w.t(), accumulator="e4m3", backward=None),
    "conv2d": lambda x, w: nt.conv2d(x.view(2, 4, 4, 4), w.view(3, 4, 2, 2), accumulator=DRAWN, seed=4),
}


@pytest.mark.parametrize("name", PRODUCTS)
def test_products_draw_by_numbers_that_are_given(name):
    """Functions have no module whose key a graph could count."""
    eager, traced = ([torch.randn(8, 16), torch.randn(16, 3)] for _ in range(2))
    for one, other in zip(eager, traced):
        other.copy_(one)
        one.requires_grad_(), other.requires_grad_()
    found = torch.compile(PRODUCTS[name], fullgraph=True, backend="aot_eager")(*traced)
    expected = PRODUCTS[name](*eager)
    found.square().sum().backward()
    expected.square().sum().backward()
    assert same_bits(found, expected) and all(same_bits(one.grad, other.grad) for one, other in zip(eager, traced))


@pytest.mark.parametrize("rounder", [nt.Rounder("e4m3"), nt.Rounder("posit(8,1)"), nt.Rounder("e4m3", "stochastic")], ids=str)
def test_rounders_draw_by_numbers_that_are_given(rounder):
    rounded = lambda x: 2 * rounder.round(x, seed=(1 << 64) - 3, step=5, stream=2)
    x = torch.randn(100, requires_grad=True)
    found = torch.compile(rounded, fullgraph=True, backend="aot_eager")(x)
    assert same_bits(found, rounded(x)) and not found.requires_grad and not rounded(x).requires_grad


@pytest.mark.parametrize("format", ["e4m3", "bfp(8)"])
def test_vmap_rounds_every_member_by_itself(format):
    x = torch.randn(5, 7) * torch.tensor([1.0, 10, 100, 1000, 1e4]).unsqueeze(1)
    rounded = lambda one: torch.ops.nibble.quantize(one, format, "nearest-even", "native", "none", None, 0)
    expected = torch.stack([nibble.quantize(one, format) for one in x])
    assert same_bits(torch.vmap(rounded)(x), expected)
    assert same_bits(torch.vmap(rounded, in_dims=1)(x.t()), expected)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("format", ["e4m3", "bfp(8)"])
def test_vmap_draws_for_every_member_alike(device, format):
    """One key is one set of draws, whichever member of a batch asks."""
    x, key = torch.randn(3, 64, device=device), torch.tensor([7, 9])
    rounded = lambda one: torch.ops.nibble.quantize(one, format, "stochastic", "native", "none", key, 5)
    alone = [nibble.quantize(one, format, rounding="stochastic", seed=7, step=9, stream=5) for one in x]
    assert same_bits(torch.vmap(rounded)(x), torch.stack(alone))


@pytest.mark.parametrize("in_dims", [(0, None), (1, 2), (None, 0)])
def test_vmap_multiplies_every_member_by_itself(in_dims):
    def batch(dim, *shape):
        return torch.randn(shape) if dim is None else torch.randn(6, *shape).movedim(0, dim)

    a, b = batch(in_dims[0], 3, 40), batch(in_dims[1], 40, 5)
    words = ("fp16", "", "nearest-even", "native", "separate", "sequential", 0, None, 0)
    product = lambda a, b: torch.ops.nibble.matmul(a, b, *words)
    of = lambda x, dim, index: x if dim is None else x.select(dim, index)
    alone = [product(of(a, in_dims[0], i), of(b, in_dims[1], i)) for i in range(6)]
    assert same_bits(torch.vmap(product, in_dims)(a, b), torch.stack(alone))
    bytes_ = [(x * 40).to(torch.int8) for x in (a, b)]
    alone = [integers.matmul(of(bytes_[0], in_dims[0], i), of(bytes_[1], in_dims[1], i)) for i in range(6)]
    assert torch.equal(torch.vmap(torch.ops.nibble.int8_matmul, in_dims)(*bytes_), torch.stack(alone))


@pytest.mark.parametrize("device", DEVICES)
def test_graphs_have_products_of_int8(device):
    """Forward and both gradients, with strides, groups and dilation; torch's own checks of the operations."""
    generator = torch.Generator().manual_seed(0)
    bytes_of = lambda *shape: torch.randint(-128, 128, shape, generator=generator).to(torch.int8).to(device)
    x, weight, rest = bytes_of(3, 4, 9, 11), bytes_of(6, 2, 3, 2), ([2, 1], [1, 0], [1, 2], 2)
    error = bytes_of(*integers.conv2d(x, weight, *rest).shape)
    a, b = bytes_of(17, 40), bytes_of(40, 24)
    calls = (
        ("int8_matmul", integers.matmul, (a, b)),
        ("int8_conv2d", integers.conv2d, (x, weight, *rest)),
        ("int8_conv2d_input_gradient", integers.conv2d_input_gradient, (error, weight, list(x.shape), *rest)),
        ("int8_conv2d_weight_gradient", integers.conv2d_weight_gradient, (error, x, list(weight.shape), *rest)),
    )
    for name, function, arguments in calls:
        operation = getattr(torch.ops.nibble, name)
        torch.library.opcheck(operation, arguments, test_utils=("test_schema", "test_faketensor"))
        doubled = torch.compile(lambda *given: 2 * operation(*given), fullgraph=True, backend="aot_eager")
        assert torch.equal(doubled(*arguments), 2 * function(*arguments)), name


@pytest.mark.skipif(len(DEVICES) < 2, reason="needs a GPU")
def test_cuda_graphs_capture_compiled_models():
    lowered = nt.lower(network("cuda"), "e4m3", "e4m3").eval()
    compiled = torch.compile(lowered, fullgraph=True, mode="reduce-overhead")
    x = torch.randn(8, 1, 8, 8, device="cuda")
    with torch.no_grad():
        for _ in range(4):
            found = compiled(x).clone()
        assert torch.allclose(found, lowered(x), rtol=0.1, atol=0.05)


@pytest.mark.skipif(len(DEVICES) < 2, reason="needs a GPU")
@pytest.mark.parametrize("format", ["e4m3", "posit(8,1)", "bfp(8)"])
def test_cuda_graphs_do_not_repeat_draws(format):
    eager = nt.Quantizer(format, None, "stochastic")
    traced = copy.deepcopy(eager)
    compiled = torch.compile(lambda x: traced(2 * x) + 1, fullgraph=True, mode="reduce-overhead")
    x = torch.randn(1000, device="cuda")
    with torch.no_grad():
        for _ in range(6):
            assert same_bits(compiled(x).clone(), eager(2 * x) + 1)


def test_offloaded_layers_stand_between_graphs():
    near, away = (nt.offload(network("cpu"), device, wire="fp32") for device in ("cpu", "pool"))
    x = torch.randn(8, 1, 8, 8)
    for model, is_whole in ((near, True), (away, False)):
        expected = step_of(model, model, x, 0)
        found = step_of(model, torch.compile(model, fullgraph=is_whole, backend="aot_eager"), x, 0)
        assert all(map(same_bits, found[2:], expected[2:]))


@pytest.mark.parametrize("momentum", [0, 0.9])
def test_optimizers_step_between_graphs(momentum):
    """Of a whole step that is compiled, and of a closure that has a compiled model in it."""

    def trained(compile_step, compile_model):
        torch.manual_seed(0)
        model = nt.lower(nn.Linear(16, 4), "e4m3", "e4m3", rounding="stochastic")
        inner = torch.optim.SGD(model.parameters(), lr=0.1, momentum=momentum)
        optimizer = nt.LowPrecisionOptimizer(inner, weight="e4m3", master="bf16", rounding="stochastic")
        call = compile_model(model)

        def step(x):
            optimizer.zero_grad()
            call(x).square().sum().backward()
            optimizer.step()

        def closed_step(x):
            def loss():
                optimizer.zero_grad()
                found = call(x).square().sum()
                found.backward()
                return found

            optimizer.step(loss)

        for run in (compile_step(step), compile_step(closed_step)):
            for x in torch.randn(3, 8, 16):
                run(x)
        return [*model.parameters(), *optimizer.masters.values()]

    compiled, plain = (lambda call: torch.compile(call, backend="aot_eager")), (lambda call: call)
    expected = trained(plain, plain)
    for ways in ((compiled, plain), (plain, compiled)):
        assert all(same_bits(one, other) for one, other in zip(trained(*ways), expected))
