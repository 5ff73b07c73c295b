# SPDX-License-Identifier: Apache-2.0
"""One training in many settings, by whoever maps runs to workers."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path as FilePath
from typing import TYPE_CHECKING, Any

from nibble import _networks
from nibble.arguments import as_flag, as_list, as_name, as_text, mistaken
from nibble.data import known_data
from nibble.errors import Interrupted
from nibble.gathering import gathered
from nibble.model import Path
from nibble.network import Network
from nibble.options import Options, as_options
from nibble.paths import as_path
from nibble.tables import Columns, number
from nibble.training import WHAT, Run, rules_of, shape_for

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from nibble.keywords import SweepOptions

Job = dict[str, Any]
TEXTS = ("format", "rounding")  # axes whose labels stay texts


def _varied(vary: Mapping[str, Iterable[Any]]) -> list[str]:
    """Options and their values as ``nibble sweep --vary`` takes them.

    >>> from nibble.sweeping import _varied
    >>> _varied({"fraction_bits": [0, 8], "flip": [True]})
    ['fraction-bits=0', 'fraction-bits=8', 'flip=true']
    """
    shown = {True: "true", False: "false"}
    if not isinstance(vary, Mapping):
        raise mistaken("sweep", "vary", vary, "values by option")
    lists = {as_text("sweep", "vary", name): as_list("sweep", f"vary {name}", values, "a list") for name, values in vary.items()}
    return [
        f"{name.removesuffix('_').replace('_', '-')}={shown[value] if isinstance(value, bool) else value}"
        for name, values in lists.items()
        for value in values
    ]


@contextmanager
def _call(job: Job) -> Iterator[tuple[str, str | None, Options]]:
    """What is trained and the options of the sweep, while data in memory has a name."""
    what, options = job["what"], dict(job["options"])
    with ExitStack() as stack:
        if options.get("data") is not None:
            options["data"] = stack.enter_context(known_data(options["data"], job["data_name"]))
        if options.get("from_") is not None:
            options["from_"] = stack.enter_context(as_path(options["from_"]))
        is_network = isinstance(what, Network)
        yield "" if is_network else as_name("sweep", "what", what, WHAT), what.toml if is_network else None, as_options(options)


def run_job(job: Job) -> float:
    """Trains one run of a sweep, or takes it as it is where it has come to its end; gives its accuracy on the test split."""
    run = Run(job["out"])
    if not run.is_complete:
        with _call(job) as call:
            signal = _networks.train_row(*call, job["row"], job["seed"], job["out"], job["layer_statistics"])
        if signal != 0:
            raise Interrupted("[sweep] interrupted: the same call goes on")
    return float(run.summary["test" if "test" in run.summary else "val"]["top1"])


def sweep(
    what: str | os.PathLike[str] | Network,
    formats: Iterable[str] | None = None,
    *,
    out: Path,
    vary: Mapping[str, Iterable[Any]] | None = None,
    twin: Path | None = None,
    roundings: Sequence[str] = ("nearest-even",),
    roles: Sequence[str] = ("weight", "activation", "error", "gradient"),
    seeds: int = 1,
    seed: int | None = None,
    map: Callable[[Callable[[Job], float], list[Job]], Iterable[float]] = map,
    policy: Mapping[str, str] | Path | None = None,
    layer_statistics: bool = True,
    data_name: str = "arrays",
    **settings: Unpack[SweepOptions],
) -> Columns:
    """Trains ``what`` in many settings, once a seed, as ``nibble sweep`` does; gives columns: the settings, seed, run, top1.

    formats: fp32 and every format with every rounding. vary: options of nibble.train that decide numbers, and their values;
    every value of one is tried with every value of the others. twin: the first row is the same run in floats, by the
    optimizer of this recipe, or by Adam where it is a network. Further keywords are options of the command, as of
    nibble.train.

    map runs a function over a list, one after another unless you say otherwise: ``multiprocessing.Pool().map``,
    ``lambda f, jobs: joblib.Parallel(n_jobs=4)(joblib.delayed(f)(job) for job in jobs)``, or Ray's, ``lambda f, jobs:
    ray.get([ray.remote(f).remote(job) for job in jobs])``. Runs that are there are taken as they are, those that were
    interrupted go on; a folder of a sweep with other settings is refused. Paths of data should be whole where workers are
    elsewhere, and ``out`` a folder that they share, where sweep.csv, sweep.svg and report.html tell the end.

    >>> table = nibble.sweep("mlp-64-32-10", ["e4m3"], data="digits", epochs=1, out=workspace / "formats")
    >>> table["format"], [0 <= top1 <= 1 for top1 in table["top1"]]
    (['fp32', 'e4m3'], [True, True])
    >>> how = {"vary": {"mu": [5, 4], "fraction_bits": [0]}, "twin": "mlp-64-32-10", "arith": "int8"}
    >>> table = nibble.sweep("mlp-64-32-10", data="digits", epochs=1, out=workspace / "varied", **how)
    >>> table["mu"], table["fraction_bits"], table["seed"]
    (['fp32', 5, 4], [None, 0, 0], [1, 1, 1])
    """
    if not callable(map):
        raise mistaken("sweep", "map", map, "a function of a function and a list")
    folder = FilePath(as_name("sweep", "out", out, "a path")).absolute()
    options = {**rules_of(policy), "twin": twin, "seeds": seeds, "seed": seed, **settings}
    if options.get("data") is not None:  # a generator is read once
        options["data"] = gathered(options["data"], shape_for(options["data"], what))
    if formats is not None:
        lists = {"formats": formats, "roundings": roundings, "roles": roles}
        options |= {name: as_list("sweep", name, each, "a list of texts") for name, each in lists.items()}
        options["formats"] = options["formats"] or ["fp32"]
    if vary is not None:
        options["vary"] = _varied(vary)
    has_layers = as_flag("sweep", "layer_statistics", layer_statistics)
    shared = {"what": what, "options": options, "data_name": data_name, "layer_statistics": has_layers}
    with _call(shared) as call:
        axes, rows, folders, first, count = _networks.plan_sweep(*call, os.fspath(folder))
    table: Columns = {name: [] for name in (*(axis.replace("-", "_") for axis in axes), "seed", "run")}
    jobs: list[Job] = []
    for row, (labels, name) in enumerate(zip(rows, folders)):
        for each in range(first, first + count):
            job = {**shared, "row": row, "seed": each, "out": os.fspath(folder / f"{name}-seed{each}")}
            shown = [label if axis in TEXTS else number(label) for axis, label in zip(axes, labels)]
            for column, value in zip(table.values(), (*shown, each, job["out"])):
                column.append(value)
            jobs.append(job)
    top1 = list(map(run_job, jobs))
    with _call(shared) as call:
        _networks.write_sweep(*call, os.fspath(folder), [top1[i : i + count] for i in range(0, len(top1), count)])
    return {**table, "top1": top1}
