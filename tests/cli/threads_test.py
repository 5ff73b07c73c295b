# SPDX-License-Identifier: Apache-2.0
"""Threads and memory that the system does not give: one line instead of a crash."""

import os
import resource
import subprocess
import unittest

from case import NIBBLE, Case, has_floats, run

MIB = 1 << 20
IS_SANITIZED = os.environ.get("NIBBLE_SANITIZED") == "1"


def limited(bytes_of_memory, *arguments):
    """The finished process, which may have so much address space."""
    return subprocess.run([NIBBLE, *map(str, arguments)], capture_output=True, timeout=300,
                          preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (bytes_of_memory, bytes_of_memory)))


class Threads(Case):
    def test_more_than_any_machine_has_are_wrong_usage(self):
        for words in (("train", "mlp-64-32-10", "--data", "digits"), ("eval", "m.nib", "--data", "digits"),
                      ("quantize", "m.nib", "-o", "q.nib", "--calib", "digits"), ("run", "m.nib", "--input", "x.npy"),
                      ("bench", "m.nib"), ("tune", "m.nib"), ("sweep", "mlp-64-32-10", "--data", "digits")):
            for threads in ("100000", "1025", "0", "-1"):
                self.fails(2, "--threads", *words, "--threads", threads)

    def test_more_than_the_cores_are_fine(self):
        cores = os.cpu_count() or 1
        self.done("train", "mlp-64-32-10", "--data", "digits", "--epochs", "1", "--quiet", "--threads", cores + 5,
                  "--out", self.folder / "run")

    @unittest.skipIf(IS_SANITIZED, "sanitizers take more memory than a limit leaves")
    def test_threads_that_the_system_refuses_are_one_line_at_once(self):
        self.done("train", "convnet-8x8", "--data", "digits", "--arith", "int8", "--epochs", "1", "--quiet",
                  "--out", self.folder / "int8")
        model = self.folder / "int8" / "model.nib"
        for words in (("train", "mlp-64-32-10", "--data", "digits", "--out", self.folder / "new"),
                      ("eval", model, "--data", "digits"), ("bench", model), ("tune", model),
                      ("quantize", model, "-o", self.folder / "q.nib", "--calib", "digits")):
            process = limited(4 << 30, *words, "--threads", "1000")  # stacks of 8 MiB
            text = process.stderr.decode()
            self.assertEqual(process.returncode, 1, text)
            self.assertRegex(text, r"^nibble: \[threads\] number: got 1000, expected at most \d+, .*\n$")
        self.assertFalse((self.folder / "new").exists())

    @unittest.skipIf(IS_SANITIZED, "sanitizers take more memory than a limit leaves")
    def test_training_with_little_memory_ends_in_one_line_or_well(self):
        # Below this the loader itself fails.
        least = next(size for size in range(32, 4096, 16) if limited(size * MIB, "--version").returncode == 0)
        words = ("train", "convnet-8x8", "--data", "digits", "--epochs", "1", "--quiet", "--threads", "2", "--batch",
                 "1437", "--overwrite")
        codes = []
        for more in (0, 8, 16, 32, 48, 64, 96, 128, 192, 256, 512, 4096):
            process = limited((least + more) * MIB, *words, "--out", self.folder / "run")
            text = process.stderr.decode()
            codes.append(process.returncode)
            if process.returncode != 0:
                self.assertEqual(process.returncode, 1, f"{more} MiB more: {text}")
                self.assertRegex(text, r"^nibble: [^\n]+\n$", f"{more} MiB more")
        self.assertEqual((codes[0], codes[-1]), (1, 0), codes)


if __name__ == "__main__":
    if not has_floats():
        raise SystemExit(print("this build has no oneDNN, and so no floats") or 77)
    unittest.main()
