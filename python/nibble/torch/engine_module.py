# SPDX-License-Identifier: Apache-2.0
"""A model of integers where a pipeline expects a torch.nn.Module."""

from __future__ import annotations

import operator
import os
import weakref
from typing import TYPE_CHECKING, Any, Dict, Optional, Union

import torch

from .autocasting import autocast_type, is_autocasting
from .engine_ops import answers, file_of, keep, model_of

if TYPE_CHECKING:
    from nibble.model import Model


class EngineModule(torch.nn.Module):
    """A quantized or integer-trained model for evaluation: forward gives the real numbers that integers stand for.

    model    a Model or a path, as `nibble.Engine` takes them, and so are device, threads and max_batch
    forward  takes what the engine takes: pictures of floats or bytes, channels first or last, on any device; integers on
             the GPU where the engine runs are not copied. Answers are float32, under torch.autocast of that device its type

    There is nothing to train: no parameters, no gradients. Copies, pickles and exported programs have the model's bytes in
    them.

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
        from nibble.model import opened_to_run

        self.model = opened_to_run(model)
        self._options: Dict[str, Any] = {"device": device, "threads": threads, "max_batch": max_batch}
        self._begin()

    def _begin(self, file: Optional[torch.Tensor] = None) -> None:
        import nibble

        self.engine = nibble.Engine(self.model, **self._options)
        self._file = file_of(self.model) if file is None else file  # no buffer: stays on the CPU and out of state dicts
        device, *counts = self._options.values()
        options = (device, *(None if count is None else operator.index(count) for count in counts))
        keep(self._file, options, weakref.ref(self.engine))
        self._told = f"{self.model.name}: integers, {self.model.nbytes} bytes"  # also of a compiler, which enters no extension
        self._arguments = (*options, *([*value.shape] for value in (*self.engine.inputs, *self.engine.outputs)))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        found: torch.Tensor = answers(x, self._file, *self._arguments)
        kind = x.device.type
        return found.to(autocast_type(kind)) if is_autocasting(kind) else found

    def extra_repr(self) -> str:
        return self._told

    def __getstate__(self) -> Dict[str, Any]:
        made = ("model", "engine", "_file", "_told", "_arguments")
        kept = {name: value for name, value in self.__dict__.items() if name not in made}
        return {**kept, "bytes": self._file.numpy().tobytes()}

    def __setstate__(self, state: Dict[str, Any]) -> None:
        file = torch.frombuffer(bytearray(state.pop("bytes")), dtype=torch.uint8)
        self.__dict__.update(state)
        self.model = model_of(file)
        self._begin(file)
