# SPDX-License-Identifier: Apache-2.0
"""Models of other programs, and for them."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from pathlib import Path as FilePath

from nibble import _networks
from nibble.arguments import as_list, as_name
from nibble.model import Model, Path
from nibble.network import Network
from nibble.options import as_options
from nibble.paths import as_path


def convert(
    source: Model | Path,
    to: Path | None = None,
    *,
    network: Network | Path | None = None,
    mean: Sequence[float] | None = None,
    deviation: Sequence[float] | None = None,
    input_size: int | None = None,
) -> Model | FilePath:
    """Turns an ONNX file, weights or a layer directory into a model, or a model into an ONNX file or a layer directory: what
    ``nibble convert`` does.

    source: an ``.onnx``, weights (``.npz``, ``.safetensors``, of ``network=``), a layer directory; or a ``.nib`` or a Model.
    to: a ``.nib``, which may be left out; of a model an ``.onnx`` file or a new folder. Gives the model that was made, or
    the path of what was written of a model. mean, deviation: bytes enter as (byte/255 - mean)/deviation. input_size: rows
    and columns of a picture, which a layer directory does not say. What is left out of an ONNX file is told to the logger
    ``nibble``.

    >>> nibble.convert(digits_model, workspace / "digits.onnx").name
    'digits.onnx'
    >>> nibble.convert(workspace / "digits.onnx", workspace / "again.nib").is_float
    False
    >>> shapes = {"fc1.weight": (32, 64), "fc1.bias": 32, "fc2.weight": (10, 32), "fc2.bias": 10}
    >>> np.savez(workspace / "zeros.npz", **{name: np.zeros(shape, np.float32) for name, shape in shapes.items()})
    >>> nibble.convert(workspace / "zeros.npz", network="mlp-64-32-10")
    <nibble.Model 'mlp-64-32-10': floats, 9640 bytes>
    """
    lists = {"mean": mean, "deviation": deviation}
    numbers = {name: each if each is None else as_list("convert", name, each, "numbers") for name, each in lists.items()}
    options = {**numbers, "input_size": input_size}
    target = None if to is None else as_name("convert", "to", to, "a path")
    with as_path(source) as path, as_path(network if network is not None else "") as name:
        given = as_options({**options, "network": name or None})
        model, notes = _networks.convert(as_name("convert", "source", path), target, given)
    for note in notes:
        logging.getLogger("nibble").info("%s: %s", path, note)
    is_for_others = isinstance(source, Model) or path.endswith(".nib")
    return Model(model) if target is None or not is_for_others else FilePath(target)
