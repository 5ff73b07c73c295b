# SPDX-License-Identifier: Apache-2.0
"""``python -m nibble`` is the command: the program that comes with the package takes this process over."""

from __future__ import annotations

import os
import sys

from nibble.program import PROGRAM


def main() -> None:
    if not PROGRAM.exists():
        sys.exit("nibble: this package was built without the command")
    os.execv(PROGRAM, ["nibble", *sys.argv[1:]])


if __name__ == "__main__":
    main()
