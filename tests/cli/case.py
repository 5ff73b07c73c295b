# SPDX-License-Identifier: Apache-2.0
"""What the tests of the nibble command share: running it, its successes and its failures.

Needs python3 with numpy; NIBBLE_BIN names the command.
"""

import io
import json
import os
import re
import struct
import subprocess
import tempfile
import time
import unittest
import zlib
from pathlib import Path

import numpy as np

NIBBLE = os.environ["NIBBLE_BIN"]


def run(*arguments, data=None, **variables):
    """The finished process; standard output and error are bytes."""
    environment = {k: v for k, v in os.environ.items() if k not in ("NIBBLE_ISA", "NIBBLE_DATA")}
    environment.update(variables)
    command = [NIBBLE, *map(str, arguments)]
    return subprocess.run(command, input=data, capture_output=True, env=environment, timeout=900)


def hears(process, number):
    """Whether a process has its own answer to a signal, which would end it before without a word."""
    status = Path(f"/proc/{process.pid}/status").read_text()
    caught = int(re.search(r"^SigCgt:\s*([0-9a-f]+)$", status, re.M)[1], 16)
    return caught >> (number - 1) & 1 == 1


def has_floats():
    """Whether the build computes with floats: it has oneDNN."""
    return bool(json.loads(run("doctor", "--json").stdout)["parts"]["onednn"])


def npy(array):
    buffer = io.BytesIO()
    np.save(buffer, array)
    return buffer.getvalue()


def array_of(data):
    return np.load(io.BytesIO(data))


def grey_png(pixels):
    """The bytes of a picture of 8-bit grey."""
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    height, width = pixels.shape
    rows = b"".join(b"\0" + row.tobytes() for row in pixels)
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)) +
            chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))


class Case(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        rng = np.random.default_rng(1)
        self.x = rng.standard_normal((5, 7, 32)).astype(np.float32)
        self.input = self.save("in.npy", self.x)
        self.output = self.folder / "out.npy"

    def save(self, name, array):
        np.save(self.folder / name, array)
        return self.folder / name

    def wait_until(self, is_so, seconds=120):
        """Waits for what another process does, however slow the machine is; in vain it fails."""
        deadline = time.monotonic() + seconds
        while not is_so():
            self.assertLess(time.monotonic(), deadline, "waited in vain")
            time.sleep(0.02)

    def done(self, *arguments, warning=None, **more):
        """Standard output of what ends well, with one line on standard error that holds the warning, or none."""
        process = run(*arguments, **more)
        text = process.stderr.decode()
        self.assertEqual(process.returncode, 0, text)
        if warning is None:
            self.assertEqual(text, "")
        else:
            self.assertRegex(text, rf"^nibble: warning: .*{warning}.*\n$")
        return process.stdout

    def fails(self, code, words, *arguments, **more):
        """Exit code, and one line on standard error that holds the words (and a hint for usage)."""
        process = run(*arguments, **more)
        text = process.stderr.decode()
        self.assertEqual(process.returncode, code, text)
        lines = text.splitlines()
        self.assertEqual(len(lines), 1, text)
        self.assertTrue(lines[0].startswith("nibble: "), text)
        self.assertIn(words, lines[0])
        if code == 2:
            self.assertIn("--help", lines[0])
        self.assertEqual(process.stdout, b"")
        return lines[0]

    def round(self, x, *options):
        return array_of(self.done("round", *options, "-", "-", data=npy(x)))
