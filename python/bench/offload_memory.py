# SPDX-License-Identifier: Apache-2.0
"""Memory of a process that trains: what was freed is used again, for new pages cost more than what is computed there."""

import os
import sys

KEEPS_PAGES = {"MALLOC_MMAP_THRESHOLD_": str(1 << 30), "MALLOC_TRIM_THRESHOLD_": str(1 << 34)}


def begin_again_with_kept_pages() -> None:
    """The C library reads its variables when a program begins."""
    if any(os.environ.get(name) != value for name, value in KEEPS_PAGES.items()):
        sys.stdout.flush()
        os.execve(sys.executable, [sys.executable, *sys.argv], {**os.environ, **KEEPS_PAGES})
