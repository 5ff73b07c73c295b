# SPDX-License-Identifier: Apache-2.0
"""Models under MLPerf's LoadGen."""

from __future__ import annotations

import csv
import json
import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nibble.command import as_files, last_line, run_command
from nibble.errors import InputError
from nibble.model import Model

SUMMARY = "mlperf_log_summary.txt"


@dataclass(frozen=True)
class LoadGenRun:
    """A run's folder, and what LoadGen found."""

    folder: Path
    scenario: str
    is_valid: bool
    said: str  # the command's last line: the speed, or why the run is not valid
    samples_per_second: float | None  # of Offline, Server and MultiStream
    latency_ms: dict[str, float]  # min, max, mean and percentiles, as "99.00"

    @property
    def settings(self) -> dict[str, Any]:
        """Machine, model, data, and how samples were put into batches."""
        found: dict[str, Any] = json.loads((self.folder / "settings.json").read_text(encoding="utf-8"))
        return found

    def table(self, name: str) -> dict[str, list[float]]:
        """A table of the run as columns: "batches", "latencies" or "slices" (of a second)."""
        with open(self.folder / f"{name}.csv", encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file))
        return {column: [float(row[column]) for row in rows] for column in (rows[0] if rows else {})}


def loadgen(model: Model | str | os.PathLike[str], data: Any, *, out: str | os.PathLike[str], **options: Any) -> LoadGenRun:
    """Runs a model of integers under LoadGen as ``nibble loadgen`` does, in a process of its own, and gives what it found.

    data     names, paths or arrays, as everywhere; out is the run's folder. Keywords are the command's options:
             scenario="Server", mode="accuracy", seconds=10, target_qps=900, threads=4, device="cuda", …

    >>> run = nibble.loadgen(digits_model, "digits", out=workspace / "offline", seconds=0.2, threads=1)
    >>> run.scenario, run.samples_per_second > 1000, sorted(run.latency_ms)[:2]
    ('Offline', True, ['50.00', '90.00'])
    """
    folder = Path(out)
    with as_files(model, data) as (model_path, data_path):
        done = run_command("loadgen", model_path, options={"data": data_path, "out": folder, **options})
    if not (folder / SUMMARY).exists():
        raise InputError(last_line(done.stderr))
    text = (folder / SUMMARY).read_text(encoding="utf-8")
    scenario = re.search(r"Scenario : (\w+)", text)
    speed = re.search(r"^(?:S|Completed s)amples per second\s*: ([\d.e+]+)", text, re.MULTILINE)
    latencies = re.findall(r"^([\d.]+|Min|Max|Mean)(?: percentile)? latency \(ns\)\s*: (\d+)", text, re.MULTILINE)
    return LoadGenRun(
        folder,
        scenario[1] if scenario else "",
        done.returncode == 0,
        last_line(done.stdout if done.returncode == 0 else done.stderr),
        float(speed[1]) if speed else None,
        {name.lower(): int(ns) * 1e-6 for name, ns in latencies},
    )
