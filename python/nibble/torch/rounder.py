# SPDX-License-Identifier: Apache-2.0
"""One way to round a tensor: a format with its rounding and its overflow rule."""

from __future__ import annotations

import functools
import os
from dataclasses import dataclass
from typing import Any, Callable, Optional, Protocol, Tuple, Union

import torch

import nibble

from ..errors import ArgumentTypeError, UsageError
from . import ops
from .graph_rounding import graph_rounding

LARGEST = torch.finfo(torch.float32).max


def on_cpu(values: Any) -> torch.Tensor:
    """fp32 on the CPU, whatever torch's usual type and device are."""
    return torch.tensor(values, dtype=torch.float32, device="cpu")


def probe() -> torch.Tensor:
    """A zero that every format takes: any axis exists in eight dimensions."""
    return on_cpu(0.0).reshape((1,) * 8)


class RoundsTensors(Protocol):
    """A Rounder, or what stands in its place."""

    @property
    def is_stochastic(self) -> bool: ...

    def round(self, x: torch.Tensor, seed: int = 0, step: int = 0, stream: int = 0) -> torch.Tensor: ...


# What a role of a number takes; None: nothing is rounded.
Rounding = Union[nibble.Format, str, RoundsTensors, Callable[[torch.Tensor], torch.Tensor], None]


@dataclass(frozen=True)
class Rounder:
    """A format with the words that `nibble.quantize` takes; checked when it is made, and it pickles.

    >>> nt.Rounder("e5m2", "stochastic").round(torch.full((8,), 1.1), seed=7, step=3).unique()
    tensor([1.0000, 1.2500])
    """

    format: "nibble.Format | str"
    rounding: str = "nearest-even"
    overflow: str = "native"

    _text = ""
    _in_graphs = None

    def __post_init__(self) -> None:
        if not isinstance(self.format, nibble.Format):
            object.__setattr__(self, "format", nibble.Format(self.format))
        object.__setattr__(self, "_text", str(self.format))
        nibble.quantize(probe(), self.format, rounding=self.rounding, overflow=self.overflow)
        if ops.HAS_OPS and os.environ.get("NIBBLE_TORCH_FUSE", "1") != "0":
            object.__setattr__(self, "_in_graphs", graph_rounding(self._text, self.rounding, self.overflow))

    def round(self, x: torch.Tensor, seed: int = 0, step: Any = 0, stream: int = 0) -> torch.Tensor:
        """A new tensor of rounded values, without gradient."""
        x = x.detach()
        if ops.is_tracing():
            if self._in_graphs is not None:
                return self._in_graphs.round(x)
            key = ops.key_of(self.rounding, seed, step)
            return ops.quantized(x, self._text, self.rounding, self.overflow, "none", key, stream)
        return nibble.quantize(
            x, self.format, rounding=self.rounding, overflow=self.overflow, seed=seed, step=step, stream=stream
        )

    def round_in_place(self, x: torch.Tensor, seed: int = 0, step: int = 0, stream: int = 0) -> None:
        """Without a copy. Not for graphs."""
        values = x.detach()
        nibble.quantize(
            values,
            self.format,
            rounding=self.rounding,
            overflow=self.overflow,
            seed=seed,
            step=step,
            stream=stream,
            out=values,
        )

    def clamped(self, x: torch.Tensor, seed: int = 0, step: int = 0, stream: int = 0) -> torch.Tensor:
        """Where x lies beyond the largest or the lowest value of the format."""
        lowest, largest = self._limits if hasattr(self, "_limits") else limits(self.format)
        return (x > largest) | (x < lowest)

    def check_range(self) -> None:
        """Refuses formats whose range follows the data."""
        object.__setattr__(self, "_limits", limits(self.format))  # known before torch may trace

    @property
    def is_stochastic(self) -> bool:
        """Whether rounding draws."""
        return self.rounding.startswith("stochastic")

    @property
    def is_elementwise(self) -> bool:
        """Whether no element depends on another one or on its place."""
        return not self.is_stochastic and not nibble.Format(self._text).is_scaled

    def __str__(self) -> str:
        extra = "" if self.overflow == "native" else f", {self.overflow}"
        return f"{self.format} {self.rounding}{extra}"


@dataclass(frozen=True)
class Function:
    """A function of a tensor in the place of a rounder; its draws, if any, are its own."""

    function: Callable[[torch.Tensor], torch.Tensor]

    is_stochastic = False

    def round(self, x: torch.Tensor, seed: int = 0, step: int = 0, stream: int = 0) -> torch.Tensor:
        return self.function(x.detach()).detach()

    def check_range(self) -> None:
        raise UsageError(f"clamped gradient: got {self}, expected a format with a range of its own")

    def __str__(self) -> str:
        return getattr(self.function, "__name__", type(self.function).__name__)


def as_rounder(what: Rounding, rounding: str = "nearest-even", overflow: str = "native") -> Any:
    """None stays; a text or a Format becomes a Rounder, a function a Function; rounders pass."""
    if what is None or all(hasattr(what, name) for name in ("round", "is_stochastic")):
        return what
    if isinstance(what, (str, nibble.Format)):
        return Rounder(what, rounding, overflow)
    if callable(what):
        return Function(what)
    raise ArgumentTypeError(f"rounder: got {type(what).__name__}, expected a format, a Rounder, a function or None")


@functools.lru_cache(maxsize=None)
def limits(fmt: nibble.Format) -> Tuple[float, float]:
    """The lowest and the largest value of a format whose range does not follow the data."""
    alone = nibble.quantize(on_cpu([[0.3]]), fmt).item()
    beside = on_cpu([[0.3, 1e38]])
    if any(nibble.quantize(x, fmt).flatten()[0].item() != alone for x in (beside, beside.t().contiguous())):
        raise UsageError(
            f"clamped gradient: got '{fmt}', whose scale follows the data, " "expected a format with a range of its own"
        )
    ends = nibble.quantize(on_cpu([-LARGEST, LARGEST]), fmt, overflow="saturate")
    return ends[0].item(), ends[1].item()


def text_of(rounder: Optional[RoundsTensors]) -> Optional[str]:
    return None if rounder is None else str(rounder)
