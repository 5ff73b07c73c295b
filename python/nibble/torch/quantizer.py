# SPDX-License-Identifier: Apache-2.0
"""Quantizers: functions and modules that round a tensor forward and its gradient backward."""

from __future__ import annotations

from typing import Any, Callable, Iterable, Optional

import torch

from ..errors import ArgumentTypeError, UsageError
from .draws import Draws, DrawsModule
from .rounder import Rounding, as_rounder
from .straight_through import Rule, apply_rule

GRADIENTS = ("straight-through", "clamped")
Hooks = Iterable[Callable[[torch.Tensor], torch.Tensor]]


def make_rule(
    forward: Rounding = None,
    backward: Rounding = None,
    forward_rounding: str = "nearest-even",
    backward_rounding: str = "nearest-even",
    overflow: str = "native",
    gradient: str = "straight-through",
    hooks: Hooks = (),
    stream: int = 0,
) -> Rule:
    if gradient not in GRADIENTS:
        raise UsageError(f"gradient: got {gradient!r}, expected 'straight-through' or 'clamped'")
    hooks = tuple(hooks)
    if not all(callable(hook) for hook in hooks):
        raise ArgumentTypeError("hooks: expected functions of a gradient")
    if isinstance(stream, bool) or not isinstance(stream, int):
        raise ArgumentTypeError(f"stream: got {type(stream).__name__}, expected an integer")
    if not 0 <= stream < 1 << 31:
        raise UsageError(f"stream: got {stream}, expected 0 to 2^31-1")
    rule = Rule(
        as_rounder(forward, forward_rounding, overflow),
        as_rounder(backward, backward_rounding, overflow),
        gradient == "clamped",
        hooks,
        stream,
    )
    if rule.clamps_gradient:
        if rule.forward is None:
            raise UsageError("gradient: got 'clamped' without a forward format, expected one")
        rule.forward.check_range()
    return rule


class QuantizerFunction:
    """What `quantizer` returns: called with a tensor, it rounds it and counts a step."""

    def __init__(self, rule: Rule, seed: Optional[int]) -> None:
        self.rule = rule
        self.draws = Draws(seed)

    def __call__(self, x: torch.Tensor) -> torch.Tensor:
        check_tensor(x)
        return apply_rule(x, self.rule, self.draws.next(self.rule.is_random))

    def __repr__(self) -> str:
        return f"quantizer({describe(self.rule)})"


def quantizer(
    forward: Rounding = None,
    backward: Rounding = None,
    forward_rounding: str = "nearest-even",
    backward_rounding: str = "nearest-even",
    *,
    overflow: str = "native",
    gradient: str = "straight-through",
    hooks: Hooks = (),
    seed: Optional[int] = 0,
    stream: int = 0,
) -> QuantizerFunction:
    """A function that rounds its argument to `forward`, and the gradient that comes back to `backward`.

    forward, backward  a format, a Rounder, a function of a tensor, or None: nothing is rounded
    gradient           "straight-through", or "clamped": zero where the input lay beyond the format's range
    hooks              functions applied in turn to the incoming gradient before it is rounded
    seed               of stochastic rounding; None takes one from torch's generator at every call
    stream             tells apart quantizers of one seed

    The n-th call draws from step n, forward and backward. Double backward treats every rounding as
    straight-through.

    >>> rounded = nt.quantizer("e4m3", backward="e5m2")
    >>> rounded(torch.tensor([1.3, 1000.0]))
    tensor([  1.2500, 448.0000])
    """
    rule = make_rule(forward, backward, forward_rounding, backward_rounding, overflow, gradient, hooks, stream)
    return QuantizerFunction(rule, seed)


class Quantizer(DrawsModule):
    """`quantizer` as a module; its step is in state_dict.

    >>> layer = nt.Quantizer("int4", forward_rounding="stochastic", seed=7)
    >>> sorted(set(layer(torch.full((100,), 2.5)).tolist())), layer.step
    ([2.0, 3.0], 1)
    """

    def __init__(
        self,
        forward: Rounding = None,
        backward: Rounding = None,
        forward_rounding: str = "nearest-even",
        backward_rounding: str = "nearest-even",
        *,
        overflow: str = "native",
        gradient: str = "straight-through",
        hooks: Hooks = (),
        seed: Optional[int] = 0,
        stream: int = 0,
    ) -> None:
        super().__init__(seed)
        self.rule = make_rule(forward, backward, forward_rounding, backward_rounding, overflow, gradient, hooks, stream)

    @property
    def is_random(self) -> bool:
        return self.rule.is_random

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        check_tensor(x)
        return apply_rule(x, self.rule, self.draws.next(self.is_random))

    def extra_repr(self) -> str:
        return describe(self.rule)


def check_tensor(x: Any) -> None:
    if not isinstance(x, torch.Tensor):
        raise ArgumentTypeError(f"quantizer: got {type(x).__name__}, expected a tensor")


def describe(rule: Rule) -> str:
    parts = [
        f"{name}={value}"
        for name, value in (("forward", rule.forward), ("backward", rule.backward))
        if value is not None
    ]
    if rule.clamps_gradient:
        parts.append("gradient=clamped")
    if rule.hooks:
        parts.append(f"{len(rule.hooks)} hooks")
    return ", ".join(parts)
