# SPDX-License-Identifier: Apache-2.0
"""How a tensor crosses to an accelerator and back: in floats of 2, 4 or 8 bytes, or as int8 with one exponent."""

from __future__ import annotations

import math
from typing import Any, Dict, NamedTuple, Optional, Union

import torch

import nibble

from ..draws import WORD, Key

# Names of wires: the type that crosses and its bytes.
WIRES: Dict[str, Any] = {
    "int8": (torch.int8, 1),
    "fp16": (torch.float16, 2),
    "fp32": (torch.float32, 4),
    "fp64": (torch.float64, 8),
}
INT8 = "bfp(8)"  # integers of 8 bits, -127 to 127, and a power of two for the whole tensor
STEPS = 128  # of scaled values: n of int8 stands for n / 128
Scale = Union[float, torch.Tensor, None]


class Parcel(NamedTuple):
    """What crosses: `payload` times `scale`, where there is one. Scaled values are at most 1 in magnitude."""

    payload: torch.Tensor
    scale: Scale
    shape: torch.Size

    @property
    def nbytes(self) -> int:
        return self.payload.numel() * self.payload.element_size() + (0 if self.scale is None else 4)

    def values(self, dtype: torch.dtype) -> torch.Tensor:
        """Without the scale, as products take them."""
        if self.payload.dtype == dtype and self.payload.shape == self.shape:
            return self.payload
        found = self.payload.to(dtype)
        return (found / STEPS if self.payload.dtype == torch.int8 else found).reshape(self.shape)

    def unpacked(self, dtype: torch.dtype) -> torch.Tensor:
        if self.scale is None:
            return self.values(dtype)
        factor = self.scale / STEPS if self.payload.dtype == torch.int8 else self.scale
        return self.payload.to(torch.float32).mul_(factor).to(dtype).reshape(self.shape)


def scaled(values: torch.Tensor, *scales: Scale) -> torch.Tensor:
    """Times the scales, in fp32 or wider."""
    for scale in scales:
        if scale is not None:
            values = values.to(torch.promote_types(values.dtype, torch.float32)) * scale
    return values


class Wire:
    """Packs tensors where they are: on the host before they are sent, on the device before they are fetched."""

    def __init__(self, name: str) -> None:
        if name not in WIRES:
            raise ValueError(f"wire: got {name!r}, expected one of {', '.join(map(repr, WIRES))}")
        self.name = name
        self.dtype, self.bytes = WIRES[name]

    def pack(self, x: torch.Tensor, key: Optional[Key] = None, stream: int = 0) -> Parcel:
        """A type that is no wider than the wire crosses as it is. With a key, int8 rounds stochastically.

        A tensor with an infinity or a NaN arrives as NaN throughout, so that loss scaling notices it.
        """
        x = x.detach()
        if x.element_size() <= self.bytes:
            return Parcel(x, None, x.shape)
        if self.bytes >= 4:
            return Parcel(x.to(self.dtype), None, x.shape)
        x = x.to(torch.float32)
        peak = _peak(x)
        return _pack_bytes(x, peak, key, stream) if self.bytes == 1 else _pack_halves(x, peak)


def _peak(x: torch.Tensor) -> torch.Tensor:
    """The largest magnitude, or NaN; several times as fast on CPUs as torch's norm of that name."""
    if x.numel() == 0:
        return x.new_zeros(())
    low, high = torch.aminmax(x)
    return torch.maximum(-low, high)


def _pack_bytes(x: torch.Tensor, peak: torch.Tensor, key: Optional[Key], stream: int) -> Parcel:
    rounding: Dict[str, Any] = {}
    if key is not None:
        rounding = {"rounding": "stochastic", "seed": key.seed, "step": key.step, "stream": stream & WORD}
    if x.device.type == "cpu":
        return _pack_bytes_here(x, float(peak), rounding)
    coded = nibble.encode(x, INT8, **rounding)
    scale = coded.scales.reshape(()) * 2  # a code n is n · 2^-6 scales
    scale = torch.where(torch.isfinite(peak), scale, torch.full_like(scale, float("nan")))
    return Parcel(coded.codes.view(torch.int8), scale, x.shape)


def _pack_bytes_here(x: torch.Tensor, peak: float, rounding: Dict[str, Any]) -> Parcel:
    """The codes of `nibble.encode`, on CPUs in half of its time: rounded values over their step."""
    if not math.isfinite(peak):
        return Parcel(torch.zeros(x.shape, dtype=torch.int8), float("nan"), x.shape)
    exponent = math.frexp(peak)[1]
    if abs(exponent) > 100:  # of steps and their inverses fp32 may lack one
        coded = nibble.encode(x, INT8, **rounding)
        return Parcel(coded.codes.view(torch.int8), 2 * float(coded.scales), x.shape)
    scale = math.ldexp(1.0, exponent)
    return Parcel(nibble.quantize(x, INT8, **rounding).mul_(STEPS / scale).to(torch.int8), scale, x.shape)


def _pack_halves(x: torch.Tensor, peak: torch.Tensor) -> Parcel:
    """fp16 of x / 2^e with 2^e > |x|: errors of any size keep the bits of fp16, with no loss scaling."""
    exponent = torch.frexp(peak).exponent.clamp(-120, 127)
    scale = torch.ldexp(torch.ones_like(peak), exponent)
    scale = torch.where(torch.isfinite(peak), scale, torch.full_like(scale, float("nan")))
    payload = (x * (1 / scale)).to(torch.float16)  # exact: a power of two
    return Parcel(payload, float(scale) if x.device.type == "cpu" else scale, x.shape)
