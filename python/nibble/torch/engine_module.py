# SPDX-License-Identifier: Apache-2.0
"""A model of integers where a pipeline expects a torch.nn.Module."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, Dict, Optional, Union

import torch

from . import ops
from .autocasting import autocast_type, is_autocasting

if TYPE_CHECKING:
    from nibble.model import Model


def _untraced(function: Any) -> Any:
    """torch.compile calls it as it is."""
    return torch.compiler.disable(function) if ops.HAS_OPS else function


class EngineModule(torch.nn.Module):
    """A quantized or integer-trained model for evaluation: forward gives the real numbers that integers stand for.

    model    a Model or a path, as `nibble.Engine` takes them, and so are device, threads and max_batch
    forward  takes what the engine takes: pictures of floats or bytes, channels first or last, on any device; integers on
             the GPU where the engine runs are not copied. Answers are float32, under torch.autocast of that device its type

    There is nothing to train: no parameters, no gradients. Copies and pickles have the model's bytes in them.

    >>> nt.EngineModule(digits_model)(torch.zeros(4, 1, 8, 8)).shape
    torch.Size([4, 10])
    """

    def __init__(
        self,
        model: Union["Model", str, "os.PathLike[str]"],
        device: str = "cpu",
        threads: Optional[int] = None,
        max_batch: Optional[int] = None,
    ) -> None:
        super().__init__()
        import nibble
        from nibble.model import opened_to_run

        self.model = opened_to_run(model)
        self._options: Dict[str, Any] = {"device": device, "threads": threads, "max_batch": max_batch}
        self.engine = nibble.Engine(self.model, **self._options)

    @_untraced
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        values = x.detach()
        answers: torch.Tensor = self.engine.answers(values if self._reaches(x.device) else values.cpu())
        kind = x.device.type
        return answers.to(x.device, autocast_type(kind) if is_autocasting(kind) else answers.dtype)

    def _reaches(self, device: torch.device) -> bool:
        """Whether the engine takes tensors there as they are."""
        own = self._options["device"]
        return device.type == "cpu" or str(device) == ("cuda:0" if own == "cuda" else own)

    def extra_repr(self) -> str:
        return f"{self.model.name}: integers, {self.model.nbytes} bytes"

    def __getstate__(self) -> Dict[str, Any]:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "model.nib"
            self.model.save(path)
            kept = {name: value for name, value in self.__dict__.items() if name not in ("model", "engine")}
            return {**kept, "bytes": path.read_bytes()}

    def __setstate__(self, state: Dict[str, Any]) -> None:
        import nibble

        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "model.nib"
            path.write_bytes(state.pop("bytes"))
            self.__dict__.update(state)
            self.model = nibble.load(path)
        self.engine = nibble.Engine(self.model, **self._options)
