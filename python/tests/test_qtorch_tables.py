# SPDX-License-Identifier: Apache-2.0
"""Tables by their definition, with exact arithmetic as the judge."""

from fractions import Fraction

import pytest

torch = pytest.importorskip("torch")
hypothesis = pytest.importorskip("hypothesis")

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

import nibble.qtorch as qtorch
from nibble.qtorch import tables
from nibble.qtorch.quant import (
    act_format_quantize,
    configurable_table_quantize,
    configurable_table_quantize_geomean,
    configurable_table_quantize_rounding_hint,
    new_format_quantize,
)
from torch_devices import DEVICES, same_bits

FINITE = st.floats(width=32, allow_nan=False, allow_infinity=False)
POSITIVE = st.floats(min_value=2.0**-100, max_value=2.0**100, width=32)


def by_definition(y, entries, choose):
    if y == 0:
        return 0.0
    chosen = choose(abs(Fraction(y)), entries)
    return -chosen if y < 0 else chosen


def nearest(magnitude, entries):
    return min(entries, key=lambda entry: abs(Fraction(entry) - magnitude))  # min takes the first of equals


@np.errstate(over="ignore")
def neighbours(value):
    value = np.float32(value)
    return [float(np.nextafter(value, np.float32(end))) for end in (-np.inf, np.inf)] + [float(value)]


@settings(max_examples=200, deadline=None, database=None)
@given(st.lists(FINITE, min_size=1, max_size=8), st.lists(FINITE, max_size=8))
def test_nearest_entry_is_exact_and_ties_go_to_the_lower_index(table, x):
    with np.errstate(over="ignore"):
        middles = [float(np.float32((a + b) / 2)) for a in table for b in table if abs(a + b) < 6e38]
    values = [v for m in middles for v in neighbours(m) if np.isfinite(v)] + x + table
    expected = [by_definition(v, table, nearest) for v in values]
    assert configurable_table_quantize(torch.tensor(values), torch.tensor(table)).tolist() == expected


@settings(max_examples=200, deadline=None, database=None)
@given(st.lists(st.tuples(FINITE, FINITE), min_size=1, max_size=8), st.lists(FINITE, max_size=8))
def test_rounding_hints_choose_the_last_entry_exceeded(pairs, x):
    table, hints = zip(*pairs)
    values = [v for h in hints for v in neighbours(h) if np.isfinite(v)] + x

    def last(magnitude, _):
        return ([0.0] + [c for c, h in pairs if magnitude > Fraction(h)])[-1]

    expected = [by_definition(v, table, last) for v in values]
    got = configurable_table_quantize_rounding_hint(torch.tensor(values), torch.tensor(table), torch.tensor(hints))
    assert got.tolist() == expected


@settings(max_examples=200, deadline=None, database=None)
@given(st.lists(POSITIVE, min_size=1, max_size=8))
def test_geometric_means_are_compared_exactly(table):
    first = Fraction(float(np.float32(1e-4)))
    squares = [first * first] + [Fraction(a) * Fraction(b) for a, b in zip(table, table[1:])]
    values = [v for s in squares for v in neighbours(float(s) ** 0.5)] + table

    def last(magnitude, _):
        return ([0.0] + [c for c, s in zip(table, squares) if magnitude * magnitude > s])[-1]

    expected = [by_definition(v, table, last) for v in values]
    assert configurable_table_quantize_geomean(torch.tensor(values), torch.tensor(table)).tolist() == expected


@pytest.mark.parametrize("device", DEVICES)
def test_scales_specials_and_types(device):
    x = torch.tensor([0.0, -0.0, float("nan"), float("inf"), -float("inf"), 1e30, 0.04, -0.04], device=device)
    y = configurable_table_quantize(x, [0.5, 2.0], scale=10.0)
    assert (
        torch.isnan(y[2])
        and y[[0, 1, 3, 4, 5, 6, 7]].tolist() == torch.tensor([0.0, 0.0, 0.2, -0.2, 0.2, 0.05, -0.05]).tolist()
    )
    assert torch.signbit(y[:2]).tolist() == [False, False] and y.device == x.device
    for dtype in (torch.float16, torch.bfloat16):
        assert new_format_quantize(x.to(dtype)).dtype == dtype
    geomean = configurable_table_quantize_geomean(x, torch.tensor([0.5, 2.0]))
    assert torch.isnan(geomean[2]) and geomean[3].item() == 2.0
    with qtorch.compat("qtorch+"):
        forks = configurable_table_quantize(x, [0.5, 2.0])
        assert forks[2:6].tolist() == [0.0] * 4  # B8


def test_the_tables_of_the_fork():
    assert len(tables.NEW_FORMAT) == len(tables.ACT_FORMAT) == 32
    assert list(tables.NEW_FORMAT) == sorted(tables.NEW_FORMAT) and list(tables.ACT_FORMAT) == sorted(tables.ACT_FORMAT)
    for function, table in ((new_format_quantize, tables.NEW_FORMAT), (act_format_quantize, tables.ACT_FORMAT)):
        values = torch.tensor(table)
        assert torch.equal(function(values), values) and torch.equal(function(-values), -values)
    assert new_format_quantize(torch.tensor([1e-9])).item() == 2.0**-16  # only zero becomes zero


def test_stochastic_tables_have_the_right_mean():
    x = torch.full((100000,), 0.7)
    y = configurable_table_quantize(x, [0.5, 1.0], rounding="stochastic", seed=3)
    assert set(y.tolist()) == {0.5, 1.0} and abs(y.mean().item() - 0.7) < 0.005
    assert same_bits(y, configurable_table_quantize(x, [0.5, 1.0], rounding="stochastic", seed=3))
