# SPDX-License-Identifier: Apache-2.0
"""Models under MLPerf's LoadGen, and what its logs are worth."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nibble import _networks
from nibble.arguments import as_file, as_name, as_text
from nibble.command import as_data_file, check_end, error_of, last_line, run_command
from nibble.data import known_data
from nibble.errors import InputError
from nibble.gathering import NAMES
from nibble.model import Model, opened
from nibble.paths import as_model_path
from nibble.tables import Columns, read_columns, read_object

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from nibble.keywords import LoadGenOptions

DETAIL_LOG = "mlperf_log_detail.txt"
ACCURACY_LOG = "mlperf_log_accuracy.json"


def _latencies(figures: dict[str, float], of: str) -> dict[str, float]:
    """Milliseconds by "min", "max", "mean" and percentile.

    >>> from nibble.mlperf import _latencies
    >>> _latencies({"min_latency_ns": 2e6, "99.00_percentile_latency_ns": 5e6, "query_count": 7}, "")
    {'min': 2.0, '99.00': 5.0}
    """
    found = ((re.fullmatch(rf"([\d.]+|min|max|mean)(?:_percentile)?{of}_latency_ns", name), ns) for name, ns in figures.items())
    return {name[1]: ns * 1e-6 for name, ns in found if name}


@dataclass(frozen=True)
class LoadGenRun:
    """A run's folder, and what LoadGen found."""

    folder: Path
    is_valid: bool
    said: str  # the speed, or why the run is not valid
    figures: dict[str, float]  # all that LoadGen's detailed log tells: "samples_per_second", "99.00_percentile_latency_ns", …

    @property
    def settings(self) -> dict[str, Any]:
        """Machine, model, data, and how samples were put into batches."""
        return read_object(self.folder / "settings.json")

    @property
    def scenario(self) -> str:
        """Offline, Server, SingleStream or MultiStream."""
        return str(self.settings["scenario"])

    @property
    def samples_per_second(self) -> float | None:
        """Of Offline and Server."""
        return self.figures.get("samples_per_second", self.figures.get("completed_samples_per_sec"))

    @property
    def latency_ms(self) -> dict[str, float]:
        """Min, max, mean and percentiles, as "99.00": of samples, or of MultiStream's queries."""
        return _latencies(self.figures, "(?:_per)?_query") or _latencies(self.figures, "")

    def table(self, name: str) -> Columns:
        """A table of the run as columns: "batches", "latencies" or "slices" (of a second).

        >>> run = nibble.loadgen(digits_model, "digits", out=workspace / "tables", seconds=0.2, threads=1)
        >>> sum(run.table("latencies")["samples"]) > 0
        True
        """
        if not (self.folder / f"{name}.csv").exists():
            raise InputError(f"[loadgen] {self.folder}: got no table {name!r}, expected batches, latencies or slices")
        return read_columns(self.folder / f"{name}.csv")


def loadgen(
    model: Model | str | os.PathLike[str],
    data: Any,
    *,
    out: str | os.PathLike[str],
    **options: Unpack[LoadGenOptions],
) -> LoadGenRun:
    """Runs a model of integers under LoadGen as ``nibble loadgen`` does, in a process of its own, and gives what it found.

    data     names, paths or arrays, as everywhere; out is the run's folder. Keywords are the command's options
             (nibble.keywords.LoadGenOptions): scenario="Server", mode="accuracy", seconds=10, target_qps=900, threads=4,
             device="cuda", …

    >>> run = nibble.loadgen(digits_model, "digits", out=workspace / "offline", seconds=0.2, threads=1)
    >>> run.scenario, run.samples_per_second > 1000, sorted(run.latency_ms)[:2]
    ('Offline', True, ['50.00', '90.00'])
    """
    folder = Path(as_name("loadgen", "out", out, "a path"))
    old = _written(folder / DETAIL_LOG)
    shape = None if isinstance(data, NAMES) else opened(model).input_shape
    with as_model_path(model) as model_path, as_data_file(data, shape) as data_path:
        done = run_command("loadgen", model_path, options={"data": data_path, "out": folder, **options})
    is_valid = done.returncode == 0
    said = last_line(done.stdout)
    if not is_valid:
        error = error_of(done.returncode, done.stderr)
        if not isinstance(error, InputError) or _written(folder / DETAIL_LOG) == old:
            raise error  # there was no run; one that is not valid has a log
        said = str(error)
    return LoadGenRun(folder, is_valid, said, _networks.load_result(os.fspath(folder))[2])


def _written(log: Path) -> tuple[int, int] | None:
    """Which file it is, and when it was written last."""
    return (log.stat().st_ino, log.stat().st_mtime_ns) if log.exists() else None


def read_run(folder: str | os.PathLike[str]) -> LoadGenRun:
    """A run that is there.

    >>> run = nibble.loadgen(digits_model, "digits", out=workspace / "read", seconds=0.2, threads=1)
    >>> nibble.mlperf.read_run(workspace / "read").figures == run.figures
    True
    """
    is_valid, reason, figures = _networks.load_result(as_file("loadgen", "folder", folder))
    return LoadGenRun(Path(folder), is_valid, reason, figures)


@dataclass(frozen=True)
class Score:
    """What the answers of an accuracy log are worth."""

    samples: int  # of the data
    answered: int
    correct: int
    correct_in_5: int | None  # None where answers have fewer than five classes
    compared: int | None = None  # with the oracle: answers that both logs have
    agreed: int | None = None  # those of them that are the same

    @property
    def top1(self) -> float:
        """Of what was answered, from 0 to 1."""
        return self.correct / self.answered if self.answered else 0.0

    @property
    def top5(self) -> float | None:
        """Of what was answered, from 0 to 1."""
        return None if self.correct_in_5 is None or not self.answered else self.correct_in_5 / self.answered


Log = LoadGenRun | str | os.PathLike[str]


def _folder(run: Log) -> str:
    return as_file("loadgen", "run", run.folder if isinstance(run, LoadGenRun) else run, "a LoadGenRun or its folder")


def _log(run: Log) -> str:
    path = Path(_folder(run))
    return os.fspath(path / ACCURACY_LOG if path.is_dir() else path)


def score(log: Log, data: Any, *, split: str = "test", oracle: Log | None = None) -> Score:
    """Counts the right answers of an accuracy run, and those that another log shares: ``nibble loadgen score``.

    log, oracle: a run, its folder, or an ``mlperf_log_accuracy.json``; data: what the run was given.

    >>> run = nibble.loadgen(digits_model, "digits", out=workspace / "answers", mode="accuracy", threads=1)
    >>> found = nibble.mlperf.score(run, "digits", oracle=run)
    >>> found.samples, found.answered, found.agreed
    (360, 360, 360)
    >>> found.correct == nibble.evaluate(digits_model, "digits").correct
    True
    """
    part = as_text("score", "split", split)
    with known_data(data) as name:
        found = _networks.load_score(_log(log), name, part, None if oracle is None else _log(oracle))
    return Score(*found) if oracle is not None else Score(*found[:4])


@dataclass(frozen=True)
class Compliance:
    """How a run did in one of MLPerf's compliance tests."""

    has_passed: bool
    said: str  # the figures, in one line

    def __bool__(self) -> bool:
        return self.has_passed


def test01(*, accuracy: Log, performance: Log, audit: Log) -> Compliance:
    """TEST01: whether a performance run under TEST01's audit.config gives the accuracy run's answers, as fast as without it.

    >>> how = {"data": "digits", "seconds": 0.2, "threads": 1}
    >>> accuracy = nibble.loadgen(digits_model, out=workspace / "accuracy", mode="accuracy", **how)
    >>> performance = nibble.loadgen(digits_model, out=workspace / "performance", **how)
    >>> config = workspace / "audit.config"  # in place of MLPerf's
    >>> config.write_text("*.*.mode = 2\\n*.*.accuracy_log_rng_seed = 1\\n*.*.accuracy_log_sampling_target = 64\\n")
    81
    >>> audit = nibble.loadgen(digits_model, out=workspace / "audit", audit=config, **how)
    >>> found = nibble.mlperf.test01(accuracy=accuracy, performance=performance, audit=audit)
    >>> "sampled answers are those of the accuracy run" in found.said
    True
    """
    return Compliance(*_networks.load_test01(_folder(accuracy), _folder(performance), _folder(audit)))


def test04(*, performance: Log, same: Log) -> Compliance:
    """TEST04: whether a run on one sample again and again (``set="performance_issue_same=1"``) is no faster than others.

    >>> how = {"data": "digits", "seconds": 0.2, "threads": 1}
    >>> run = nibble.loadgen(digits_model, out=workspace / "others", **how)
    >>> same = nibble.loadgen(digits_model, out=workspace / "same", set="performance_issue_same=1", **how)
    >>> nibble.mlperf.test04(performance=run, same=same).said[:26]
    'one sample again and again'
    >>> nibble.mlperf.test04(performance=run, same=run).has_passed  # which was given many
    False
    """
    return Compliance(*_networks.load_test04(_folder(performance), _folder(same)))


def report(*runs: Log, out: str | os.PathLike[str] = "loadgen.html") -> Path:
    """One HTML page of one or several runs: ``nibble loadgen report``.

    >>> run = nibble.loadgen(digits_model, "digits", out=workspace / "shown", seconds=0.2, threads=1)
    >>> nibble.mlperf.report(run, out=workspace / "loadgen.html").name
    'loadgen.html'
    """
    check_end(run_command("loadgen", "report", *(_folder(run) for run in runs), options={"output": out}))
    return Path(out)
