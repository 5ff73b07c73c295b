# SPDX-License-Identifier: Apache-2.0
"""Models and networks as files, for what reads files."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from nibble._core import Format
from nibble.arguments import as_file, as_name, as_text, mistaken
from nibble.model import Model, load_to_run
from nibble.network import Network

What = Model | Network | str | os.PathLike[str]


@contextmanager
def as_path(what: What) -> Iterator[str]:
    """The path or name of a model or a network, written for the time being where it is an object."""
    if isinstance(what, (str, os.PathLike)):
        yield as_file("path", "model or network", what)
        return
    with tempfile.TemporaryDirectory() as folder:
        if isinstance(what, Model):
            path = Path(folder) / "model.nib"
            what.save(path)
        elif not isinstance(what, Network):
            raise mistaken("path", "model or network", what, "a name, a path, a nibble.Network or a nibble.Model")
        else:
            path = Path(folder) / f"{what.name}.toml"
            path.write_text(what.toml, encoding="utf-8")
        yield os.fspath(path)


@contextmanager
def as_model_path(model: What) -> Iterator[str]:
    """The same for a process that takes no ``.onnx``: that becomes what nibble.load makes of it."""
    if isinstance(model, (str, os.PathLike)) and as_file("path", "model", model).endswith(".onnx"):
        model = load_to_run(model)
    with as_path(model) as path:
        yield path


def as_rules(policy: Mapping[str, str]) -> list[tuple[str, str]]:
    """Roles and their formats, as texts."""
    expected = "a text, as 'e4m3/stochastic'"
    return [
        (as_text("policy", "roles", roles), str(how) if isinstance(how, Format) else as_text("policy", str(roles), how, expected))
        for roles, how in policy.items()
    ]


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
    for roles, rounding in as_rules(policy):
        number_format, slash, how = rounding.rpartition("/") if "/" in rounding else (rounding, "", "")
        lines += ["[[round]]", f"role = {json.dumps(roles.split(','))}", f"format = {json.dumps(number_format)}"]
        lines += [f"rounding = {json.dumps(how)}"] if slash else []
    return "\n".join(lines)


@contextmanager
def as_policy_file(policy: Mapping[str, str] | str | os.PathLike[str] | None) -> Iterator[str | None]:
    """The path of a policy, written for the time being where it is formats by role."""
    if not isinstance(policy, Mapping):
        yield None if policy is None else as_name("policy", "policy", policy, "formats by role, or a path")
        return
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "policy.toml"
        path.write_text(policy_text(policy), encoding="utf-8")
        yield os.fspath(path)
