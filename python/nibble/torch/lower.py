# SPDX-License-Identifier: Apache-2.0
"""Lowers a model: results, errors, weights and gradients of its layers are rounded."""

from __future__ import annotations

import copy
from fnmatch import fnmatchcase
from typing import Callable, Dict, Iterable, List, Optional, Set, Tuple, Union

from torch import nn

from ..errors import ArgumentTypeError, UsageError
from .accumulate import SAME, Accumulators, AnyAccumulator
from .draws import check_seed
from .layer_groups import Types, layer_classes
from .lower_report import Report, make_report
from .lowering import (
    FIRST_PARAMETER,
    NAME,
    SLOTS,
    LoweredLayer,
    Lowering,
    StepByStep,
    change_class,
    is_lowered,
    original_class,
    undo,
)
from .quantizer import make_rule
from .recurrent import check_states
from .rounder import Rounding
from .straight_through import Rule

Patterns = Union[str, Iterable[str], None]
RuleMaker = Callable[[int], Optional[Rule]]  # of a stream


def lower(
    model: nn.Module,
    activation: Rounding = None,
    weight: Rounding = None,
    error: Rounding = None,
    gradient: Rounding = None,
    *,
    rounding: str = "nearest-even",
    overflow: str = "native",
    accumulator: AnyAccumulator = None,
    backward_accumulator: AnyAccumulator = SAME,
    types: Types = None,
    names: Patterns = None,
    skip: Patterns = (),
    parameters: str = "weights",
    clamped_gradient: bool = False,
    round_states: bool = False,
    seed: Optional[int] = 0,
    in_place: bool = False,
) -> nn.Module:
    """Returns the model with rounded layers: a copy, or the model itself with `in_place`.

    activation   results of layers                          error     gradients of those results
    weight       parameters, in use; they stay as they are  gradient  gradients of parameters
                 Each a format, a Rounder (its own rounding), a function of a tensor, or None.
    rounding, overflow  for formats given as such
    accumulator  sums inside Linear and Conv2d; `backward_accumulator` those of their gradients
    types        words of layer_groups.GROUPS and classes; subclasses count. None: all but pad, dropout, loss
    names, skip  patterns such as "layer3.*" of the names of layers to take, to leave
    parameters   "weights": those of two dimensions or more; "all": biases and norms too
    clamped_gradient  zero errors where a result lay beyond the range of `activation`
    round_states recurrent layers run one time step at a time, and `activation` rounds what they remember
    seed         of stochastic rounding; each layer and parameter draws from streams of its own

    A second call changes the layers it takes and leaves the others. `restore` undoes; `report` tells.

    >>> low = nt.lower(torch.nn.Linear(4, 2), activation="e4m3", weight="e4m3", error="e5m2")
    >>> y = low(torch.ones(1, 4))
    >>> torch.equal(y, nibble.quantize(y.detach(), "e4m3"))
    True
    """
    if not isinstance(model, nn.Module):
        raise ArgumentTypeError(f"lower: got {type(model).__name__}, expected a module")
    if parameters not in ("weights", "all"):
        raise UsageError(f"parameters: got {parameters!r}, expected 'weights' or 'all'")
    check_seed(seed)
    classes = layer_classes(types)
    taken, left = _patterns(names, "names"), _patterns(skip, "skip")
    make_output_rule = _rule_maker(activation, error, rounding, overflow, clamped_gradient)
    make_parameter_rule = _rule_maker(weight, gradient, rounding, overflow, False)
    model = model if in_place else copy.deepcopy(model)

    for stream, name, layer in _layers(model):
        if not isinstance(layer, classes) or not (taken is None or _fits(name, taken)) or _fits(name, left):
            continue
        rules = _parameter_rules(layer, parameters, make_parameter_rule, stream)
        own_accumulator = Accumulators(accumulator, backward_accumulator) if _accumulates(layer, accumulator) else None
        output_rule = make_output_rule(stream)
        if output_rule is None and not rules and own_accumulator is None:
            continue
        rounds_states = round_states and output_rule is not None and isinstance(layer, nn.RNNBase)
        if rounds_states:
            check_states(layer, name)
        if is_lowered(layer):
            undo(layer)
        setattr(layer, NAME, Lowering(output_rule, rules, own_accumulator, rounds_states, seed, stream))
        change_class(layer, LoweredLayer)
    _keep_encoders_stepping(model)
    return model


def restore(model: nn.Module) -> nn.Module:
    """Takes all rounding out of a lowered model, in place, and returns it.

    >>> type(nt.restore(nt.lower(torch.nn.ReLU(), activation="e4m3"))) is torch.nn.ReLU
    True
    """
    for layer in list(model.modules()):
        if isinstance(layer, (LoweredLayer, StepByStep)):
            undo(layer)
    return model


def report(model: nn.Module) -> Report:
    """What is rounded in a model, layer by layer, and which parameters are not; str() is a table.

    >>> print(nt.report(nt.lower(torch.nn.Sequential(torch.nn.Linear(4, 2)), weight="int4")))
    layer  class   activation  error  weight             gradient  accumulator
    0      Linear  –           –      int4 nearest-even  –         –
    not rounded: 0.bias
    """
    return make_report(model)


def _layers(model: nn.Module) -> List[Tuple[int, str, nn.Module]]:
    """The first stream, the name and the layer of all that may be lowered; streams follow from the model alone."""
    inside: Set[str] = set()  # layers whose parameters belong to the layer around them
    found: List[Tuple[int, str, nn.Module]] = []
    for name, layer in model.named_modules():
        if isinstance(layer, Lowering):
            continue
        if isinstance(layer, nn.MultiheadAttention):
            inside.update(f"{name}.{child}" if name else child for child, _ in layer.named_modules() if child)
        found.append((SLOTS * len(found), name, layer))
    return [one for one in found if one[1] not in inside]


def _patterns(patterns: Patterns, where: str) -> Optional[Tuple[str, ...]]:
    if patterns is None:
        return None
    patterns = (patterns,) if isinstance(patterns, str) else tuple(patterns)
    if not all(isinstance(pattern, str) for pattern in patterns):
        raise ArgumentTypeError(f"{where}: expected patterns of names of layers")
    return patterns


def _fits(name: str, patterns: Optional[Tuple[str, ...]]) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in patterns or ())


def _rule_maker(forward: Rounding, backward: Rounding, rounding: str, overflow: str, clamps: bool) -> RuleMaker:
    if forward is None and backward is None:
        return lambda stream: None
    gradient = "clamped" if clamps else "straight-through"

    def make(stream: int) -> Rule:
        return make_rule(forward, backward, rounding, rounding, overflow, gradient, stream=stream)

    make(0)  # wrong arguments are refused before the model is touched
    return make


def _parameter_rules(layer: nn.Module, which: str, make: RuleMaker, stream: int) -> Dict[str, Rule]:
    recurse = isinstance(layer, nn.MultiheadAttention)  # it reads its output projection without calling it
    names = [
        name
        for name, p in layer.named_parameters(recurse=recurse)
        if p.is_floating_point() and (which == "all" or "weight" in name and p.dim() > 1)
    ]
    rules = {name: make(stream + FIRST_PARAMETER + i % (SLOTS - FIRST_PARAMETER)) for i, name in enumerate(names)}
    return {name: rule for name, rule in rules.items() if rule is not None}


def _accumulates(layer: nn.Module, accumulator: AnyAccumulator) -> bool:
    """Layers whose own forward is torch's, so that another product can take its place."""
    forward = original_class(layer).forward
    return accumulator is not None and forward in (nn.Linear.forward, nn.Conv2d.forward)


def _keep_encoders_stepping(model: nn.Module) -> None:
    for layer in model.modules():
        is_encoder = isinstance(layer, (nn.TransformerEncoder, nn.TransformerEncoderLayer))
        if is_encoder and not isinstance(layer, StepByStep) and any(map(is_lowered, layer.modules())):
            change_class(layer, StepByStep)
