# SPDX-License-Identifier: Apache-2.0
"""A lowered layer: the same object with a subclass of its class, which rounds parameters and results.

Parameters keep their place and their names, so state_dict stays that of the layer (and one `step`), and taking the
old class back undoes it. `isinstance` sees the layer as before; copy and pickle work.
"""

from __future__ import annotations

import contextlib
import functools
from dataclasses import replace
from itertools import chain, repeat
from typing import Any, Dict, Iterator, Optional, Tuple

import torch
from torch import nn
from torch.nn.utils.rnn import PackedSequence

from .accumulate import Accumulators, linear
from .accumulate_layers import accumulated_convolution
from .draws import DrawsModule, Key
from .recurrent import step_by_step
from .straight_through import Rule, apply_rule

NAME = "nibble_lowering"  # the submodule that a lowered layer gains
SLOTS = 256  # streams of a layer: the first for its results, the others for its parameters
FIRST_PARAMETER = 32


class Lowering(DrawsModule):
    """What is rounded in one layer."""

    def __init__(
        self,
        outputs: Optional[Rule],
        parameters: Dict[str, Rule],
        accumulator: Optional[Accumulators] = None,
        rounds_states: bool = False,
        seed: Optional[int] = 0,
        stream: int = 0,
    ) -> None:
        super().__init__(seed)
        self.outputs, self.parameters_rules, self.accumulator, self.stream = outputs, parameters, accumulator, stream
        self.rounds_states = rounds_states
        rules = [*parameters.values()] + ([] if outputs is None else [outputs])
        self._is_random = accumulator is not None or any(rule.is_random for rule in rules)

    @property
    def is_random(self) -> bool:
        return self._is_random

    def next_key(self) -> Key:
        return self.draws.next(self.is_random)

    def round_outputs(self, output: Any, key: Key) -> Any:
        outputs = self.outputs
        if outputs is None:
            return output
        slots = chain(range(FIRST_PARAMETER), repeat(0))

        def rounded(value: Any) -> Any:
            if isinstance(value, torch.Tensor):
                if not value.is_floating_point():
                    return value
                rule = replace(outputs, stream=self.stream + next(slots))
                return apply_rule(value, rule, key)
            if isinstance(value, PackedSequence):
                return value._replace(data=rounded(value.data))
            if isinstance(value, tuple) and hasattr(value, "_fields"):
                return type(value)(*map(rounded, value))
            if isinstance(value, (tuple, list)):
                return type(value)(map(rounded, value))
            if isinstance(value, dict):
                return {name: rounded(one) for name, one in value.items()}
            return value

        return rounded(output)

    @contextlib.contextmanager
    def rounded_parameters(self, layer: nn.Module, key: Key) -> Iterator[None]:
        """The layer's parameters are their rounded values inside, and themselves again after."""
        replaced = []
        try:
            for name, rule in self.parameters_rules.items():
                owner, place = _home_of(layer, name)
                original = place.get(owner)
                if original is not None:
                    replaced.append((place, owner, original))
                    place[owner] = apply_rule(original, rule, key)
            with _flat_weights(layer) if replaced else contextlib.nullcontext():
                yield
        finally:
            for place, owner, original in replaced:
                place[owner] = original

    def extra_repr(self) -> str:
        parts = [] if self.outputs is None else [f"activation={self.outputs.forward}, error={self.outputs.backward}"]
        parts += [f"{name}={rule.forward}" for name, rule in self.parameters_rules.items()]
        return ", ".join(parts)


def _home_of(layer: nn.Module, name: str) -> Tuple[str, Dict[str, Any]]:
    """The dictionary that holds a parameter. Copies made by DataParallel keep theirs among the attributes."""
    *path, last = name.split(".")
    for part in path:
        layer = getattr(layer, part)
    return last, layer._parameters if last in layer._parameters else layer.__dict__


@contextlib.contextmanager
def _flat_weights(layer: nn.Module) -> Iterator[None]:
    """Recurrent layers of torch keep a second list of their parameters."""
    if not isinstance(layer, nn.RNNBase):
        yield
        return
    kept: Dict[str, Any] = {
        name: layer.__dict__[name] for name in ("_flat_weights", "_flat_weight_refs") if name in layer.__dict__
    }
    layer._flat_weights = [getattr(layer, name) for name in layer._flat_weights_names]
    try:
        yield
    finally:
        layer.__dict__.update(kept)


class LoweredLayer:
    """Mixed into the class of a lowered layer."""

    def forward(self: Any, *args: Any, **kwargs: Any) -> Any:
        lowering = getattr(self, NAME)
        key = lowering.next_key()
        with lowering.rounded_parameters(self, key):
            if lowering.rounds_states:
                rounded = lambda state: lowering.round_outputs(state, lowering.next_key())
                return step_by_step(self, super().forward, rounded, *args, **kwargs)  # type: ignore[misc]
            output = self._products(lowering, key, *args, **kwargs)
        return lowering.round_outputs(output, key)

    def _products(self: Any, lowering: Lowering, key: Key, *args: Any, **kwargs: Any) -> Any:
        if lowering.accumulator is None:
            return super().forward(*args, **kwargs)  # type: ignore[misc]
        options: Dict[str, Any] = dict(
            accumulator=lowering.accumulator.forward,
            backward=lowering.accumulator.backward,
            seed=key.seed,
            step=key.step,
            stream=lowering.stream,
        )
        x = _only_input(*args, **kwargs)
        if isinstance(self, nn.Linear):
            return linear(x, self.weight, self.bias, **options)
        return accumulated_convolution(self, x, options)

    def __reduce_ex__(self, protocol: Any) -> Any:
        return _reduce(self, super().__reduce_ex__(protocol))


def _only_input(input: torch.Tensor) -> torch.Tensor:
    """The argument of Linear and Conv2d, under the name it has there."""
    return input


def _masked(name: str, value: Any) -> property:
    """An attribute that reads as `value`, while the layer keeps its own."""

    def keep(self: Any, given: Any) -> None:
        self.__dict__[name] = given

    return property(lambda self: value, keep)


class StepByStep:
    """Mixed into torch's transformer encoders, whose fused evaluation would pass by every lowered layer."""

    activation_relu_or_gelu = _masked("activation_relu_or_gelu", 0)
    enable_nested_tensor = _masked("enable_nested_tensor", False)
    use_nested_tensor = _masked("use_nested_tensor", False)

    def __reduce_ex__(self, protocol: Any) -> Any:
        return _reduce(self, super().__reduce_ex__(protocol))


@functools.lru_cache(maxsize=None)
def changed_class(mixin: Any, base: Any) -> Any:
    name = f"Lowered{base.__name__}" if mixin is LoweredLayer else base.__name__
    return type(name, (mixin, base), {"__module__": base.__module__, "_changed_from": (mixin, base)})


def change_class(layer: nn.Module, mixin: type) -> None:
    own: Any = type(layer)
    layer.__class__ = changed_class(mixin, own)


def _reduce(layer: Any, reduced: Any) -> Any:
    _, _, *rest = reduced
    return (_rebuild, type(layer)._changed_from, *rest)


def _rebuild(mixin: Any, base: Any) -> Any:
    made = changed_class(mixin, base)
    return made.__new__(made)


def original_class(layer: nn.Module) -> Any:
    return getattr(type(layer), "_changed_from", (None, type(layer)))[1]


def is_lowered(layer: nn.Module) -> bool:
    return isinstance(layer, LoweredLayer)


def undo(layer: nn.Module) -> None:
    if is_lowered(layer):
        delattr(layer, NAME)
    layer.__class__ = original_class(layer)
