# SPDX-License-Identifier: Apache-2.0
"""Rounding in autograd: values are rounded on the way forward, gradients on the way back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Callable, Tuple

import torch

from . import ops
from .draws import WORD, Key


@dataclass(frozen=True)
class Rule:
    """What happens to a tensor and to its gradient. Stream s draws from 2s forward and 2s+1 backward."""

    forward: Any = None
    backward: Any = None
    clamps_gradient: bool = False
    hooks: Tuple[Callable[[torch.Tensor], torch.Tensor], ...] = ()
    stream: int = 0

    @property
    def is_random(self) -> bool:
        return any(r is not None and r.is_stochastic for r in (self.forward, self.backward))

    def round_forward(self, x: torch.Tensor, key: Key) -> torch.Tensor:
        return self.forward.round(x, seed=key.seed, step=key.step, stream=2 * self.stream & WORD)

    def round_backward(self, grad: torch.Tensor, key: Key) -> torch.Tensor:
        return self.backward.round(grad, seed=key.seed, step=key.step, stream=2 * self.stream + 1 & WORD)

    def clamped(self, x: torch.Tensor, key: Key) -> torch.Tensor:
        return self.forward.clamped(x, seed=key.seed, step=key.step, stream=2 * self.stream & WORD)


class _RoundGradient(torch.autograd.Function):
    """Rounds a gradient; its own derivative is straight-through, so that double backward is defined."""

    @staticmethod
    def forward(ctx: Any, grad: torch.Tensor, rule: Rule, key: Key) -> torch.Tensor:
        return rule.round_backward(grad, key)

    @staticmethod
    def backward(ctx: Any, grad: torch.Tensor) -> Tuple[Any, ...]:
        return grad, None, None


class _Round(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, rule: Rule, key: Key) -> torch.Tensor:
        ctx.rule, ctx.key = rule, key
        ctx.save_for_backward(*([rule.clamped(x, key)] if rule.clamps_gradient else []))
        return x.view_as(x) if rule.forward is None else rule.round_forward(x, key)

    @staticmethod
    def backward(ctx: Any, grad: torch.Tensor) -> Tuple[Any, ...]:
        if not ops.is_tracing() and grad.layout != torch.strided:
            raise RuntimeError("quantizer: got a sparse gradient, expected a dense one")
        for hook in ctx.rule.hooks:
            grad = hook(grad)
        if ctx.rule.backward is not None:
            grad = _RoundGradient.apply(grad, ctx.rule, ctx.key)
        if ctx.saved_tensors:
            grad = grad.masked_fill(ctx.saved_tensors[0], 0)
        return grad, None, None


def apply_rule(x: torch.Tensor, rule: Rule, key: Key) -> torch.Tensor:
    return _Round.apply(x, rule, key)
