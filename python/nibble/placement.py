# SPDX-License-Identifier: Apache-2.0
"""Which device computes which pass of a training step."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

from nibble.command import as_data_file, check_end, run_command
from nibble.model import Model, Path
from nibble.network import Network
from nibble.paths import as_path
from nibble.training import rules_of, shape_for

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from nibble.keywords import PlaceOptions


def place(
    what: Network | Model | Path,
    *,
    data: Any,
    from_: Model | Path | None = None,
    policy: Mapping[str, str] | Path | None = None,
    **options: Unpack[PlaceOptions],
) -> dict[str, Any]:
    """Measures the passes of a step of training (int8, or ``arith="float"``) on both devices and finds who should
    compute what: what ``nibble place --json`` prints. what: a network or a recipe, by name, path or as an object; of a
    Model its network. data, from_ and policy are as of nibble.train, other keywords the command's options;
    ``nibble.plot.placement`` draws it.

    >>> plan = nibble.place("mlp-64-32-10", data="digits", threads=1)
    >>> plan["units"][0]["pass"], "cpu" in plan["units"][0]["us"]
    ('forward', True)
    >>> mine = nibble.Network("mine", input=(6,)).add("linear", features=2).add("softmax_cross_entropy")
    >>> x, y = np.zeros((20, 6), np.uint8), np.arange(20) % 2
    >>> nibble.place(mine, data=(x, y), batch=10, threads=1)["batch"]
    10

    ``plan["chosen"]`` is then ``all on cpu`` where there is no other device.
    """
    with ExitStack() as stack:
        given = {"data": stack.enter_context(as_data_file(data, shape_for(data, what)))}
        if from_ is not None:
            given["from"] = stack.enter_context(as_path(from_))
        network = Network.from_toml(what.toml, what.name) if isinstance(what, Model) else what
        path = stack.enter_context(as_path(network))
        done = run_command("place", path, options={**given, **rules_of(policy), "json": True, **options})
    found: dict[str, Any] = json.loads(check_end(done))
    return found
