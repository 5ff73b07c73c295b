# SPDX-License-Identifier: Apache-2.0
"""Where the passes of one layer run, how its tensors get there, and what has crossed so far."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import Any, Callable, Iterator, List, NamedTuple, Optional, Sequence, Tuple

import torch

from ...errors import UsageError
from ..draws import Draws, Key
from .backend import COMPUTES, AnyBackend, Backend, backend_of
from .resident import Residents
from .wire import Parcel, Wire, scaled

THERE, BACK = 0, 1  # streams of draws: errors on their way to the device and from it
_counting = threading.Lock()


@dataclass
class Traffic:
    """Bytes and tensors that have crossed."""

    bytes_sent: int = 0
    bytes_fetched: int = 0
    sent: int = 0
    fetched: int = 0

    def __add__(self, other: Traffic) -> Traffic:
        return Traffic(*(getattr(self, name) + getattr(other, name) for name in self.__dataclass_fields__))

    @property
    def bytes(self) -> int:
        """Both ways."""
        return self.bytes_sent + self.bytes_fetched


class Made(NamedTuple):
    """A tensor of the device that the host wants: by which wire, in which type, times which scales."""

    tensor: torch.Tensor
    wire: Wire
    dtype: torch.dtype
    key: Optional[Key] = None  # of int8's draws
    scales: Tuple[Optional[float], ...] = ()


class Site:
    """A back end, a wire and a type of products for one layer, with its parameters that are there."""

    def __init__(
        self,
        device: AnyBackend = "cuda",
        wire: str = "fp16",
        compute: Optional[str] = None,
        seed: Optional[int] = 0,
        stream: int = 0,
    ) -> None:
        if compute is not None and compute not in COMPUTES:
            raise UsageError(f"compute: got {compute!r}, expected one of {', '.join(map(repr, COMPUTES))} or None")
        backend_of(device)
        self.device, self.wire, self.compute, self.stream = device, Wire(wire), compute, stream
        self.compute_dtype = None if compute is None else COMPUTES[compute]
        self.draws = Draws(seed)
        self.residents = Residents()
        self.traffic = Traffic()

    @property
    def backend(self) -> Backend:
        return backend_of(self.device)

    def keeps_numbers(
        self, x: torch.Tensor, weight: torch.Tensor, bias: Optional[torch.Tensor], cast: Optional[torch.dtype] = None
    ) -> bool:
        """Whether all cross as they are and are what products take, where autocast `cast`s what they take among them."""
        dtype = x.dtype
        if cast is not None and {dtype, weight.dtype} <= {torch.float32, cast}:
            return (
                self.compute_dtype in (None, cast)
                and weight.element_size() <= self.wire.bytes
                and (bias is None or bias.dtype == weight.dtype)
            )
        return (
            weight.dtype == dtype
            and self.compute_dtype in (None, dtype)
            and x.element_size() <= self.wire.bytes
            and (bias is None or bias.dtype == dtype)
        )

    def type_of_products(self, x: torch.Tensor) -> torch.dtype:
        return self.compute_dtype or x.dtype

    def send(self, tensor: torch.Tensor, wire: Wire, key: Optional[Key] = None) -> Parcel:
        backend = self.backend
        parcel = wire.pack(tensor, key, 2 * self.stream + THERE, backend.memory)
        with _counting:
            self.traffic.bytes_sent += parcel.nbytes
            self.traffic.sent += 1
        return parcel._replace(payload=backend.send(parcel.payload))

    def parameter(self, name: str, tensor: torch.Tensor, wire: Wire) -> Parcel:
        """On the device, sent where it has changed since the last time."""
        return self.residents.get(name, tensor, self.send, wire)

    def fetch(
        self, make: Callable[[], Sequence[Optional[Made]]], *sent: Optional[torch.Tensor]
    ) -> Callable[[], List[Optional[torch.Tensor]]]:
        """Has the device make tensors of what was sent and begins to bring them; the result waits for them."""
        departing = self.backend.ask(lambda: self._depart(make()), *sent)

        def arrive() -> List[Optional[torch.Tensor]]:
            parcels, wait = departing()
            found = iter(wait())
            return [each and self._unpacked(found, *each) for each in parcels]

        return arrive

    def fetch_as_is(
        self, make: Callable[[], Sequence[Optional[torch.Tensor]]], *sent: Optional[torch.Tensor]
    ) -> Callable[[], Tuple[Optional[torch.Tensor], ...]]:
        backend = self.backend
        departing = backend.ask(lambda: backend.fetch(*make()), *sent)
        return lambda: departing()()

    def count(self, sent: torch.Tensor, fetched: Sequence[Optional[torch.Tensor]]) -> None:
        """What crosses as it is, both ways."""
        nbytes = [each.numel() * each.element_size() for each in fetched if each is not None]
        with _counting:
            self.traffic.bytes_sent += sent.numel() * sent.element_size()
            self.traffic.sent += 1
            self.traffic.bytes_fetched += sum(nbytes)
            self.traffic.fetched += len(nbytes)

    def _depart(self, made: Sequence[Optional[Made]]) -> Tuple[List[Any], Callable[[], Tuple[Any, ...]]]:
        """On the device; what is unpacked how on the host, and what waits for it."""
        packed = [each and self._packed(*each) for each in made]
        parcels = [each[0] for each in packed if each is not None]
        with _counting:
            self.traffic.bytes_fetched += sum(parcel.nbytes for parcel in parcels)
            self.traffic.fetched += len(parcels)
        return packed, self.backend.fetch(*(part for parcel in parcels for part in (parcel.payload, parcel.peak)))

    def _packed(
        self, tensor: torch.Tensor, wire: Wire, dtype: torch.dtype, key: Optional[Key], scales: Tuple[Optional[float], ...]
    ) -> Tuple[Parcel, torch.dtype, Tuple[Optional[float], ...]]:
        """What has a scale takes the others along."""
        if not wire.rounds(tensor):
            tensor = scaled(tensor, *scales)
            tensor, scales = tensor.to(_narrow(tensor, dtype)), ()
        return wire.pack(tensor, key, 2 * self.stream + BACK), dtype, scales

    def _unpacked(
        self, found: Iterator[Any], parcel: Parcel, dtype: torch.dtype, scales: Tuple[Optional[float], ...]
    ) -> torch.Tensor:
        return parcel.arrived(next(found), next(found)).unpacked(dtype, *scales, memory=self.backend.memory)

    def __repr__(self) -> str:
        compute = "" if self.compute is None else f", compute={self.compute}"
        return f"{self.device} by {self.wire.name}{compute}"


def _narrow(gradient: torch.Tensor, dtype: torch.dtype) -> torch.dtype:
    """Nothing crosses in more bits than the host wants to have."""
    return dtype if torch.finfo(dtype).bits < torch.finfo(gradient.dtype).bits else gradient.dtype
