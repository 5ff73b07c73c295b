# SPDX-License-Identifier: Apache-2.0
"""Recurrent layers one time step at a time, so that what they remember is rounded at every step."""

from __future__ import annotations

from typing import Any, Callable, Tuple

import torch
from torch import nn
from torch.nn.utils.rnn import PackedSequence

from ..errors import ArgumentTypeError, UsageError


def check_states(layer: nn.RNNBase, name: str) -> None:
    if layer.bidirectional:
        raise UsageError(f"round_states: got the bidirectional layer '{name}', expected layers that run forward")


def step_by_step(
    layer: nn.RNNBase, forward: Callable[..., Any], rounded: Callable[[Any], Any], x: torch.Tensor, state: Any = None
) -> Tuple[torch.Tensor, Any]:
    """The layer's forward over one time step after another; results are the rounded hidden states."""
    if isinstance(x, PackedSequence):
        raise ArgumentTypeError("round_states: got a packed sequence, expected a padded tensor")
    time = 1 if layer.batch_first and x.dim() == 3 else 0
    results = []
    for now in x.split(1, dim=time):
        _, state = forward(now, state)
        state = rounded(state)
        hidden = state[0] if isinstance(state, tuple) else state
        results.append(hidden[-1].unsqueeze(time))
    return torch.cat(results, dim=time), state
