# SPDX-License-Identifier: Apache-2.0
"""Tables of magnitudes of QPyTorch's fork: results are ±entries of the table, divided by the scale."""

from __future__ import annotations

from typing import Any, Callable, Optional, Sequence

import torch

import nibble

from ...errors import ArgumentTypeError, UsageError
from .. import fork_tables, tables
from ..arithmetic import check_rounding, check_tensor, draw_seed, format_of, scaled
from ..compat import get_compat
from ..number import check_scale

__all__ = [
    "act_format_quantize",
    "configurable_table_quantize",
    "configurable_table_quantize_geomean",
    "configurable_table_quantize_rounding_hint",
    "new_format_quantize",
]


def _by_rule(x: torch.Tensor, scale: float, where: str, rule: Callable[[torch.Tensor], torch.Tensor]) -> torch.Tensor:
    check_tensor(x, where)
    check_scale(scale)
    if x.dtype not in (torch.float32, torch.float16, torch.bfloat16):
        raise ArgumentTypeError(f"{where}: got {x.dtype}, expected float32, float16 or bfloat16")
    return scaled(x.detach().float(), scale, rule).to(x.dtype)


def _table_quantize(
    x: torch.Tensor, table: Sequence[float], scale: float, rounding: str, seed: Optional[int], where: str
) -> torch.Tensor:
    if check_rounding(rounding) == "nearest" or get_compat() == "qtorch+":
        rules = fork_tables if get_compat() == "qtorch+" else tables
        return _by_rule(x, scale, where, lambda y: rules.nearest_entry(y, table))
    entries = ",".join(repr(float(entry)) for entry in sorted(set(table)))
    fmt = format_of(f"codebook([{entries}],signed)")
    key = draw_seed(rounding, seed)
    return _by_rule(x, scale, where, lambda y: nibble.quantize(y, fmt, rounding=rounding, seed=key))


def new_format_quantize(
    x: torch.Tensor, scale: float = 1.0, rounding: str = "nearest", *, seed: Optional[int] = None
) -> torch.Tensor:
    """The fork's table for weights, 2^-16 to 1.

    >>> new_format_quantize(torch.tensor([0.3, -2.0]))
    tensor([ 0.2500, -1.0000])
    """
    return _table_quantize(x, tables.NEW_FORMAT, scale, rounding, seed, "new_format_quantize")


def act_format_quantize(
    x: torch.Tensor, scale: float = 1.0, rounding: str = "nearest", *, seed: Optional[int] = None
) -> torch.Tensor:
    """The fork's table for activations, 2^-12 to 16.

    >>> act_format_quantize(torch.tensor([0.3, -99.0]))
    tensor([  0.3125, -16.0000])
    """
    return _table_quantize(x, tables.ACT_FORMAT, scale, rounding, seed, "act_format_quantize")


def configurable_table_quantize(
    x: torch.Tensor, table_lookup: Any, scale: float = 1.0, rounding: str = "nearest", *, seed: Optional[int] = None
) -> torch.Tensor:
    """The entry nearest to |x · scale|, with the sign of x; a tie goes to the lower index, and only 0 to 0.

    Other roundings than "nearest" are those of the format codebook([…],signed), where zero is an entry too.

    >>> configurable_table_quantize(torch.tensor([0.1, -0.7, 3.0]), [0.5, 1.0])
    tensor([ 0.5000, -0.5000,  1.0000])
    """
    table = tables.table_of(table_lookup, "table_lookup")
    return _table_quantize(x, table, scale, rounding, seed, "configurable_table_quantize")


def configurable_table_quantize_rounding_hint(
    x: torch.Tensor, table_lookup: Any, rounding_hint: Any, scale: float = 1.0
) -> torch.Tensor:
    """The last entry whose hint |x · scale| exceeds, with the sign of x; 0 where it exceeds none.

    >>> configurable_table_quantize_rounding_hint(torch.tensor([0.1, -0.7, 3.0]), [0.5, 1.0], [0.2, 0.6])
    tensor([ 0., -1.,  1.])
    """
    table = tables.table_of(table_lookup, "table_lookup")
    hints = tables.table_of(rounding_hint, "rounding_hint")
    if len(hints) != len(table):
        raise UsageError(f"rounding_hint: got {len(hints)} hints for {len(table)} entries, expected as many")
    rules = fork_tables if get_compat() == "qtorch+" else tables
    return _by_rule(
        x, scale, "configurable_table_quantize_rounding_hint", lambda y: rules.last_exceeded(y, table, hints)
    )


def configurable_table_quantize_geomean(x: torch.Tensor, table_lookup: Any, scale: float = 1.0) -> torch.Tensor:
    """Hints at the geometric means of neighbours, compared exactly; the first hint is 1e-4.

    >>> configurable_table_quantize_geomean(torch.tensor([0.1, 0.7, 0.8]), [0.5, 1.0])
    tensor([0.5000, 0.5000, 1.0000])
    """
    table = tables.table_of(table_lookup, "table_lookup")
    if get_compat() == "qtorch+":
        hints = fork_tables.geomean_hints(table, tables.GEOMEAN_FIRST_HINT)
        rule = fork_tables.last_exceeded
    else:
        hints, rule = tables.geomean_points(table), tables.last_exceeded
    return _by_rule(x, scale, "configurable_table_quantize_geomean", lambda y: rule(y, table, hints))
