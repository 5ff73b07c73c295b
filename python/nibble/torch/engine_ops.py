# SPDX-License-Identifier: Apache-2.0
"""What an engine answers as torch.library knows it, for graphs of torch.compile and torch.export.

The model is a tensor there, the bytes of its file, so that an exported program has all that it needs. An engine is a module's,
which it dies with, or where there is none that of the tensor.
"""

from __future__ import annotations

import tempfile
import threading
import weakref
from pathlib import Path
from typing import TYPE_CHECKING, Any, Callable, Dict, List, Optional, Sequence, Tuple

import numpy as np
import torch

from . import ops
from .functions import each_member

if TYPE_CHECKING:
    from nibble.engine import Engine
    from nibble.model import Model

Options = Tuple[str, Optional[int], Optional[int]]  # device, threads, max_batch
_engines: Dict[int, Dict[Options, Callable[[], Optional[Engine]]]] = {}  # by the id of their tensor
_making = threading.Lock()


def file_of(model: Model) -> torch.Tensor:
    """The bytes of a model's file, on the CPU."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.nib"
        model.save(path)
        return torch.from_numpy(np.fromfile(path, np.uint8))


def model_of(file: torch.Tensor) -> Model:
    import nibble

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.nib"
        file.cpu().numpy().tofile(path)
        return nibble.load(path)


def keep(file: torch.Tensor, options: Options, engine: Callable[[], Optional[Engine]]) -> None:
    """As long as the tensor lives."""
    if id(file) not in _engines:
        weakref.finalize(file, _engines.pop, id(file), None)
    _engines.setdefault(id(file), {})[options] = engine


def _kept(file: torch.Tensor, options: Options) -> Optional[Engine]:
    kept = _engines.get(id(file), {}).get(options)
    return None if kept is None else kept()


def _engine_of(file: torch.Tensor, options: Options) -> Engine:
    """That of the module, while there is one; that of a program by itself is made by its first call."""
    engine = _kept(file, options)
    if engine is not None:
        return engine
    import nibble

    with _making:
        engine = _kept(file, options)
        if engine is None:
            device, threads, max_batch = options
            engine = made = nibble.Engine(model_of(file), device=device, threads=threads, max_batch=max_batch)
            keep(file, options, lambda: made)
        return engine


def _answers(
    x: torch.Tensor,
    file: torch.Tensor,
    device: str,
    threads: Optional[int],
    max_batch: Optional[int],
    example: Sequence[int],
    answer: Sequence[int],
) -> torch.Tensor:
    takes_it = x.device.type == "cpu" or str(x.device) == ("cuda:0" if device == "cuda" else device)
    found: torch.Tensor = _engine_of(file, (device, threads, max_batch)).answers(x if takes_it else x.cpu())
    return found.to(x.device)


def _is_one(shape: Sequence[int], example: Sequence[int]) -> bool:
    """Whether an engine takes that for one example; planes of one channel are several unless they are an example."""
    if len(shape) != 3 or len(example) != 3 or example[2] > 1:
        return len(shape) <= len(example)
    return all(own == wanted for own, wanted in zip(shape[::-1], example[::-1]))  # the batch last: it may be a symbol


def _shape_of(shape: Sequence[int], example: Sequence[int], answer: Sequence[int]) -> List[int]:
    return [*answer] if _is_one(shape, example) else [shape[0], *answer]


def _over_a_batch(info: Any, in_dims: Tuple[Any, ...], *inputs: Any) -> Tuple[torch.Tensor, int]:
    """vmap: one call for all members, since examples do not hang together."""
    if in_dims[0] is None or in_dims[1] is not None:
        return each_member(answers, info, in_dims, *inputs)
    x, *rest = inputs
    x = x.movedim(in_dims[0], 0)
    shape = _shape_of(x.shape[1:], *rest[-2:])
    examples = x if _is_one(x.shape[1:], rest[-2]) else x.flatten(0, 1)
    return answers(examples, *rest).reshape(x.shape[0], *shape), 0


answers: Any = _answers

if ops.HAS_OPS:  # with less around a call than custom_op puts there: models without compiler call it, too
    SCHEMA = "(Tensor x, Tensor file, str device, int? threads, int? max_batch, int[] example, int[] answer) -> Tensor"
    NAME = "nibble::engine_answers"
    library = torch.library.Library("nibble", "FRAGMENT")
    library.define(f"engine_answers{SCHEMA}", tags=(torch.Tag.pt2_compliant_tag, *ops.UNCAPTURED))
    library.impl("engine_answers", _answers, "CompositeExplicitAutograd")
    library.impl("engine_answers", torch.library.fallthrough_kernel, "Autograd")  # answers have no gradient
    torch.library.register_fake(
        NAME, lambda x, *rest: x.new_empty(_shape_of(x.shape, *rest[-2:]), dtype=torch.float32), lib=library
    )
    torch.library.register_vmap(NAME, _over_a_batch, lib=library)
    answers = torch.ops.nibble.engine_answers.default
