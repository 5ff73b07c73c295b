# SPDX-License-Identifier: Apache-2.0
"""`quantizer` as a module."""

from __future__ import annotations

from typing import Optional

from ... import torch as nibble_torch
from ...torch.quantizer import Hooks
from ..number import Number
from .quant_function import quantizer_parts

__all__ = ["Quantizer"]


class Quantizer(nibble_torch.Quantizer):
    """Takes all that `quantizer` takes. With a seed its step is in state_dict."""

    def __init__(
        self,
        forward_number: Optional[Number] = None,
        backward_number: Optional[Number] = None,
        forward_rounding: str = "stochastic",
        backward_rounding: str = "stochastic",
        clamping_grad_zero: bool = False,
        backward_hooks: Hooks = (),
        *,
        seed: Optional[int] = None,
    ) -> None:
        super().__init__(
            **quantizer_parts(
                forward_number, backward_number, forward_rounding, backward_rounding, clamping_grad_zero, backward_hooks
            ),
            seed=seed,
        )
