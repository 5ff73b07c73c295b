# SPDX-License-Identifier: Apache-2.0
"""How a tensor crosses to an accelerator and back: in floats of 2, 4 or 8 bytes, or as int8 with one exponent.

Packing is few calls, for a call takes about as long as the work that it asks for on a layer's tensors, and none of them
takes memory that is new to the process where the back end has better: such pages cost more than what is written there.
"""

from __future__ import annotations

import math
from typing import Any, Callable, Dict, NamedTuple, Optional, Tuple

import torch

import nibble

from ...errors import UsageError
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
MIDDLE = 100  # exponents of int8's scales up to which fp32 has steps and their inverses
SMALLEST, LARGEST = -120, 126  # exponents of fp16's scales: fp32 has the scale and its inverse as normal numbers
EXPONENT = 1 << 23  # of fp32, in its bits
Memory = Callable[..., torch.Tensor]  # torch.empty or what gives memory of another kind


class Parcel(NamedTuple):
    """What crosses: `payload` times `scale`, where there is one. Scaled values are at most 4 in magnitude.

    One that was packed on a device has the tensor's `peak` instead, of which the host makes the scale.
    """

    payload: torch.Tensor
    scale: Optional[float]
    shape: torch.Size
    peak: Optional[torch.Tensor] = None

    @property
    def nbytes(self) -> int:
        has_scale = self.scale is not None or self.peak is not None
        return self.payload.numel() * self.payload.element_size() + (4 if has_scale else 0)

    def operand(self, dtype: torch.dtype) -> Tuple[torch.Tensor, Optional[float]]:
        """As products take it: values, and the scale that their results are to have."""
        values = self.payload.to(dtype).reshape(self.shape)
        if self.scale is None or self.payload.dtype != torch.int8:
            return values, self.scale
        if dtype == torch.float16:  # sums of integers would leave it
            return values / STEPS, self.scale
        return values, self.scale / STEPS

    def arrived(self, payload: torch.Tensor, peak: Optional[torch.Tensor]) -> Parcel:
        """What was packed on a device, on the host."""
        if peak is None:
            return self._replace(payload=payload)
        scale_of = _scale_of_bytes if payload.dtype == torch.int8 else _scale_of_halves
        return Parcel(payload, scale_of(float(peak)), self.shape)

    def unpacked(self, dtype: torch.dtype, *scales: Optional[float], memory: Memory = torch.empty) -> torch.Tensor:
        """The values; what has a scale, times more of them, in new memory of that kind."""
        if self.scale is None:
            return self.payload.to(dtype)
        factor = math.prod(scale for scale in (self.scale, *scales) if scale is not None)
        factor = factor / STEPS if self.payload.dtype == torch.int8 else factor
        return memory(self.shape, dtype=torch.float32).copy_(self.payload).mul_(factor).to(dtype)


def scaled(values: torch.Tensor, *scales: Optional[float]) -> torch.Tensor:
    """Times the scales, in fp32 or wider."""
    given = [scale for scale in scales if scale is not None]
    if not given:
        return values
    return values.to(torch.promote_types(values.dtype, torch.float32)) * math.prod(given)


class Wire:
    """Packs tensors where they are: on the host before they are sent, on the device before they are fetched."""

    def __init__(self, name: str) -> None:
        if name not in WIRES:
            raise UsageError(f"wire: got {name!r}, expected one of {', '.join(map(repr, WIRES))}")
        self.name = name
        self.dtype, self.bytes = WIRES[name]

    def rounds(self, x: torch.Tensor) -> bool:
        """Whether x crosses with a scale. A type that is no wider than the wire crosses as it is."""
        return self.bytes < min(4, x.element_size())

    def pack(
        self, x: torch.Tensor, key: Optional[Key] = None, stream: int = 0, memory: Memory = torch.empty
    ) -> Parcel:
        """With a key, int8 rounds stochastically. On the host, what has a scale uses new memory of that kind.

        A tensor with an infinity or a NaN arrives as NaN throughout, so that loss scaling notices it.
        """
        x = x.detach()
        if x.element_size() <= self.bytes:
            return Parcel(x, None, x.shape)
        if not self.rounds(x):
            return Parcel(x.to(self.dtype), None, x.shape)
        if x.numel() == 0:
            return Parcel(x.to(self.dtype), 1.0, x.shape)
        x = x.to(torch.float32)
        rounding: Dict[str, Any] = {}
        if key is not None:
            rounding = {"rounding": "stochastic", "seed": key.seed, "step": key.step, "stream": stream & WORD}
        if x.device.type != "cpu":
            return pack_bytes_there(x, rounding) if self.bytes == 1 else pack_halves_there(x)
        payload, rounded = (memory(x.shape, dtype=dtype) for dtype in (self.dtype, torch.float32))
        scale = _pack_bytes(x, rounded, payload, rounding) if self.bytes == 1 else _pack_halves(x, rounded, payload)
        return Parcel(payload, scale, x.shape)


def _peak(x: torch.Tensor) -> float:
    """The largest magnitude, or NaN; several times as fast on CPUs as torch's norm of that name."""
    low, high = torch.aminmax(x)
    return max(-low.item(), high.item())


def _scale_of_bytes(peak: float) -> float:
    if not math.isfinite(peak):
        return math.nan
    exponent = math.frexp(peak)[1]
    if abs(exponent) <= MIDDLE:
        return math.ldexp(1.0, exponent)
    return 2 * float(nibble.encode(torch.tensor([peak]), INT8).scales)  # a code n is n · 2^-6 scales


def _pack_bytes(x: torch.Tensor, rounded: torch.Tensor, payload: torch.Tensor, rounding: Dict[str, Any]) -> float:
    """The codes of `nibble.encode`, on CPUs in a fraction of its time: rounded values over their step."""
    scale = _scale_of_bytes(_peak(x))
    if math.isnan(scale):
        payload.zero_()
    elif abs(math.log2(scale)) <= MIDDLE:
        payload.copy_(nibble.quantize(x, INT8, **rounding, out=rounded).mul_(STEPS / scale))
    else:
        payload.copy_(nibble.encode(x, INT8, **rounding).codes.view(torch.int8).reshape(x.shape))
    return scale


def pack_bytes_there(x: torch.Tensor, rounding: Dict[str, Any]) -> Parcel:
    """On a device, which is not waited for; `nibble.encode` itself counts a NaN as nothing."""
    peak = torch.linalg.vector_norm(x, math.inf)
    coded = nibble.encode(x, INT8, **rounding)
    return Parcel(coded.codes.view(torch.int8), None, x.shape, peak)


def _scale_of_halves(peak: float) -> float:
    """2^e > peak: errors of any size keep the bits of fp16, with no loss scaling."""
    if not math.isfinite(peak):
        return math.nan
    return math.ldexp(1.0, min(max(math.frexp(peak)[1], SMALLEST), LARGEST))


def _pack_halves(x: torch.Tensor, ratios: torch.Tensor, payload: torch.Tensor) -> float:
    scale = _scale_of_halves(_peak(x))
    payload.copy_(torch.mul(x, 1 / scale, out=ratios))  # rounds once: the scale is a power of two
    return scale


def pack_halves_there(x: torch.Tensor) -> Parcel:
    """On a device, which is not waited for: 1 / scale by the exponent in the peak's bits, E = e + 126."""
    peak = torch.linalg.vector_norm(x, math.inf)
    exponent = peak.view(torch.int32).bitwise_and(255 * EXPONENT)
    exponent = exponent.clamp_((SMALLEST + 126) * EXPONENT, (LARGEST + 126) * EXPONENT)
    inverse = (253 * EXPONENT - exponent).view(torch.float32)
    payload = torch.mul(x, inverse, out=torch.empty_like(x, dtype=torch.float16))
    return Parcel(payload, None, x.shape, peak)
