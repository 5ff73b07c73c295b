# SPDX-License-Identifier: Apache-2.0
"""Training in any precision, or in integers alone."""

from __future__ import annotations

import csv
import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path as FilePath
from typing import Any

from nibble import _networks
from nibble.data import known_data
from nibble.errors import InputError, Interrupted
from nibble.evaluation import Evaluation, evaluate
from nibble.model import Model, Path, load
from nibble.network import Network, networks
from nibble.options import as_options
from nibble.progress import Bar

Columns = dict[str, list[Any]]


def _number(text: str) -> Any:
    if text == "":
        return None
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def _columns(path: FilePath) -> Columns:
    if not path.exists():
        return {}
    try:
        with path.open(newline="", encoding="utf-8") as file:
            rows = [row for row in csv.reader(file) if row]
    except (csv.Error, ValueError) as error:
        raise InputError(f"[run] {path}: got {error}, expected a table") from None
    if any(len(row) != len(rows[0]) for row in rows):
        raise InputError(f"[run] {path}: got rows of several lengths, expected {len(rows[0])} fields in each")
    return {name: [_number(row[i]) for row in rows[1:]] for i, name in enumerate(rows[0])} if rows else {}


def _object(path: FilePath) -> dict[str, Any]:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise InputError(f"[run] {path}: got {error}, expected JSON") from None
    if not isinstance(found, dict):
        raise InputError(f"[run] {path}: got {type(found).__name__}, expected an object")
    return found


class Run:
    """The folder of a run: what ``nibble train`` leaves, as data. Columns are what pandas.DataFrame takes."""

    def __init__(self, folder: Path) -> None:
        self.folder = FilePath(folder)

    @property
    def history(self) -> Columns:
        """A column for each number of an epoch: epoch, step, train_loss, val_top1, test_top1, seconds, …"""
        return _columns(self.folder / "epochs.csv")

    @property
    def layers(self) -> Columns:
        """Ranges and errors of the tensors of each layer, by epoch."""
        return _columns(self.folder / "layers.csv")

    @property
    def integers(self) -> Columns:
        """Shifts and saturation of integer training, by epoch."""
        return _columns(self.folder / "integers.csv")

    @property
    def settings(self) -> dict[str, Any]:
        """All that decides the numbers."""
        return _object(self.folder / "settings.json")

    @property
    def summary(self) -> dict[str, Any]:
        """The end of the run; empty before it."""
        path = self.folder / "summary.json"
        return _object(path) if path.exists() else {}

    @property
    def is_complete(self) -> bool:
        """Whether it has come to its end."""
        return bool(self.summary)

    @property
    def model(self) -> Model:
        """The best model by validation, else the last."""
        return load(self.folder)

    def evaluate(self, data: Any, **options: Any) -> Evaluation:
        """As nibble.evaluate, of its model."""
        return evaluate(self.model, data, **options)

    def __fspath__(self) -> str:
        return os.fspath(self.folder)

    def __repr__(self) -> str:
        state = "complete" if self.is_complete else "to be resumed"
        return f"<nibble.Run {str(self.folder)!r}: {state}>"


class _Recipes(Mapping[str, str]):
    """The recipes that come with Nibble, by name, as TOML."""

    def __init__(self) -> None:
        self._texts = dict(_networks.named_recipes())

    def __getitem__(self, name: str) -> str:
        return self._texts[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._texts)

    def __len__(self) -> int:
        return len(self._texts)

    def __repr__(self) -> str:
        return f"nibble.recipes({', '.join(self)})"


recipes = _Recipes()


def _rules(policy: Mapping[str, str] | Path | None) -> dict[str, Any]:
    """A policy as options: a file, or formats by role."""
    if isinstance(policy, Mapping):
        return {"round": [f"{roles}={rounding}" for roles, rounding in policy.items()]}
    return {"policy": policy}


def _input_shape(what: object) -> tuple[int, ...] | None:
    network = networks.get(what) if isinstance(what, str) else what
    return network.input_shape if isinstance(network, Network) else None


def train(
    what: str | os.PathLike[str] | Network | None = None,
    *,
    data: Any = None,
    arith: str | None = None,
    policy: Mapping[str, str] | Path | None = None,
    out: Path = "",
    mode: str = "fresh",
    epochs: int | None = None,
    batch: int | None = None,
    seed: int | None = None,
    threads: int | None = None,
    callbacks: Iterable[Callable[[dict[str, float]], object]] = (),
    checkpoint_every: int = 1,
    stop_after: int = 0,
    layer_statistics: bool = True,
    data_name: str = "arrays",
    progress: bool = True,
    **options: Any,
) -> Run:
    """Trains a network or a recipe, into the run folder that ``nibble train`` writes, to the same weights.

    what: a name of nibble.networks or nibble.recipes, a ``.toml`` file, or a Network. data: a name, a path, arrays by the
    names of an ``.npz`` (x_train, y_train, x_test, y_test), (x, y), or batches, as a torch DataLoader has them. arith:
    "float" or "int8". policy: formats by role, as {"weight,activation": "e4m3", "error": "e5m2/stochastic"}, or a file.
    mode: "fresh", "overwrite", "resume" or "continue". callbacks are called with the numbers of every epoch. Further
    keywords are the command's options with _ for -: lr, schedule, optimizer, val, patience, mu, momentum16, …

    Ctrl-C leaves a checkpoint and raises nibble.errors.Interrupted, a KeyboardInterrupt; mode="resume" goes on to the very
    weights of a run that was not interrupted. After stop_after epochs it ends so, too, without an error.

    >>> run = nibble.train("mlp-64-32-10", data="digits", arith="int8", epochs=1, out=workspace / "run", progress=False)
    >>> run.model.weights_hash, run.history["epoch"]
    ('cf9c86c60dd4b0e1', [1])
    """
    given = {
        "arith": arith,
        "epochs": epochs,
        "batch": batch,
        "seed": seed,
        "threads": threads,
        **_rules(policy),
        **options,
    }
    network = what.toml if isinstance(what, Network) else None
    name = "" if what is None or isinstance(what, Network) else os.fspath(what)
    listeners = list(callbacks)
    with known_data(data if data is not None else "", data_name, _input_shape(what)) as known:
        if data is not None:
            given["data"] = known
        with Bar("train", epochs, progress) as bar:

            def tell(row: dict[str, float]) -> None:
                epoch = int(row.pop("epoch_number"))
                row["epoch"] = epoch
                bar.tell(f"loss {row['train_loss']:.4f}", epoch)
                for listener in listeners:
                    listener(row)

            folder, _, signal, done, steps = _networks.train(
                name,
                network,
                as_options(given),
                os.fspath(out),
                mode,
                checkpoint_every,
                stop_after,
                layer_statistics,
                tell,
            )
    if signal != 0:
        raise Interrupted(
            f"[train] interrupted after {done} epochs, {steps} steps: mode='resume', out={folder!r} goes on from the checkpoint"
        )
    return Run(folder)
