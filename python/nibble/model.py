# SPDX-License-Identifier: Apache-2.0
"""Models: a network with its numbers."""

from __future__ import annotations

import logging
import os
from typing import TYPE_CHECKING, Any

from nibble import _networks
from nibble.arguments import as_file, as_text, mistaken
from nibble.errors import Error
from nibble.options import Options

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from nibble.evaluation import Emitted, Evaluation
    from nibble.keywords import EmitOptions, EvaluateOptions

Path = str | os.PathLike[str]
MODEL = "a nibble.Model or a path"


class Model:
    """A network with its numbers, of floats or of integers.

    ``nibble.load`` reads one; training and quantization give one. Its numbers do not change.
    """

    def __init__(self, core: _networks.Model) -> None:
        if not isinstance(core, _networks.Model):
            raise mistaken("model", "core", core, "what nibble.load, training or quantization gives")
        self._core = core

    @property
    def name(self) -> str:
        """Of the network."""
        return self._core.name

    @property
    def toml(self) -> str:
        """The network as text, which ``nibble.Network`` reads."""
        return self._core.toml

    @property
    def classes(self) -> list[str]:
        """Names of the answers; empty where they have none."""
        return self._core.classes

    @property
    def input_shape(self) -> tuple[int, ...]:
        """Of one example: height, width, channels, or features."""
        return self._core.input_shape

    @property
    def is_float(self) -> bool:
        """Whether all of its numbers are floats; otherwise it is one of integers."""
        return self._core.is_float

    @property
    def nbytes(self) -> int:
        """Of all parameters."""
        return self._core.nbytes

    @property
    def weights_hash(self) -> str:
        """Of all parameters, as the command prints it."""
        return self._core.weights_hash

    @property
    def origin(self) -> dict[str, str]:
        """Where the model came from: data, recipe, seed, version."""
        return self._core.origin

    @property
    def parameters(self) -> dict[str, Any]:
        """Copies of the numbers as NumPy arrays, by name."""
        return self._core.parameters()

    def save(self, path: Path) -> None:
        """Writes a ``.nib`` file, beside and then renamed.

        >>> digits_model.save(workspace / "saved.nib")
        >>> nibble.load(workspace / "saved.nib").nbytes == digits_model.nbytes
        True
        """
        self._core.save(as_file("save", "path", path))

    def to_onnx(self, path: Path) -> None:
        """Writes a model of integers as ONNX, with QuantizeLinear and DequantizeLinear.

        >>> digits_model.to_onnx(workspace / "written.onnx")
        >>> nibble.Engine(workspace / "written.onnx").inputs[0].shape
        (8, 8, 1)
        """
        self._core.save_onnx(as_file("to_onnx", "path", path))

    def evaluate(self, data: Any, **options: Unpack[EvaluateOptions]) -> Evaluation:
        """As nibble.evaluate.

        >>> digits_model.evaluate("digits") == nibble.evaluate(digits_model, "digits")
        True
        """
        from nibble.evaluation import evaluate

        return evaluate(self, data, **options)

    def emit(self, folder: Path, **options: Unpack[EmitOptions]) -> Emitted:
        """As nibble.emit.

        >>> digits_model.emit(workspace / "emitted").macs
        84224
        """
        from nibble.evaluation import emit

        return emit(self, folder, **options)

    def __repr__(self) -> str:
        kind = "floats" if self.is_float else "integers"
        return f"<nibble.{type(self).__name__} {self.name!r}: {kind}, {self.nbytes} bytes>"


def load(path: Path) -> Model:
    """A model from a ``.nib``, an ``.onnx``, the folder of a run (its best model, else its last) or a layer directory.

    A quantized ``.onnx`` is one of integers, as nibble.convert makes it; one of which that can make none is of floats that
    are rounded as the file says.

    >>> digits_model.save(workspace / "digits.nib")
    >>> nibble.load(workspace / "digits.nib").weights_hash == digits_model.weights_hash
    True
    >>> digits_model.to_onnx(workspace / "digits.onnx")
    >>> nibble.load(workspace / "digits.onnx").is_float
    False
    """
    try:
        return load_to_run(path)
    except Error:
        return Model(_networks.Model.open(as_file("load", "model", path, MODEL)))


def load_to_run(path: Path, options: Options | None = None) -> Model:
    """The same for what runs integers alone: says why a quantized ``.onnx`` is none. options: of ``nibble convert``."""
    file = as_file("load", "model", path, MODEL)
    if not file.endswith(".onnx"):
        return Model(_networks.Model.open(file))
    core, notes = _networks.convert(as_text("load", "model", file), None, options or [])
    for note in notes:
        logging.getLogger("nibble").info("%s: %s", file, note)
    return Model(core)


def opened(model: Model | Path) -> Model:
    """The model itself, or the one at a path."""
    return model if isinstance(model, Model) else load(model)


def opened_to_run(model: Model | Path) -> Model:
    """The same for what runs integers alone."""
    return model if isinstance(model, Model) else load_to_run(model)
