# SPDX-License-Identifier: Apache-2.0
"""A GPU gives the CPU's bits, on any stream, and tensors stay where they are."""

import pytest

torch = pytest.importorskip("torch")

import nibble.qtorch as qtorch
import nibble.torch as nt
from nibble.qtorch import quant
from torch_devices import DEVICES, mixed_values, same_bits

pytestmark = pytest.mark.skipif("cuda" not in DEVICES, reason="no GPU, or a build without CUDA")

TABLE, HINTS = [0.1, 0.3, 1.0, 2.5, 7.0], [0.05, 0.2, 0.9, 0.7, 5.0]
FUNCTIONS = {
    "fixed nearest": lambda x: quant.fixed_point_quantize(x, 8, 4, rounding="nearest"),
    "fixed stochastic": lambda x: quant.fixed_point_quantize(x, 8, 4, seed=1),
    "fixed wide": lambda x: quant.fixed_point_quantize(x, 32, 8, rounding="nearest"),
    "block": lambda x: quant.block_quantize(x, 8, rounding="nearest"),
    "block along 1": lambda x: quant.block_quantize(x.reshape(64, -1), 6, 1, seed=2),
    "float nearest": lambda x: quant.float_quantize(x, 4, 3, "nearest"),
    "float stochastic": lambda x: quant.float_quantize(x, 5, 2, seed=3),
    "bfloat": lambda x: quant.float_quantize(x, 8, 7, "nearest"),
    "posit": lambda x: quant.posit_quantize(x, 8, 1, 10.0),
    "posit stochastic": lambda x: quant.posit_quantize(x, 16, 2, rounding="stochastic", seed=4),
    "posit codes": lambda x: quant.convert_to_posit(x, 16, 1).float(),
    "sigmoid": lambda x: quant.posit_sigmoid(x, 8),
    "tanh": lambda x: quant.posit_tanh_enhanced(x, 16),
    "table": lambda x: quant.configurable_table_quantize(x, TABLE, 3.0),
    "hints": lambda x: quant.configurable_table_quantize_rounding_hint(x, TABLE, HINTS, 3.0),
    "geometric means": lambda x: quant.configurable_table_quantize_geomean(x, TABLE),
    "table stochastic": lambda x: quant.configurable_table_quantize(x, TABLE, rounding="stochastic", seed=5),
}


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("mode", ["none", "qtorch", "qtorch-bits", "qtorch+"])
def test_a_gpu_gives_the_cpus_bits(name, mode):
    x = mixed_values()
    with qtorch.compat(mode):
        on_gpu = FUNCTIONS[name](x.cuda())
        assert on_gpu.is_cuda and same_bits(on_gpu, FUNCTIONS[name](x))


def test_side_streams_are_followed():
    """A9: QPyTorch's kernels run on the default stream, and read what is not there yet."""
    x = torch.randn(1 << 22, device="cuda")
    expected = quant.float_quantize(x * 3, 5, 2, "nearest")
    stream = torch.cuda.Stream()
    for _ in range(20):
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            slow = x
            for _ in range(50):
                slow = slow * 1.0
            result = quant.float_quantize(slow * 3, 5, 2, "nearest")
        torch.cuda.current_stream().wait_stream(stream)
        assert torch.equal(result, expected)


def test_a_training_step_of_rounding_is_the_same_on_both():
    """The product is torch's and differs; what is rounded, given the same numbers, does not."""
    torch.manual_seed(0)
    weight, grad = torch.randn(300), torch.randn(300)
    seen = []
    for device in ("cpu", "cuda"):
        p = torch.nn.Parameter(weight.clone().to(device))
        optimizer = nt.LowPrecisionOptimizer(
            torch.optim.SGD([p], lr=0.125, momentum=0.5),
            weight="e4m3",
            gradient="e5m2",
            momentum="bf16",
            master="fp16",
            rounding="stochastic",
            seed=9,
        )
        for _ in range(4):
            p.grad = grad.clone().to(device)
            optimizer.step()
        seen.append(p.detach())
    assert same_bits(*seen)


def test_lowered_models_run_on_a_gpu():
    torch.manual_seed(0)
    net = torch.nn.Sequential(torch.nn.Conv2d(1, 2, 3), torch.nn.ReLU(), torch.nn.Flatten(), torch.nn.Linear(8, 2))
    low = nt.lower(net, "e4m3", "e4m3", "e5m2", "e5m2", rounding="stochastic").cuda()
    out = low(torch.randn(2, 1, 4, 4, device="cuda"))
    out.sum().backward()
    assert out.is_cuda and all(p.grad is not None and p.grad.is_cuda for p in low.parameters())
