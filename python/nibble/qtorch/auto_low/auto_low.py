# SPDX-License-Identifier: Apache-2.0
"""lower and sequential_lower: layers whose results, errors and, if wanted, weights are rounded."""

from __future__ import annotations

from typing import Iterable, Optional

from torch import nn

from ... import torch as nibble_torch
from ..arithmetic import rounder_of
from ..number import Number

__all__ = ["lower", "sequential_lower"]


def _lower(
    model: nn.Module,
    layer_types: Iterable[str],
    forward_number: Optional[Number],
    backward_number: Optional[Number],
    forward_rounding: str,
    backward_rounding: str,
    weight_number: Optional[Number],
    weight_rounding: str,
    seed: Optional[int],
    in_place: bool,
) -> nn.Module:
    return nibble_torch.lower(
        model,
        activation=rounder_of(forward_number, forward_rounding, "forward_number"),
        error=rounder_of(backward_number, backward_rounding, "backward_number"),
        weight=rounder_of(weight_number, weight_rounding, "weight_number"),
        types=layer_types,
        seed=seed,
        in_place=in_place,
    )


def lower(
    model: nn.Module,
    layer_types: Iterable[str] = (),
    forward_number: Optional[Number] = None,
    backward_number: Optional[Number] = None,
    forward_rounding: str = "stochastic",
    backward_rounding: str = "stochastic",
    *,
    weight_number: Optional[Number] = None,
    weight_rounding: str = "nearest",
    seed: Optional[int] = None,
) -> None:
    """Lowers the layers of these types in place: "conv", "linear", "pool", "pad", "activation", "normalization",
    "dropout", "loss", and also "recurrent", "attention", "embedding". Subclasses count. Weights stay unless
    weight_number is given."""
    _lower(
        model,
        layer_types,
        forward_number,
        backward_number,
        forward_rounding,
        backward_rounding,
        weight_number,
        weight_rounding,
        seed,
        in_place=True,
    )


def sequential_lower(
    model: nn.Module,
    layer_types: Iterable[str] = (),
    forward_number: Optional[Number] = None,
    backward_number: Optional[Number] = None,
    forward_rounding: str = "stochastic",
    backward_rounding: str = "stochastic",
    *,
    weight_number: Optional[Number] = None,
    weight_rounding: str = "nearest",
    seed: Optional[int] = None,
) -> nn.Module:
    """A lowered copy of the model, with the names of its parameters."""
    return _lower(
        model,
        layer_types,
        forward_number,
        backward_number,
        forward_rounding,
        backward_rounding,
        weight_number,
        weight_rounding,
        seed,
        in_place=False,
    )
