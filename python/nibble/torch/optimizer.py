# SPDX-License-Identifier: Apache-2.0
"""A wrapper that gives any torch optimizer weights, gradients, momentum and masters in few bits."""

from __future__ import annotations

from typing import Any, Callable, Dict, Iterable, List, Optional

import torch
from torch.optim import Optimizer

from ..errors import ArgumentTypeError, StateError, UsageError
from . import ops
from .draws import WORD, Draws
from .rounder import Rounding, RoundsTensors, as_rounder, text_of

STATE = "low_precision"  # what state_dict has beside torch's own entries
SLOTS = 16  # streams of a parameter
GRADIENT, MASTER, WEIGHT, MOMENTUM = 0, 1, 2, 3

# Rounds in place: rounder, values, the parameter they belong to, slot of its streams
RoundInPlace = Callable[[RoundsTensors, torch.Tensor, torch.Tensor, int], None]


def _round_in_place(rounder: Any, x: torch.Tensor, **key: int) -> None:
    if hasattr(rounder, "round_in_place"):
        rounder.round_in_place(x, **key)
    else:
        x.copy_(rounder.round(x, **key))


class LowPrecisionOptimizer(Optimizer):
    """Wraps an optimizer; a step is

    1. gradient ← gradient_format(gradient · gradient_scaling)
    2. parameter ← master, where there is one
    3. the optimizer's own step
    4. each momentum ← momentum_format(momentum)
    5. master ← master_format(parameter), and parameter ← weight_format(master)

    weight, gradient, momentum, master  a format, a Rounder, a function of a tensor, or None. Without `master`
                      the parameter is all there is, and updates are added to it; "fp32" keeps an exact copy.
    momentum_keys     names of the state that counts as momentum; None: every floating tensor of the
                      parameter's shape (momentum_buffer, exp_avg, exp_avg_sq, max_exp_avg_sq, …)
    gradient_scaling  a factor, as 1/1000 for a loss that was multiplied by 1000; always applied
    round_initial     weights and masters are rounded before the first step
    seed              of stochastic rounding: draws follow from (seed, step, parameter, role); None takes a seed from
                      torch's generator at every step

    A closure is evaluated at the rounded weights. Schedulers take the wrapper for an optimizer, for it is one;
    `param_groups` and `state` are those of the optimizer inside. state_dict adds masters, seed and step to
    the inner one, and a run that loads it continues bit for bit. A parameter without gradient is left alone.

    >>> weight = torch.nn.Parameter(torch.tensor([1.0]))
    >>> optimizer = nt.LowPrecisionOptimizer(torch.optim.SGD([weight], lr=1.0), weight="e4m3", master="fp32")
    >>> (0.01 * weight).sum().backward()
    >>> optimizer.step()
    >>> weight.item(), round(optimizer.masters[weight].item(), 4)  # 0.99 is 1 in e4m3, and kept
    (1.0, 0.99)
    """

    def __init__(
        self,
        optimizer: Optimizer,
        *,
        weight: Rounding = None,
        gradient: Rounding = None,
        momentum: Rounding = None,
        master: Rounding = None,
        rounding: str = "nearest-even",
        gradient_scaling: float = 1.0,
        momentum_keys: Optional[Iterable[str]] = None,
        round_initial: bool = True,
        seed: Optional[int] = 0,
    ) -> None:
        if not isinstance(optimizer, Optimizer):
            raise ArgumentTypeError(f"optimizer: got {type(optimizer).__name__}, expected a torch.optim.Optimizer")
        if not isinstance(gradient_scaling, (int, float)) or isinstance(gradient_scaling, bool):
            raise ArgumentTypeError(f"gradient_scaling: got {type(gradient_scaling).__name__}, expected a number")
        if not 0 < gradient_scaling < float("inf"):
            raise UsageError(f"gradient_scaling: got {gradient_scaling}, expected a positive number")
        self.weight, self.gradient, self.momentum, self.master = (
            as_rounder(what, rounding) for what in (weight, gradient, momentum, master)
        )
        self.gradient_scaling = gradient_scaling
        self.momentum_keys = None if momentum_keys is None else tuple(momentum_keys)
        self.round_initial = round_initial
        self.draws = Draws(seed)
        self.masters: Dict[torch.Tensor, torch.Tensor] = {}
        super().__init__(list(optimizer.param_groups), optimizer.defaults)
        self.inner = optimizer
        self._follow_inner()
        self._begin(self._parameters())

    # The step

    @ops.untraced
    @torch.no_grad()
    def step(self, closure: Optional[Callable[[], Any]] = None) -> Any:
        self._follow_inner()
        rounders = (self.weight, self.gradient, self.momentum, self.master)
        seed, step = self.draws.next(any(r is not None and r.is_stochastic for r in rounders))
        parameters = self._parameters()
        streams = {p: SLOTS * i for i, p in enumerate(parameters)}

        def round_(rounder: RoundsTensors, x: torch.Tensor, p: torch.Tensor, slot: int) -> None:
            _round_in_place(rounder, x, seed=seed, step=step, stream=streams[p] + slot & WORD)

        if closure is None:
            self._prepare_gradients(parameters, round_)
            self._load_masters(p for p in parameters if p.grad is not None)
            loss = self.inner.step()
        else:
            loss = self._step_with_closure(closure, parameters, round_)
        for p in parameters:
            if p.grad is not None:
                self._round_momentum(p, round_)
                self._round_parameter(p, round_)
        return loss

    def _prepare_gradients(self, parameters: Iterable[torch.Tensor], round_: RoundInPlace) -> None:
        for p in parameters:
            if p.grad is None:
                continue
            if p.grad.layout != torch.strided:
                raise StateError("step: got a sparse gradient, expected dense ones (sparse=False)")
            if self.gradient_scaling != 1:
                p.grad.mul_(self.gradient_scaling)
            if self.gradient is not None:
                round_(self.gradient, p.grad, p, GRADIENT)

    def _load_masters(self, parameters: Iterable[torch.Tensor]) -> None:
        for p in parameters:
            if p in self.masters:
                p.copy_(self.masters[p])

    def _step_with_closure(
        self, closure: Callable[[], Any], parameters: List[torch.Tensor], round_: RoundInPlace
    ) -> Any:
        """The closure sees the weights of the step before; where a line search asks again, rounded trial points."""
        weights = [p.clone() for p in parameters]
        is_first = True

        @torch.no_grad()
        def evaluate() -> Any:
            nonlocal is_first
            trial = [p.clone() for p in parameters]
            for p, weight in zip(parameters, weights):
                if is_first:
                    p.copy_(weight)
                else:
                    self._round_weight(p, round_)
            is_first = False
            with torch.enable_grad():
                loss = closure()
            self._prepare_gradients(parameters, round_)
            for p, value in zip(parameters, trial):
                p.copy_(value)
            return loss

        self._load_masters(parameters)
        loss = self.inner.step(evaluate)
        for p, weight in zip(parameters, weights):
            if p.grad is None:
                p.copy_(weight)
        return loss

    def _round_momentum(self, p: torch.Tensor, round_: RoundInPlace) -> None:
        if self.momentum is None:
            return
        state = self.inner.state.get(p, {})
        for i, name in enumerate(sorted(self._momenta_of(p, state))):
            round_(self.momentum, state[name], p, min(MOMENTUM + i, SLOTS - 1))

    def _momenta_of(self, p: torch.Tensor, state: Dict[str, Any]) -> List[str]:
        return [
            name
            for name, value in state.items()
            if isinstance(value, torch.Tensor)
            and value.is_floating_point()
            and value.shape == p.shape
            and name != "step"
            and (self.momentum_keys is None or name in self.momentum_keys)
        ]

    def _round_parameter(self, p: torch.Tensor, round_: RoundInPlace) -> None:
        if p in self.masters:
            round_(self.master, p, p, MASTER)
            self.masters[p].copy_(p)
        self._round_weight(p, round_)

    def _round_weight(self, p: torch.Tensor, round_: RoundInPlace) -> None:
        if self.weight is not None:
            round_(self.weight, p, p, WEIGHT)

    # Parameters

    def _parameters(self) -> List[torch.Tensor]:
        return [p for group in self.param_groups for p in group["params"]]

    def _follow_inner(self) -> None:
        """The inner optimizer owns the groups and the state; loading makes new ones there."""
        self.param_groups, self.state, self.defaults = self.inner.param_groups, self.inner.state, self.inner.defaults

    @torch.no_grad()
    def _begin(self, parameters: Iterable[torch.Tensor]) -> None:
        """Masters of new parameters, and their first rounding; draws of the step before the first."""
        index = {p: i for i, p in enumerate(self._parameters())}
        seed = 0 if self.draws.seed is None else self.draws.seed

        def round_(rounder: RoundsTensors, x: torch.Tensor, p: torch.Tensor, slot: int) -> None:
            _round_in_place(rounder, x, seed=seed, step=WORD, stream=SLOTS * index[p] + slot & WORD)

        for p in parameters:
            if self.master is not None:
                self.masters[p] = p.detach().clone()
            if self.round_initial:
                self._round_parameter(p, round_)

    def add_param_group(self, param_group: Dict[str, Any]) -> None:
        if not hasattr(self, "inner"):  # torch's constructor calls this for the groups of the inner optimizer
            super().add_param_group(param_group)
            return
        self.inner.add_param_group(param_group)
        self._follow_inner()
        self._begin(self.param_groups[-1]["params"])

    def zero_grad(self, *args: Any, **kwargs: Any) -> None:
        self.inner.zero_grad(*args, **kwargs)

    # Saving

    def state_dict(self) -> Dict[str, Any]:
        self._follow_inner()
        saved = dict(self.inner.state_dict())
        masters = [self.masters.get(p) for p in self._parameters()]
        saved[STATE] = {"masters": masters, "seed": self.draws.seed, "step": self.draws.step}
        return saved

    @torch.no_grad()
    def load_state_dict(self, state_dict: Dict[str, Any]) -> None:
        """Also takes what the optimizer saved before it was wrapped: masters then start from the parameters."""
        own = state_dict.get(STATE)
        parameters = self._parameters()
        masters = [None] * len(parameters) if own is None else own["masters"]
        shapes = [None if m is None else m.shape for m in masters]
        if len(masters) != len(parameters) or any(s not in (None, p.shape) for s, p in zip(shapes, parameters)):
            raise UsageError("load_state_dict: masters do not fit the parameters, expected those of the same model")
        self.inner.load_state_dict({name: value for name, value in state_dict.items() if name != STATE})
        self._follow_inner()
        if own is not None:
            self.draws = Draws(own["seed"], own["step"])
        for p in self.masters:
            self.masters[p].copy_(p)
        for p, master in zip(parameters, masters):
            if p in self.masters and master is not None:
                self.masters[p].copy_(master)

    def __getstate__(self) -> Dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "step"}

    def __setstate__(self, state: Dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._follow_inner()

    def __repr__(self) -> str:
        roles = (
            ("weight", self.weight),
            ("gradient", self.gradient),
            ("momentum", self.momentum),
            ("master", self.master),
        )
        formats = ", ".join(f"{name}={text_of(rounder)}" for name, rounder in roles if rounder is not None)
        return f"{type(self).__name__}({formats}) of {self.inner!r}"
