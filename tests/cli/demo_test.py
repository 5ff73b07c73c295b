# SPDX-License-Identifier: Apache-2.0
"""The story that make demo tells."""

import os
import re
import subprocess
import unittest
from pathlib import Path
from xml.etree import ElementTree

from case import Case, NIBBLE, run


class Demo(Case):
    def test_the_demo_tells_its_story(self):
        script = Path(__file__).resolve().parents[2] / "tools" / "demo"
        process = subprocess.run([script, self.folder / "demo"], capture_output=True, timeout=1200,
                                 env={**os.environ, "NIBBLE_BIN": NIBBLE})
        text = process.stdout.decode()
        self.assertEqual((process.returncode, process.stderr), (0, b""), text)
        self.assertLessEqual(len(text.splitlines()), 130)
        for words in ("3.25  (code 0x45)", "mxfp4  ", "The same bits on every path", "make test"):
            self.assertIn(words, text)
        ElementTree.parse(self.folder / "demo" / "formats.svg")
        if "no training" in text:
            return
        for precision, least in (("fp32", 97), ("e4m3", 96)):
            lines = re.findall(rf"digits-convnet-{precision} --threads \d +([\d.]+) %, weights ([0-9a-f]{{16}})\n", text)
            self.assertEqual((len(lines), len(set(lines))), (2, 1), text)
            self.assertGreaterEqual(float(lines[0][0]), least)
        accuracy = re.search(r"digits-convnet-fp32 --arith int8 +([\d.]+) %, weights [0-9a-f]{16}\n", text)
        self.assertGreaterEqual(float(accuracy[1]), 96)
        paths = re.findall(r"\n  (--threads \d|NIBBLE_ISA=\w+) +[\d.]+ %, weights ([0-9a-f]{16})(?=\n)", text)
        self.assertEqual([name for name, _ in paths][:3], ["--threads 1", "--threads 2", "NIBBLE_ISA=portable"], text)
        self.assertEqual(len({weights for _, weights in paths}), 1, text)
        page = (script.parents[1] / "docs" / "demo.md").read_text()
        self.assertIn(accuracy[0], page)  # integers are the same everywhere
        self.assertIn(f" %, weights {paths[0][1]}\n", page)
        self.assertRegex(text, r"No float instruction in the step(: looked at \d+ objects, \d+ instructions, 0 problems\.|;)")
        self.assertRegex(text, r"\n   9\d % \|.*[o+]")
        self.assertRegex(text, r"\n   9\d % \|.*[*+]")
        self.assertRegex(text, r"\n        \+-{30} epoch 60\n")
        self.assertRegex(text, r"The trainer's own answers to every digit, on \d paths\.")
        self.assertRegex(text, r"\n[\d.]+ images/s, [\d.]+ ms a run")
        self.assertEqual(len(re.findall(r"\nintegers +9\d\.\d\d % +\d+ +\d+\n", text)), 2, text)
        self.assertEqual(text.count("0 of 500 test vectors differ\n"), 2, text)
        page = (self.folder / "demo" / "report.html").read_text()
        for words in ("digits-fp32", "digits-e4m3", "digits-int8", "<h2>Integers", "<svg", "</html>"):
            self.assertIn(words, page)

    def test_a_missing_command_is_named(self):
        script = Path(__file__).resolve().parents[2] / "tools" / "demo"
        process = subprocess.run([script, self.folder], capture_output=True,
                                 env={**os.environ, "NIBBLE_BIN": str(self.folder / "absent")})
        self.assertEqual(process.returncode, 1)
        self.assertIn(b"absent", process.stderr)


if __name__ == "__main__":
    unittest.main()
