# SPDX-License-Identifier: Apache-2.0
"""CUDA graphs capture the operations that torch.library knows; a replay works on what lies in the inputs by then."""

import pytest

torch = pytest.importorskip("torch")

import nibble
import nibble.torch as nt
from nibble.torch import ops
from torch_devices import DEVICES, same_bits

pytestmark = [
    pytest.mark.skipif(len(DEVICES) < 2, reason="needs a GPU and a build with CUDA"),
    pytest.mark.skipif(not ops.HAS_OPS, reason="torch before 2.5 registers no operations"),
]

FORMATS = ["posit(8,1)", "e4m3", "mxfp4", "int8(scale=absmax)"]


def captured(call):
    """A graph of the call, and the tensor that every replay writes."""
    call()  # before the capture, as torch asks: what is loaded or made once
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        result = call()
    return graph, result


@pytest.mark.parametrize("format", FORMATS)
def test_graphs_capture_roundings(format):
    x = torch.randn(4096, device="cuda")
    rest = (format, "nearest-even", "native", "none", None, 0)
    graph, rounded = captured(lambda: torch.ops.nibble.quantize(x, *rest))
    for scale in (1, 100):
        x.copy_(scale * torch.randn(4096))
        graph.replay()
        torch.cuda.synchronize()
        assert same_bits(rounded, nibble.quantize(x.cpu(), format))


@pytest.mark.parametrize("format", ["fp16", "e4m3"])
def test_graphs_capture_products(format):
    a, b = torch.randn(33, 70, device="cuda"), torch.randn(70, 40, device="cuda")
    words = (format, "", "nearest-even", "native", "separate", "sequential", 0, None, 0)
    graph, product = captured(lambda: torch.ops.nibble.matmul(a, b, *words))
    for scale in (1, 10):
        a.copy_(scale * torch.randn(33, 70))
        graph.replay()
        torch.cuda.synchronize()
        assert same_bits(product, nibble.matmul(a.cpu(), b.cpu(), accumulator=format))


GEOMETRY = [2, 1], [1, 1], [1, 1], 1


def drawn(*shape):
    return torch.randint(-128, 128, shape, dtype=torch.int8)


PRODUCTS = {
    "int8_matmul": ((33, 70), (70, 40), lambda call, a, b: call(a, b)),
    "int8_conv2d": ((2, 4, 9, 8), (6, 4, 3, 3), lambda call, x, weight: call(x, weight, *GEOMETRY)),
    "int8_conv2d_input_gradient": (
        (2, 6, 5, 8),
        (6, 4, 3, 3),
        lambda call, error, weight: call(error, weight, [2, 4, 9, 8], *GEOMETRY),
    ),
    "int8_conv2d_weight_gradient": (
        (2, 6, 5, 8),
        (2, 4, 9, 8),
        lambda call, error, x: call(error, x, [6, 4, 3, 3], *GEOMETRY),
    ),
}


@pytest.mark.parametrize("name", PRODUCTS)
def test_graphs_capture_integer_products(name):
    first, second, product = PRODUCTS[name]
    call = getattr(torch.ops.nibble, name)
    a, b = drawn(*first).to("cuda"), drawn(*second).to("cuda")
    graph, sums = captured(lambda: product(call, a, b))
    for _ in range(2):
        a.copy_(drawn(*first))
        graph.replay()
        torch.cuda.synchronize()
        assert torch.equal(sums.cpu(), product(call, a.cpu(), b.cpu()))


@pytest.mark.parametrize("format", FORMATS)
def test_compiled_roundings_are_replayed(format):
    """By mode="reduce-overhead", which captures what the compiler leaves to the operations."""
    eager = nt.Quantizer(format)
    compiled = torch.compile(lambda x: eager(2 * x) + 1, fullgraph=True, mode="reduce-overhead")
    with torch.no_grad():
        for _ in range(6):
            x = torch.randn(1000, device="cuda")
            assert same_bits(compiled(x).clone(), eager(2 * x) + 1)
