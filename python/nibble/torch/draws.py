# SPDX-License-Identifier: Apache-2.0
"""Where the random draws of a call live: a seed and a step that counts the calls."""

from __future__ import annotations

from typing import NamedTuple, Optional

import torch

WORD = (1 << 32) - 1


class Key(NamedTuple):
    seed: int
    step: int


def seed_of_torch() -> int:
    """63 bits of torch's default CPU generator, so that torch.manual_seed repeats a run on any device."""
    return int(torch.empty((), dtype=torch.int64, device="cpu").random_())


def check_seed(seed: Optional[int]) -> Optional[int]:
    if seed is None:
        return None
    if isinstance(seed, bool) or not isinstance(seed, int):
        raise TypeError(f"seed: got {type(seed).__name__}, expected an integer or None")
    if not 0 <= seed < 1 << 64:
        raise ValueError(f"seed: got {seed}, expected 0 to 2^64-1")
    return seed


class Draws:
    """Counts the calls of one place in a model. Without a seed, torch's generator gives one a call."""

    def __init__(self, seed: Optional[int] = 0, step: int = 0) -> None:
        self.seed = check_seed(seed)
        self.step = step

    def next(self, is_random: bool = True) -> Key:
        """The key of a call; torch's generator is left alone where nothing is random."""
        if self.seed is None:
            return Key(seed_of_torch() if is_random else 0, 0)
        key = Key(self.seed, self.step & WORD)
        self.step += 1
        return key


class DrawsModule(torch.nn.Module):
    """A module with draws, whose step is kept in state_dict as a buffer would be.

    The step is a Python number and not a tensor, so that reading it never waits for a device. A state_dict
    without it, as from the model before it was lowered, loads too.
    """

    def __init__(self, seed: Optional[int] = 0) -> None:
        super().__init__()
        self.draws = Draws(seed)

    @property
    def step(self) -> int:
        return self.draws.step

    @step.setter
    def step(self, step: int) -> None:
        self.draws.step = step

    def _save_to_state_dict(self, destination, prefix, keep_vars):
        super()._save_to_state_dict(destination, prefix, keep_vars)
        if self.draws.seed is not None:
            destination[prefix + "step"] = torch.tensor(self.step, dtype=torch.int64, device="cpu")

    def _load_from_state_dict(self, state_dict, prefix, *rest):
        saved = state_dict.pop(prefix + "step", None)
        if saved is not None:
            self.step = int(saved)
        super()._load_from_state_dict(state_dict, prefix, *rest)
