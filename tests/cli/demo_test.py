# SPDX-License-Identifier: Apache-2.0
"""The story that make demo tells."""

import os
import subprocess
import unittest
from pathlib import Path
from xml.etree import ElementTree

from case import Case, NIBBLE, run


class Demo(Case):
    def test_the_demo_tells_its_story(self):
        script = Path(__file__).resolve().parents[2] / "tools" / "demo"
        process = subprocess.run([script, self.folder / "demo"], capture_output=True, timeout=300,
                                 env={**os.environ, "NIBBLE_BIN": NIBBLE})
        text = process.stdout.decode()
        self.assertEqual((process.returncode, process.stderr), (0, b""), text)
        self.assertLessEqual(len(text.splitlines()), 70)
        for words in ("3.25  (code 0x45)", "mxfp4  ", "The same bits on every path", "make test"):
            self.assertIn(words, text)
        ElementTree.parse(self.folder / "demo" / "formats.svg")

    def test_a_missing_command_is_named(self):
        script = Path(__file__).resolve().parents[2] / "tools" / "demo"
        process = subprocess.run([script, self.folder], capture_output=True,
                                 env={**os.environ, "NIBBLE_BIN": str(self.folder / "absent")})
        self.assertEqual(process.returncode, 1)
        self.assertIn(b"absent", process.stderr)


if __name__ == "__main__":
    unittest.main()
