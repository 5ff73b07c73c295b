# SPDX-License-Identifier: Apache-2.0
"""What a lowered model rounds, as data and as a table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Dict, List, Optional, Set, Tuple

from torch import nn

from .lowering import NAME, is_lowered, original_class
from .rounder import text_of


@dataclass(frozen=True)
class LayerReport:
    """One lowered layer: the formats of what it rounds; None where it rounds nothing."""

    name: str
    layer: str
    activation: Optional[str]
    error: Optional[str]
    weights: Dict[str, Optional[str]]  # parameter: format
    gradients: Dict[str, Optional[str]]
    accumulator: Optional[str]


@dataclass(frozen=True)
class Report:
    """The lowered layers of a model; as text a table."""

    layers: Tuple[LayerReport, ...]
    parameters_left: Tuple[str, ...]  # parameters of the model that nothing rounds

    def __str__(self) -> str:
        heads = ("layer", "class", "activation", "error", "weight", "gradient", "accumulator")
        rows = [heads] + [_row(layer) for layer in self.layers]
        widths = [max(len(row[i]) for row in rows) for i in range(len(heads))]
        lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip() for row in rows]
        if self.parameters_left:
            lines.append("not rounded: " + ", ".join(self.parameters_left))
        return "\n".join(lines)


def _row(layer: LayerReport) -> Tuple[str, ...]:
    weights, gradients = _together(layer.weights), _together(layer.gradients)
    cells = (layer.activation, layer.error, weights, gradients, layer.accumulator)
    return (layer.name or "(model)", layer.layer, *(cell or "–" for cell in cells))


def _together(formats: Dict[str, Optional[str]]) -> str:
    different = sorted({text for text in formats.values() if text})
    return ", ".join(different)


def make_report(model: nn.Module) -> Report:
    layers: List[LayerReport] = []
    rounded: Set[str] = set()
    for name, layer in model.named_modules():
        if not is_lowered(layer):
            continue
        lowering = getattr(layer, NAME)
        rules = lowering.parameters_rules
        rounded.update(f"{name}.{parameter}" if name else parameter for parameter in rules)
        outputs = lowering.outputs
        layers.append(
            LayerReport(
                name,
                original_class(layer).__name__,
                outputs and text_of(outputs.forward),
                outputs and text_of(outputs.backward),
                {p: text_of(rule.forward) for p, rule in rules.items()},
                {p: text_of(rule.backward) for p, rule in rules.items()},
                lowering.accumulator and str(lowering.accumulator.forward),
            )
        )
    left = tuple(name for name, _ in model.named_parameters() if name not in rounded)
    return Report(tuple(layers), left)
