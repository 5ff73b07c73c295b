# SPDX-License-Identifier: Apache-2.0
"""Where the command is that comes with the package."""

from pathlib import Path

from nibble import _core

# Beside what was compiled: Python files lie elsewhere in an editable install.
PROGRAM = Path(_core.__file__).with_name("bin") / "nibble"
