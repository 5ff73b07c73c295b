# SPDX-License-Identifier: Apache-2.0
"""Which device computes which pass of a training step."""

from __future__ import annotations

import json
import os
from typing import Any

from nibble.command import check_end, run_command


def place(what: str | os.PathLike[str], *, data: str | os.PathLike[str], **options: Any) -> dict[str, Any]:
    """Measures the passes of a step of training (int8, or ``arith="float"``) on both devices and finds who should
    compute what: what ``nibble place --json`` prints. Keywords are the command's options; ``nibble.plot.placement``
    draws it.

    >>> plan = nibble.place("mlp-64-32-10", data="digits", threads=1)
    >>> plan["units"][0]["pass"], "cpu" in plan["units"][0]["us"]
    ('forward', True)

    ``plan["chosen"]`` is then ``all on cpu`` where there is no other device.
    """
    done = run_command("place", what, options={"data": data, "json": True, **options})
    found: dict[str, Any] = json.loads(check_end(done))
    return found
