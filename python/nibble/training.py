# SPDX-License-Identifier: Apache-2.0
"""Training in any precision, or in integers alone."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path as FilePath
from typing import TYPE_CHECKING, Any

from nibble import _networks
from nibble.arguments import as_count, as_file, as_flag, as_list, as_name, as_text, mistaken
from nibble.data import known_data
from nibble.errors import Interrupted, UsageError
from nibble.evaluation import Evaluation, evaluate
from nibble.gathering import NAMES
from nibble.model import Model, Path, load, opened
from nibble.network import Network
from nibble.options import as_options
from nibble.paths import as_path, as_rules
from nibble.progress import Bar
from nibble.ranks import train_on_ranks
from nibble.tables import Columns, read_columns, read_object

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from nibble.keywords import EvaluateOptions, TrainOptions

MOST_PROCESSES = (1 << 31) - 1
WHAT = "a name, a path or a nibble.Network"


class Run:
    """The folder of a run: what ``nibble train`` leaves, as data. Columns are what pandas.DataFrame takes."""

    def __init__(self, folder: Path) -> None:
        self.folder = FilePath(as_file("run", "folder", folder))

    @property
    def history(self) -> Columns:
        """A column for each number of an epoch: epoch, step, train_loss, val_top1, test_top1, seconds, …"""
        return read_columns(self.folder / "epochs.csv")

    @property
    def layers(self) -> Columns:
        """Ranges and errors of the tensors of each layer, by epoch."""
        return read_columns(self.folder / "layers.csv")

    @property
    def integers(self) -> Columns:
        """Shifts and saturation of integer training, by epoch."""
        return read_columns(self.folder / "integers.csv")

    @property
    def settings(self) -> dict[str, Any]:
        """All that decides the numbers."""
        return read_object(self.folder / "settings.json")

    @property
    def summary(self) -> dict[str, Any]:
        """The end of the run; empty before it."""
        path = self.folder / "summary.json"
        return read_object(path) if path.exists() else {}

    @property
    def is_complete(self) -> bool:
        """Whether it has come to its end."""
        return bool(self.summary)

    @property
    def model(self) -> Model:
        """The best model by validation, else the last."""
        return load(self.folder)

    def evaluate(self, data: Any, **options: Unpack[EvaluateOptions]) -> Evaluation:
        """As nibble.evaluate, of its model.

        >>> digits_run.evaluate("digits").top1 == digits_run.summary["test"]["top1"]
        True
        """
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
"""The recipes that come with Nibble: a mapping of names to their TOML."""


def rules_of(policy: Mapping[str, str] | Path | None) -> dict[str, Any]:
    """A policy as options: a file, or formats by role."""
    if isinstance(policy, Mapping):
        return {"round": [f"{roles}={rounding}" for roles, rounding in as_rules(policy)]}
    return {"policy": policy}


def shape_for(
    data: Any, what: Network | Model | Path | None, from_: Model | Path | None = None
) -> tuple[int, ...] | None:
    """Of one example, as the network of a recipe, a network or a model takes it; None where the data has a name and is read
    as it is.

    >>> from nibble.training import shape_for
    >>> shape_for([], "digits-convnet-fp32"), shape_for("digits", "digits-convnet-fp32")
    ((8, 8, 1), None)
    """
    if isinstance(data, NAMES):
        return None
    if what is None and from_ is not None:
        return opened(from_).input_shape
    if isinstance(what, (Network, Model)):
        return what.input_shape
    return _networks.input_shape("" if what is None else as_name("train", "what", what, WHAT))


def train(
    what: str | os.PathLike[str] | Network | None = None,
    *,
    data: Any = None,
    arith: str | None = None,
    policy: Mapping[str, str] | Path | None = None,
    out: Path = "",
    mode: str = "fresh",
    from_: Model | Path | None = None,
    epochs: int | None = None,
    batch: int | None = None,
    seed: int | None = None,
    threads: int | None = None,
    ranks: int = 1,
    callbacks: Iterable[Callable[[dict[str, float]], object]] = (),
    checkpoint_every: int = 1,
    stop_after: int = 0,
    layer_statistics: bool = True,
    profile: Path = "",
    data_name: str = "arrays",
    progress: bool = True,
    **options: Unpack[TrainOptions],
) -> Run:
    """Trains a network or a recipe, into the run folder that ``nibble train`` writes, to the same weights.

    what: a name of nibble.networks or nibble.recipes, a ``.toml`` file, or a Network. data: a name, a path, arrays by
    the names of an ``.npz`` (x_train, y_train, x_test, y_test), (x, y), batches, as a torch DataLoader has them, which
    are read once, to their end, or (train, test) of either. arith: "float" or "int8". policy: formats by role, as
    {"weight,activation": "e4m3", "error": "e5m2/stochastic"}, or a file. mode: "fresh", "overwrite", "resume" or
    "continue". from_: a model, a file or a run to start from. ranks: processes of this machine that share each batch of
    integers, started by the command; data is then a name or a path. profile: a file for the trace of one step.
    callbacks are called with the numbers of every epoch, of ranks the row of ``Run.history``. Further keywords are the
    command's options with _ for - (nibble.keywords.TrainOptions): lr, schedule, val, mu, …

    Ctrl-C leaves a checkpoint and raises nibble.errors.Interrupted, a KeyboardInterrupt; mode="resume" goes on to the very
    weights of a run that was not interrupted. After stop_after epochs it ends so, too, without an error.

    >>> run = nibble.train("mlp-64-32-10", data="digits", arith="int8", epochs=1, out=workspace / "run", progress=False)
    >>> run.model.weights_hash, run.history["epoch"]
    ('cf9c86c60dd4b0e1', [1])
    >>> again = {"data": "digits", "arith": "int8", "epochs": 1, "progress": False}
    >>> nibble.train("mlp-64-32-10", ranks=2, threads=1, out=workspace / "ranks", **again).model.weights_hash
    'cf9c86c60dd4b0e1'
    >>> nibble.train(from_=run, out=workspace / "more", **again).history["train_loss"][0] < run.history["train_loss"][0]
    True
    """
    given = {
        "arith": arith,
        "epochs": epochs,
        "batch": batch,
        "seed": seed,
        "threads": threads,
        **rules_of(policy),
        **options,
    }
    if as_count("train", "ranks", ranks, MOST_PROCESSES) != 1 and not (data is None or isinstance(data, NAMES)):
        raise UsageError(f"[train] data: got arrays with ranks={ranks}, expected a name or a path that all of them read")
    listeners = as_list("train", "callbacks", callbacks, "a list of functions")
    for each in listeners:
        if not callable(each):
            raise mistaken("train", "callbacks", each, "functions alone")
    network = what.toml if isinstance(what, Network) else None
    name = "" if what is None or isinstance(what, Network) else as_name("train", "what", what, WHAT)
    folder, trace = as_name("train", "out", out, "a path"), as_name("train", "profile", profile, "a path")
    ends = as_count("train", "checkpoint_every", checkpoint_every), as_count("train", "stop_after", stop_after)
    how = folder, as_text("train", "mode", mode), *ends
    has_layers = as_flag("train", "layer_statistics", layer_statistics)
    with ExitStack() as stack:
        if data is not None:
            given["data"] = stack.enter_context(known_data(data, data_name, shape_for(data, what, from_)))
        if from_ is not None:
            given["from"] = stack.enter_context(as_path(from_))
        bar = stack.enter_context(Bar("train", progress))

        def tell(row: dict[str, float] | None, total: int) -> None:
            if row is None:
                bar.move("", 0, total)
                return
            row["epoch"] = int(row.pop("epoch_number", row.get("epoch", 0)))
            bar.tell(f"loss {row['train_loss']:.4f}", row["epoch"], total)
            for listener in listeners:
                listener(row)

        common = (name, network, as_options(given), *how)
        if ranks != 1:
            folder = _networks.planned_folder(*common, ranks)
            given |= {"checkpoint_every": checkpoint_every, "stop_after": stop_after, "ranks": ranks}
            given |= {"no_layer_statistics": not layer_statistics, "profile": trace or None}
            path = "" if what is None else stack.enter_context(as_path(what))
            of_rank = lambda row: tell(row, Run(folder).settings["epochs"])
            train_on_ranks(path, given, folder=folder, mode=mode, tell=of_rank)
            return Run(folder)
        folder, _, signal, done, steps = _networks.train(*common, has_layers, trace, tell)
    if signal != 0:
        raise Interrupted(
            f"[train] interrupted after {done} epochs, {steps} steps: mode='resume', out={folder!r} goes on from the checkpoint"
        )
    return Run(folder)
