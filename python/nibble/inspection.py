# SPDX-License-Identifier: Apache-2.0
"""What the command says of models, runs and this machine, as data."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import numpy as np

from nibble._core import Format
from nibble.arguments import as_list
from nibble.command import check_end, run_command
from nibble.gathering import as_array
from nibble.model import Model
from nibble.paths import What, as_model_path
from nibble.tables import numbers_of
from nibble.training import Run

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from nibble.keywords import TuneOptions


def said(*words: str | os.PathLike[str], **options: Any) -> Any:
    """What the command prints with --json."""
    return json.loads(check_end(run_command(*words, options={"json": True, **options})))


def describe(what: What) -> dict[str, Any]:
    """Layers, shapes, parameters and products of a network or a model, and what is proven of a model of integers: what
    ``nibble describe --json`` prints.

    >>> found = nibble.describe(nibble.networks["lenet"])
    >>> found["parameters"], [layer["op"] for layer in found["layers"]][:3]
    (430500, ['input', 'conv2d', 'relu'])
    >>> nibble.describe(digits_model)["weights_hash"] == digits_model.weights_hash
    True
    """
    with as_model_path(what) as path:
        found: dict[str, Any] = said("describe", path)
    return found


def rescale_tables(model: Model | str | os.PathLike[str]) -> list[dict[str, Any]]:
    """Of every rescale of a model of integers: multipliers and shifts of its channels as CMSIS-NN has them, and the factors
    that they stand for, multiplier / 2^31 * 2^shift: what ``nibble describe --tables --json`` prints.

    >>> table = nibble.rescale_tables(digits_model)[0]
    >>> table["name"], len(table["multipliers"]) == len(table["shifts"]) == len(table["factors"])
    ('relu1', True)
    """
    with as_model_path(model) as path:
        found: list[dict[str, Any]] = said("describe", path, tables=True)
    return found


def measure_formats(
    x: Any = "normal", formats: Iterable[str | Format] = (), *, rounding: str = "nearest-even", seed: int = 0
) -> dict[str, Any]:
    """What formats do to an array, the fewest bits first: bits_per_element, sqnr_db, max_abs_error, share_saturated …: what
    ``nibble formats --on --json`` prints.

    x: an array, a ``.npy`` file, or 2^20 numbers that are made: "normal", "uniform". formats: none are a choice of them.

    >>> found = nibble.measure_formats(np.linspace(-1, 1, 1000), ["e4m3", "int8(scale=absmax)"])
    >>> [(row["name"], round(row["sqnr_db"])) for row in found["formats"]]
    [('e4m3', 33), ('int8(scale=absmax)', 48)]
    """
    names = [str(each) for each in as_list("formats", "formats", formats, "a list of formats")]
    with ExitStack() as stack:
        source = x
        if not isinstance(x, (str, os.PathLike)):
            source = Path(stack.enter_context(TemporaryDirectory())) / "array.npy"
            np.save(source, as_array(x).astype(np.float32))
        found: dict[str, Any] = numbers_of(said("formats", *names, on=source, rounding=rounding, seed=seed))
    return found if source is x else {**found, "on": "array"}


def operations() -> list[dict[str, Any]]:
    """What can be done with each operation of networks: what ``nibble describe --operations --json`` prints.

    >>> next(each["emit"]["is_there"] for each in nibble.operations() if each["operation"] == "conv2d")
    True
    """
    found: list[dict[str, Any]] = said("describe", operations=True)
    return found


def doctor() -> dict[str, Any]:
    """What was built, what this machine offers, which data is here: what ``nibble doctor --json`` prints.

    >>> found = nibble.doctor()
    >>> found["version"] == nibble.__version__, found["isa"] in found["isas"]
    (True, True)
    """
    found: dict[str, Any] = said("doctor")
    return found


def report(*runs: Run | str | os.PathLike[str], out: str | os.PathLike[str] = "report.html") -> Path:
    """Writes one HTML page of one or several runs, or a picture of their accuracies where out ends in ``.svg``.

    >>> page = nibble.report(digits_run, out=workspace / "report.html")
    >>> "<svg" in page.read_text(encoding="utf-8")
    True
    """
    folders = [each.folder if isinstance(each, Run) else each for each in runs]
    check_end(run_command("report", *folders, options={"output": out}))
    return Path(out)


@dataclass(frozen=True)
class Tuning:
    """How a model's layers are best cut on this machine."""

    file: Path  # which engines on this machine use from now on; with output= where NIBBLE_TUNING names it
    cuts: list[dict[str, Any]]  # shape, pixels and outputs of every shape of layer that gains; none: no gain
    has_gain: bool
    tuned_ms: float | None  # medians of runs in turns, with other cuts and as usual; None where no cut was worth a run
    usual_ms: float | None
    runs: int  # of each
    words: str  # the command's own


def tune(model: Model | str | os.PathLike[str], **options: Unpack[TuneOptions]) -> Tuning:
    """Finds how layers are best cut on this machine, as ``nibble tune`` does: it changes speed, never a number.

    Keywords are the command's options (nibble.keywords.TuneOptions): batch=16, threads=1, device="cuda", rounds=15,
    output="mine.txt".

    >>> tuning = nibble.tune(digits_model, threads=1, rounds=1, output=workspace / "tuning.txt")
    >>> tuning.file.name, tuning.has_gain == (len(tuning.cuts) > 0)
    ('tuning.txt', True)
    """
    with as_model_path(model) as path:
        found = said("tune", path, **options)
    return Tuning(Path(found.pop("file")), words=found.pop("said"), **found)


def hashes_of(text: str) -> Mapping[str, str]:
    """The hashes of ``nibble signature --verbose`` by what they are of.

    >>> from nibble.inspection import hashes_of
    >>> hashes_of("acc1420d5bc4de11  fp32 nearest-even\\n56f72ca2a9bbb445  all\\n")
    {'fp32 nearest-even': 'acc1420d5bc4de11', 'all': '56f72ca2a9bbb445'}
    """
    split = (line.partition("  ") for line in text.splitlines())
    return {name: code for code, _, name in split}


def signature(device: str = "cpu", *, long: bool = False) -> str:
    """One hash of all arithmetic, the same on every machine that computes the same; seconds. long: another hash, with 50
    steps of VGG-small-7, which take up to hours.

    >>> nibble.signature("cuda") == nibble.signature()  # doctest: +SKIP
    True
    """
    return check_end(run_command("signature", options={"device": device, "long": long})).strip()


def signatures(device: str = "cpu", *, long: bool = False) -> Mapping[str, str]:
    """The hashes that a signature is made of: of each format, rounding, accumulator and training, and of all.

    >>> nibble.signatures()["fp32 nearest-even"]  # doctest: +SKIP
    'acc1420d5bc4de11'
    """
    return hashes_of(check_end(run_command("signature", options={"device": device, "verbose": True, "long": long})))
