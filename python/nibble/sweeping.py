# SPDX-License-Identifier: Apache-2.0
"""One training in many formats, by whoever maps runs to workers."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from itertools import product
from pathlib import Path as FilePath
from typing import Any

from nibble import _core
from nibble.errors import UsageError
from nibble.model import Path
from nibble.training import Columns, Run, train

Job = dict[str, Any]


def run_job(job: Job) -> float:
    """Trains one run of a sweep, or takes it as it is where it has come to its end; gives its accuracy on the test split."""
    run = Run(job["out"])
    if not run.is_complete:
        run = train(mode="continue", progress=False, **job)
    for split in ("test", "val"):
        if split in run.summary:
            return float(run.summary[split]["top1"])
    raise UsageError("[sweep] data: got none to test with, expected x_test and y_test, a set with a test split, or val=")


def sweep(
    what: str,
    formats: Iterable[str],
    *,
    out: Path,
    roundings: Sequence[str] = ("nearest-even",),
    roles: Sequence[str] = ("weight", "activation", "error", "gradient"),
    seeds: int = 1,
    seed: int = 1,
    map: Callable[[Callable[[Job], float], list[Job]], Iterable[float]] = map,
    **settings: Any,
) -> Columns:
    """Trains ``what`` in fp32 and in every format and rounding, once a seed; gives columns format, rounding, seed, top1, run.

    map runs a function over a list, one after another unless you say otherwise: ``multiprocessing.Pool().map``,
    ``lambda f, jobs: joblib.Parallel(n_jobs=4)(joblib.delayed(f)(job) for job in jobs)``, or Ray's, ``lambda f, jobs:
    ray.get([ray.remote(f).remote(job) for job in jobs])``. Runs that are there are taken as they are, those that were
    interrupted go on. settings are those of nibble.train; paths of data should be whole where workers are elsewhere, and
    ``out`` a folder that they share.

    >>> table = nibble.sweep("mlp-64-32-10", ["e4m3"], data="digits", epochs=1, out=workspace / "sweep")
    >>> table["format"], [0 <= top1 <= 1 for top1 in table["top1"]]
    (['fp32', 'e4m3'], [True, True])
    """
    cells = [("fp32", ""), *product((str(_core.Format(each)) for each in formats), roundings)]
    table: Columns = {"format": [], "rounding": [], "seed": [], "run": []}
    jobs: list[Job] = []
    for (format, rounding), number in product(cells, range(seed, seed + seeds)):
        name = "-".join(part for part in (format, rounding, f"seed{number}") if part)
        folder = FilePath(out).absolute() / "".join(c if c.isalnum() or c in "-_." else "-" for c in name)
        job = {"what": what, "out": os.fspath(folder), "seed": number, **settings}
        if rounding:
            job["policy"] = {",".join(roles): f"{format}/{rounding}"}
        jobs.append(job)
        for key, value in zip(table, (format, rounding, number, os.fspath(folder))):
            table[key].append(value)
    return {**table, "top1": list(map(run_job, jobs))}
