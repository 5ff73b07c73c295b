# SPDX-License-Identifier: Apache-2.0
"""Parameters that stay on the accelerator until they change on the host."""

from __future__ import annotations

from typing import Any, Callable, Dict, Optional, Tuple

import torch

from .backend import NOTHING_AROUND
from .wire import Parcel, Wire

# What is written through `.data` counts no version: elements are compared as well.
COMPARED_WHOLE = 1 << 16  # elements up to which all are
PROBES = 64  # of more


class _Copy:
    def __init__(self, source: torch.Tensor, sent: Parcel, former: Optional[_Copy]) -> None:
        self.source = source.detach()  # held, so that no other tensor gets its address
        self.version, self.sent = source._version, sent
        probe = _probe(self.source)
        self.probe: torch.Tensor
        self.probe = former.probe.copy_(probe) if former and former.may_lend(self.version, probe) else probe.clone()

    def is_of(self, tensor: torch.Tensor) -> bool:
        return (
            tensor._version == self.version
            and tensor.data_ptr() == self.source.data_ptr()
            and tensor.shape == self.source.shape
            and tensor.dtype == self.source.dtype
            and torch.equal(_probe(tensor), self.probe)
        )

    def may_lend(self, version: int, probe: torch.Tensor) -> bool:
        """Its probe's memory: other threads that still look at this copy must find another version."""
        return version != self.version and probe.shape == self.probe.shape and probe.dtype == self.probe.dtype


def _probe(tensor: torch.Tensor) -> torch.Tensor:
    count = tensor.numel()
    return tensor.detach() if count <= COMPARED_WHOLE else tensor.detach().reshape(-1)[:: count // PROBES]


class Residents:
    """The copies of one layer's parameters by name. Copies of a layer and its pickles begin with none."""

    def __init__(self) -> None:
        self._copies: Dict[str, _Copy] = {}

    def get(self, name: str, tensor: torch.Tensor, send: Callable[[torch.Tensor, Wire], Parcel], wire: Wire) -> Parcel:
        if tensor.is_inference():  # counts no versions
            return send(tensor, wire)
        copy: Optional[_Copy] = self._copies.get(name)
        if copy is None or not copy.is_of(tensor):
            # Training goes on with what evaluation has sent.
            with torch.inference_mode(False) if torch.is_inference_mode_enabled() else NOTHING_AROUND:
                copy = self._copies[name] = _Copy(tensor, send(tensor, wire), copy)
        return copy.sent

    def forget(self) -> None:
        self._copies.clear()

    def __deepcopy__(self, memo: Any) -> Residents:
        return Residents()

    def __reduce__(self) -> Tuple[Any, ...]:
        return Residents, ()
