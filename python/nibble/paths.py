# SPDX-License-Identifier: Apache-2.0
"""Models and networks as files, for what reads files."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from nibble.errors import ArgumentTypeError
from nibble.model import Model
from nibble.network import Network

What = Model | Network | str | os.PathLike[str]


@contextmanager
def as_path(what: What) -> Iterator[str]:
    """The path or name of a model or a network, written for the time being where it is an object."""
    if isinstance(what, (str, os.PathLike)):
        yield os.fspath(what)
        return
    with tempfile.TemporaryDirectory() as folder:
        if isinstance(what, Model):
            path = Path(folder) / "model.nib"
            what.save(path)
        elif not isinstance(what, Network):
            expected = "a name, a path, a nibble.Network or a nibble.Model"
            raise ArgumentTypeError(f"[path] model or network: got an object of type {type(what).__name__}, expected {expected}")
        else:
            path = Path(folder) / f"{what.name}.toml"
            path.write_text(what.toml, encoding="utf-8")
        yield os.fspath(path)


def policy_text(policy: Mapping[str, str]) -> str:
    """Formats by role as a policy file has them.

    >>> from nibble.paths import policy_text
    >>> print(policy_text({"weight,activation": "e4m3", "error": "e5m2/stochastic"}))
    [[round]]
    role = ["weight", "activation"]
    format = "e4m3"
    [[round]]
    role = ["error"]
    format = "e5m2"
    rounding = "stochastic"
    """
    lines = []
    for roles, rounding in policy.items():
        number_format, slash, how = rounding.rpartition("/") if "/" in rounding else (rounding, "", "")
        lines += ["[[round]]", f"role = {json.dumps(roles.split(','))}", f"format = {json.dumps(number_format)}"]
        lines += [f"rounding = {json.dumps(how)}"] if slash else []
    return "\n".join(lines)


@contextmanager
def as_policy_file(policy: Mapping[str, str] | str | os.PathLike[str] | None) -> Iterator[str | None]:
    """The path of a policy, written for the time being where it is formats by role."""
    if not isinstance(policy, Mapping):
        yield None if policy is None else os.fspath(policy)
        return
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "policy.toml"
        path.write_text(policy_text(policy), encoding="utf-8")
        yield os.fspath(path)
