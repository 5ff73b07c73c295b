# SPDX-License-Identifier: Apache-2.0
"""Whatever is given, a result or one clear line: TypeError, ValueError or RuntimeError, never a crash."""

import pytest

torch = pytest.importorskip("torch")
hypothesis = pytest.importorskip("hypothesis")

from hypothesis import given, settings
from hypothesis import strategies as st

import nibble.qtorch as qtorch
import nibble.torch as nt
from nibble.qtorch import auto_low, optim, quant

JUNK = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-5, 70),
    st.integers(),
    st.floats(),
    st.text(max_size=5),
    st.binary(max_size=3),
    st.lists(st.floats(width=32), max_size=3),
    st.just(object()),
    st.just(torch.float32),
    st.just(len),
    st.complex_numbers(),
    st.sampled_from(["nearest", "stochastic", "e4m3", "bfp(8,axis=3)", "linear", "mxfp4", "fp32"]),
)
TENSORS = st.sampled_from(
    [
        torch.ones(3),
        torch.ones(()),
        torch.ones(0),
        torch.ones(2, 3).t(),
        torch.ones(3, dtype=torch.float64),
        torch.ones(3, dtype=torch.int32),
        torch.ones(3, dtype=torch.bool),
        torch.ones(3, dtype=torch.complex64),
        torch.ones(3, dtype=torch.float16),
        torch.ones(3, 3).to_sparse(),
        torch.empty(3, device="meta"),
        torch.ones(3, requires_grad=True),
        torch.ones(2, 3, 4, 1, 1, 1, 1, 1, 1),
        torch.tensor([float("nan"), 1e38]),
    ]
)
FUNCTIONS = [
    quant.fixed_point_quantize,
    quant.block_quantize,
    quant.float_quantize,
    quant.posit_quantize,
    quant.bfloat16_posit8_quantize,
    quant.convert_to_posit,
    quant.new_format_quantize,
    quant.act_format_quantize,
    quant.configurable_table_quantize,
    quant.configurable_table_quantize_rounding_hint,
    quant.configurable_table_quantize_geomean,
    quant.posit_sigmoid,
    quant.posit_tanh,
    quant.posit_tanh_enhanced,
    quant.quantizer,
    quant.Quantizer,
    optim.OptimLP,
    auto_low.lower,
    auto_low.sequential_lower,
    qtorch.FixedPoint,
    qtorch.BlockFloatingPoint,
    qtorch.FloatingPoint,
    qtorch.Posit,
    qtorch.Positbf,
    qtorch.set_compat,
    nt.quantizer,
    nt.Quantizer,
    nt.lower,
    nt.LowPrecisionOptimizer,
    nt.Rounder,
    nt.matmul,
    nt.linear,
    nt.conv2d,
]


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
@settings(max_examples=60, deadline=None, database=None)
@given(data=st.data())
def test_junk_gives_one_line_or_a_result(function, data):
    first = data.draw(st.one_of(TENSORS, JUNK))
    rest = data.draw(st.lists(st.one_of(JUNK, TENSORS), max_size=5))
    try:
        function(first, *rest)
    except (TypeError, ValueError, RuntimeError) as error:
        assert len(str(error)) > 0
        if "missing" not in str(error) and "positional" not in str(error):
            assert "\n" not in str(error).strip() or isinstance(error, RuntimeError)
    finally:
        qtorch.set_compat("none")


@pytest.mark.parametrize(
    "make, error, words",
    [
        (lambda: quant.float_quantize([1.0], 5, 2), TypeError, "tensor"),
        (lambda: quant.float_quantize(torch.ones(1), 0, 2), ValueError, "exp: got 0"),
        (lambda: quant.float_quantize(torch.ones(1), 5, 24), ValueError, "man: got 24"),
        (lambda: quant.float_quantize(torch.ones(1), 5, 2, "up-ish"), ValueError, "up-ish"),
        (lambda: quant.float_quantize(torch.ones(1, dtype=torch.float64), 5, 2), TypeError, "float64"),
        (lambda: quant.fixed_point_quantize(torch.ones(1), 8.0, 2), TypeError, "wl"),
        (lambda: quant.fixed_point_quantize(torch.ones(1), 8, 2, clamp=1), TypeError, "clamp"),
        (lambda: quant.block_quantize(torch.ones(2, 2), 8, 2), ValueError, "dim: got 2"),
        (lambda: quant.block_quantize(torch.ones(2, 2), 1), ValueError, "wl: got 1"),
        (lambda: quant.posit_quantize(torch.ones(1), 33, 1), ValueError, "nsize"),
        (lambda: quant.posit_quantize(torch.ones(1), 8, 1, 0.0), ValueError, "scale"),
        (lambda: quant.posit_sigmoid(torch.ones(1), 12), ValueError, "8 or 16"),
        (lambda: quant.bfloat16_posit8_quantize(torch.ones(1), 8, 1), TypeError, "bfloat16"),
        (lambda: quant.configurable_table_quantize(torch.ones(1), []), ValueError, "table_lookup"),
        (lambda: quant.configurable_table_quantize(torch.ones(1), [float("inf")]), ValueError, "table_lookup"),
        (lambda: quant.configurable_table_quantize(torch.ones(1), "abc"), TypeError, "table_lookup"),
        (
            lambda: quant.configurable_table_quantize_rounding_hint(torch.ones(1), [1.0], [1.0, 2.0]),
            ValueError,
            "2 hints",
        ),
        (lambda: quant.configurable_table_quantize_geomean(torch.ones(1), [-1.0, 2.0]), ValueError, "one sign"),
        (lambda: quant.quantizer("e4m3"), TypeError, "FixedPoint"),
        (lambda: quant.quantizer(qtorch.BlockFloatingPoint(8), clamping_grad_zero=True), ValueError, "range"),
        (lambda: quant.quantizer(qtorch.FixedPoint(8, 4, clamp=False), clamping_grad_zero=True), ValueError, "range"),
        (lambda: auto_low.lower(torch.nn.ReLU(), ["relu"], qtorch.FixedPoint(8, 4)), ValueError, "relu"),
        (lambda: qtorch.set_compat("qtorch-0.3"), ValueError, "qtorch-bits"),
        (lambda: qtorch.install("no name"), ValueError, "no name"),
    ],
)
def test_mistakes_are_named(make, error, words):
    with pytest.raises(error, match=words) as caught:
        make()
    assert "\n" not in str(caught.value)
