# SPDX-License-Identifier: Apache-2.0
"""Where the random draws of a call live: a seed and a step that counts the calls."""

from __future__ import annotations

import threading
from typing import Any, Dict, NamedTuple, Optional, Union

import numpy as np
import torch

from ..errors import ArgumentTypeError, UsageError
from . import ops

WORD = (1 << 32) - 1
_counting = threading.Lock()  # one for all: it is held for a moment, and copies and pickles leave it out


class Key(NamedTuple):
    seed: int
    step: Union[int, torch.Tensor]  # while torch traces: seed and step as `ops` takes them; None where nothing is drawn


def seed_of_torch() -> int:
    """63 bits of torch's default CPU generator, so that torch.manual_seed repeats a run on any device."""
    return int(torch.empty((), dtype=torch.int64, device="cpu").random_())


def check_seed(seed: Optional[int]) -> Optional[int]:
    if seed is None:
        return None
    if isinstance(seed, bool) or not isinstance(seed, int):
        raise ArgumentTypeError(f"seed: got {type(seed).__name__}, expected an integer or None")
    if not 0 <= seed < 1 << 64:
        raise UsageError(f"seed: got {seed}, expected 0 to 2^64-1")
    return seed


class Draws:
    """Counts the calls of one place in a model. Without a seed, torch's generator gives one a call."""

    def __init__(self, seed: Optional[int] = 0, step: int = 0) -> None:
        self.seed = check_seed(seed)
        self._count_from(step)

    def _count_from(self, step: int) -> None:
        """One number in two views: graphs count by a tensor; transforms of torch.func refuse to write to it."""
        self._number = np.array(step, np.int64)
        with torch.inference_mode(False):
            self._counter = torch.from_numpy(self._number)

    @property
    def step(self) -> int:
        return int(self._number)

    @step.setter
    def step(self, step: int) -> None:
        self._number[...] = step

    def __getstate__(self) -> Dict[str, Any]:
        kept = {name: value for name, value in self.__dict__.items() if name not in ("_number", "_counter")}
        return {**kept, "step": self.step}

    def __setstate__(self, state: Dict[str, Any]) -> None:
        self._count_from(state.pop("step"))
        self.__dict__.update(state)

    def next(self, is_random: bool = True) -> Key:
        """The key of a call; torch's generator is left alone where nothing is random."""
        if ops.is_tracing():
            return Key(0, ops.traced_key(self._counter, self.seed) if is_random else None)
        if self.seed is None:
            return Key(seed_of_torch() if is_random else 0, 0)
        with _counting:
            key = Key(self.seed, self.step & WORD)
            self.step += 1
        return key

    def replica(self, is_random: bool = True) -> Draws:
        """The draws of a copy that runs beside others in a thread of its own."""
        if self.seed is None:
            return Draws(seed_of_torch()) if is_random else self
        return ReplicaDraws(self)


class ReplicaDraws(Draws):
    """Counts from the step of the original on, which goes on with the replica that made the most calls."""

    def __init__(self, original: Draws) -> None:
        super().__init__(original.seed, original.step)
        self.original = original

    def next(self, is_random: bool = True) -> Key:
        key = super().next(is_random)
        with _counting:
            self.original.step = max(self.original.step, self.step)
        return key


class DrawsModule(torch.nn.Module):
    """A module with draws, whose step is kept in state_dict as a buffer would be.

    The step is a Python number and not a tensor, so that reading it never waits for a device. A state_dict
    without it, as from the model before it was lowered, loads too.

    The replicas that DataParallel makes for its threads draw what the module itself would on their part of the
    batch: all from the steps that follow the module's, whichever thread is first, and the module's step goes on.
    """

    def __init__(self, seed: Optional[int] = 0) -> None:
        super().__init__()
        self.draws = Draws(seed)

    @property
    def is_random(self) -> bool:
        """Whether a call may draw."""
        return True

    @property
    def step(self) -> int:
        """Of the next draw: how many calls have drawn."""
        return self.draws.step

    @step.setter
    def step(self, step: int) -> None:
        self.draws.step = step

    def _replicate_for_data_parallel(self) -> Any:
        replica = super()._replicate_for_data_parallel()
        replica.draws = self.draws.replica(self.is_random)
        return replica

    def _save_to_state_dict(self, destination: Dict[str, Any], prefix: str, keep_vars: bool) -> None:
        super()._save_to_state_dict(destination, prefix, keep_vars)
        if self.draws.seed is not None:
            destination[prefix + "step"] = torch.tensor(self.step, dtype=torch.int64, device="cpu")

    def _load_from_state_dict(self, state_dict: Dict[str, Any], prefix: str, *rest: Any) -> None:
        saved = state_dict.pop(prefix + "step", None)
        if saved is not None:
            self.step = int(saved)
        super()._load_from_state_dict(state_dict, prefix, *rest)
