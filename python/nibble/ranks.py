# SPDX-License-Identifier: Apache-2.0
"""Training on several processes of this machine, which the command starts."""

from __future__ import annotations

import signal
import subprocess
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from nibble.command import INTERRUPTS, command_line, environment, error_of, last_line
from nibble.errors import Interrupted
from nibble.tables import columns_of

SECONDS = 0.1  # between two looks at the table of epochs


class _Epochs:
    """The rows that a run adds to its table, as it adds them."""

    def __init__(self, folder: Path, is_new: bool) -> None:
        self._path = folder / "epochs.csv"
        self._old = self._file() if is_new else None  # the table of a run that is going to be replaced
        self._told = 0 if is_new else len(self._rows())

    def _file(self) -> int | None:
        return self._path.stat().st_ino if self._path.exists() else None

    def _rows(self) -> list[dict[str, float]]:
        if not self._path.exists():
            return []
        whole = self._path.read_text(encoding="utf-8").rpartition("\n")[0]  # the last line may be in the making
        columns = columns_of(whole, self._path)
        count = len(next(iter(columns.values()), []))
        return [{name: column[i] for name, column in columns.items() if column[i] is not None} for i in range(count)]

    def more(self) -> Iterator[dict[str, float]]:
        if self._old is not None and self._file() == self._old:
            return
        rows = self._rows()
        first = min(self._told, len(rows))
        self._told = len(rows)
        yield from rows[first:]


def train_on_ranks(
    what: str,
    options: Mapping[str, Any],
    *,
    folder: str,
    mode: str,
    tell: Callable[[dict[str, float]], object],
) -> None:
    """Runs ``nibble train`` with these options, and tells the rows of its epochs."""
    words = {**options, "out": folder, "quiet": True}
    if mode != "fresh":
        words[mode] = True
    epochs = _Epochs(Path(folder), mode not in ("resume", "continue"))
    # In a session of its own: a second Ctrl-C, from the terminal, would end it without a checkpoint.
    process = subprocess.Popen(
        command_line("train", *([what] if what else []), options=words),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        env=environment(),
        start_new_session=True,
    )
    try:
        said = None
        while said is None:
            try:
                said = _last_words(process)
                for row in epochs.more():
                    tell(row)
            except KeyboardInterrupt:
                process.send_signal(signal.SIGINT)
    finally:
        if process.poll() is None:  # a callback has raised
            process.send_signal(signal.SIGINT)
            process.communicate()
    _check(process.returncode, said, folder)


def _last_words(process: subprocess.Popen[str]) -> str | None:
    """What it said, once it has ended."""
    try:
        return process.communicate(timeout=SECONDS)[1]
    except subprocess.TimeoutExpired:
        return None


def _check(code: int, said: str, folder: str) -> None:
    if code in INTERRUPTS:
        stopped = last_line(said).partition(";")[0]
        raise Interrupted(f"[train] {stopped}: mode='resume', out={folder!r} goes on from the checkpoint")
    if code != 0:
        raise error_of(code, said)
