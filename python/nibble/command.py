# SPDX-License-Identifier: Apache-2.0
"""The command that comes with the package, for work that has a process of its own."""

from __future__ import annotations

import os
import signal
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from os import PathLike, fspath
from pathlib import Path
from typing import Any

import numpy as np

from nibble.arguments import as_file, as_name
from nibble.errors import (
    DeviceError,
    Error,
    InputError,
    InternalError,
    Interrupted,
    LimitError,
    OutOfMemoryError,
    PlatformError,
    UsageError,
)
from nibble.gathering import NAMES, arrays_of
from nibble.options import as_words
from nibble.program import PROGRAM

USAGE = 2  # the exit code of a call that cannot be
INTERRUPTS = (128 + signal.SIGINT, 128 + signal.SIGTERM)
KINDS: dict[str, type[Error]] = {
    "usage": UsageError,
    "input": InputError,
    "limit": LimitError,
    "memory": OutOfMemoryError,
    "system": PlatformError,
    "device": DeviceError,
    "internal": InternalError,
}


def command_line(*words: str | PathLike[str], options: Mapping[str, Any]) -> list[str]:
    """The program and its words."""
    if not PROGRAM.exists():
        raise PlatformError("[command] got a package that was built without it, expected one with bin/nibble")
    return [fspath(PROGRAM), *(as_file("command", "argument", word) for word in words), *as_words(options)]


def environment() -> dict[str, str]:
    """That of the command, which then tells the kind of an error."""
    return {**os.environ, "NIBBLE_ERRORS": "kind"}


def run_command(*words: str | PathLike[str], options: Mapping[str, Any]) -> subprocess.CompletedProcess[str]:
    """What the command printed and how it ended; a mistake in the call is its one line as a ``UsageError``."""
    line = command_line(*words, options=options)
    done = subprocess.run(line, capture_output=True, text=True, env=environment())
    if done.returncode == USAGE or done.returncode in INTERRUPTS:
        raise error_of(done.returncode, done.stderr)
    return done


def last_line(text: str) -> str:
    """Of what the command said, without its name.

    >>> from nibble.command import last_line
    >>> last_line("working\\nnibble: [read_model] m.nib: got nothing, expected a model\\n")
    '[read_model] m.nib: got nothing, expected a model'
    """
    lines = text.strip().splitlines()
    return lines[-1].removeprefix("nibble: ") if lines else "the command said nothing"


def error_of(code: int, stderr: str) -> Error | Interrupted:
    """Why a command has failed, by its exit code and the kind that stands in front of its last line.

    >>> from nibble.command import error_of
    >>> error_of(1, "nibble: device: [device] cuda: got a build without CUDA, expected one with it\\n")
    DeviceError('[device] cuda: got a build without CUDA, expected one with it')
    >>> error_of(2, "nibble: tune: --rounds: got '0', expected a whole number from 1 to 1000\\n")
    UsageError("tune: --rounds: got '0', expected a whole number from 1 to 1000")
    """
    said = last_line(stderr)
    if code in INTERRUPTS:
        return Interrupted(said)
    if code == USAGE:
        return UsageError(said)
    if code < 0:
        return PlatformError(f"[command] got an end by signal {-code}, expected an exit code")
    kind, _, text = said.partition(": ")
    return KINDS[kind](text) if kind in KINDS else InternalError(said)


def check_end(done: subprocess.CompletedProcess[str]) -> str:
    """The output of a command that ended well."""
    if done.returncode != 0:
        raise error_of(done.returncode, done.stderr)
    return done.stdout


@contextmanager
def as_data_file(data: Any, shape: tuple[int, ...] | None = None) -> Iterator[str]:
    """The name or path of data, written for the time being where it is arrays; shape is that of one example."""
    if isinstance(data, NAMES):
        yield as_name("data", "data", data)
        return
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "arrays.npz"
        np.savez(path, **arrays_of(data, shape))  # type: ignore[arg-type]
        yield fspath(path)
