# SPDX-License-Identifier: Apache-2.0
"""A tool of the project on a small tree made for it."""

import subprocess
import sys
import tempfile
from pathlib import Path


def run_tool(tool, files):
    """Exit code and output of the tool on a tree with these files."""
    with tempfile.TemporaryDirectory() as folder:
        for name, text in files.items():
            path = Path(folder) / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        done = subprocess.run([sys.executable, "-B", str(tool), folder], capture_output=True, text=True)
        return done.returncode, done.stdout + done.stderr
