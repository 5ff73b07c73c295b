# SPDX-License-Identifier: Apache-2.0
"""OptimLP: nibble.torch's low-precision optimizer under QPyTorch's names."""

from __future__ import annotations

from typing import Callable, Dict, Iterable, Optional

import torch

from ...torch import LowPrecisionOptimizer

__all__ = ["OptimLP"]

Quant = Optional[Callable[[torch.Tensor], torch.Tensor]]


class OptimLP(LowPrecisionOptimizer):
    """Wraps any optimizer; the arguments are functions of a tensor, such as quantizers, or None.

    As in QPyTorch the first weights are not rounded, momentum is rounded after it was used, and `acc_quant`
    makes a copy of the weights that updates are added to. Unlike there closures are called, grad_scaling always
    counts, and state_dict holds everything.
    """

    def __init__(
        self,
        optim: torch.optim.Optimizer,
        weight_quant: Quant = None,
        grad_scaling: float = 1.0,
        grad_quant: Quant = None,
        momentum_quant: Quant = None,
        acc_quant: Quant = None,
        *,
        momentum_keys: Optional[Iterable[str]] = None,
        round_initial: bool = False,
        seed: Optional[int] = None,
    ) -> None:
        super().__init__(
            optim,
            weight=weight_quant,
            gradient=grad_quant,
            momentum=momentum_quant,
            master=acc_quant,
            gradient_scaling=grad_scaling,
            momentum_keys=momentum_keys,
            round_initial=round_initial,
            seed=seed,
        )
        self.weight_quant, self.grad_quant = weight_quant, grad_quant
        self.momentum_quant, self.acc_quant = momentum_quant, acc_quant

    @property
    def optim(self) -> torch.optim.Optimizer:
        return self.inner

    @property
    def grad_scaling(self) -> float:
        return self.gradient_scaling

    @property
    def weight_acc(self) -> Dict[torch.Tensor, torch.Tensor]:
        return self.masters
