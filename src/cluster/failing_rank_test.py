# SPDX-License-Identifier: Apache-2.0
"""A rank that fails while others wait for it ends mpirun, soon and with its exit code.

usage: failing_rank_test.py MPIRUN mpi_check
"""

import os
import subprocess
import sys
import unittest

MPIRUN, CHECK = sys.argv[1:]
SECONDS = 20  # it takes one or two


def run(how, ranks=3, **variables):
    """The exit code of mpirun and what it wrote; an exception where it hangs."""
    command = [MPIRUN, "-n", str(ranks), CHECK, str(ranks), how]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          env={**os.environ, **variables}) as process:
        try:
            output, _ = process.communicate(timeout=SECONDS)
        except subprocess.TimeoutExpired:
            process.terminate()  # mpirun ends its ranks, a killed one would leave them
            raise
    return process.returncode, output


class FailingRank(unittest.TestCase):
    def test_none_fails(self):
        self.assertEqual(run("not")[0], 0)

    def test_its_exit_code_is_that_of_mpirun(self):
        for how in ("return", "abort", "leave"):
            with self.subTest(how):
                self.assertEqual(run(how)[0], 3)

    def test_a_signal_ends_all(self):
        self.assertNotEqual(run("kill")[0], 0)

    def test_an_error_of_mpi_is_one_line(self):
        code, output = run("size", ranks=2)
        self.assertEqual(code, 1)
        self.assertRegex(output, r"(?m)^mpi_check: \[broadcast\] MPI_ERR_TRUNCATE: .*$")

    def test_gpu_memory_is_refused_in_one_line_where_mpi_takes_none(self):
        code, output = run("not", ranks=2, NIBBLE_MPI_DEVICE="1")
        if code != 0:  # 0: this MPI takes it, and all sums went by its messages
            self.assertRegex(output, r"(?m)^mpi_check: \[mpi\] NIBBLE_MPI_DEVICE: got 1, expected 0: this MPI takes no ")
        self.assertEqual(run("not", ranks=2, NIBBLE_MPI_DEVICE="0")[0], 0)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
