#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The runner of targets tells right from wrong: small folders that it must pass, and ones that it must not."""

import json
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

import measure
import run_target
from targets import QUICK, TARGETS, Target

HEADER = """#include <stdint.h>
#define TOY_ARENA_BYTES 8
#define TOY_INPUT_SIZE 2
#define TOY_OUTPUT_SIZE 1
#define TOY_BATCH 1
typedef int8_t toy_input_t;
typedef int32_t toy_output_t;
int toy_run(void *arena, const toy_input_t *input, toy_output_t *output);
int32_t toy_check(void);
int32_t toy_train_check(void);
"""
NETWORK = """#include "toy.h"
int toy_run(void *arena, const toy_input_t *input, toy_output_t *output) {
  (void)arena;
  *output = (int32_t)input[0] * input[1];
  return 0;
}
"""
CHECK = """#include "toy.h"
int32_t toy_check(void) {
  const toy_input_t input[2] = {-7, 6};
  toy_output_t output = 0;
  toy_run(0, input, &output);
  return output != EXPECTED;
}
"""


class Folder(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.write("toy.h", HEADER)
        self.write("toy.c", NETWORK)
        self.write("toy_main.c", "#error not a part of it\n")
        self.write("toy_check.c", CHECK.replace("EXPECTED", "-42"))

    def write(self, name, text):
        (self.folder / name).write_text(text)

    def result(self, target, seconds=60):
        answer = run_target.check(self.folder, target, seconds)
        if answer["result"] == "absent":
            self.skipTest(answer["message"])
        return answer


class RunTarget(Folder):
    def test_right_answers_are_equal(self):
        for target in QUICK:
            with self.subTest(target):
                self.assertEqual(self.result(target)["result"], "equal")

    def test_a_wrong_answer_is_different(self):
        self.write("toy_check.c", CHECK.replace("EXPECTED", "-43"))
        for target in QUICK:
            with self.subTest(target):
                answer = self.result(target)
                self.assertEqual((answer["result"], answer["differences"]), ("different", {"check": 1}))

    def test_a_wrong_weight_after_training_is_different(self):
        self.write("toy_train_check.c", CHECK.replace("toy_check", "toy_train_check").replace("EXPECTED", "3"))
        answer = self.result("x86-64-gcc-O2")
        self.assertEqual((answer["result"], answer["differences"]), ("different", {"check": 0, "train_check": 1}))

    def test_what_a_sanitizer_finds_fails(self):
        self.write("toy.c", NETWORK.replace("*output =", "*output = *(int32_t *)(void *)&((char *)arena)[1] +"))
        self.assertEqual(self.result("x86-64-gcc-sanitized")["result"], "failed")

    def test_a_warning_fails(self):
        self.write("toy.c", NETWORK.replace("(int32_t)input[0]", "1u * input[0]"))
        answer = self.result("x86-64-gcc-O2")
        self.assertEqual(answer["result"], "failed")
        self.assertIn("error", answer["message"])

    def test_a_program_that_does_not_end_fails(self):
        self.write("toy.c", NETWORK.replace("(void)arena;", "for (volatile void *p = arena; p == arena;) {}"))
        for target in ("x86-64-gcc-O0", "cortex-m4"):
            with self.subTest(target):
                answer = self.result(target, seconds=1)
                self.assertEqual(answer["result"], "failed")
                self.assertIn("longer than 1 s", answer["message"])

    def test_what_does_not_fit_is_too_large(self):
        self.write("toy.c", NETWORK + "int32_t large[5000] = {1};\n")
        self.assertEqual(self.result("cortex-m0")["machine"], "mps2-an385")
        self.assertEqual(self.result("avr-atmega2560")["result"], "too-large")

    def test_an_absent_compiler_skips_in_one_line(self):
        with mock.patch.dict(TARGETS, {"elsewhere": Target("absent-gcc", (), emulator=("absent-qemu",))}):
            answer = run_target.check(self.folder, "elsewhere", 1)
        self.assertEqual((answer["result"], answer["message"]), ("absent", "absent-gcc and absent-qemu not installed"))

    def test_the_command(self):
        command = [sys.executable, "-B", run_target.__file__, self.folder, "x86-64-gcc-O2"]
        done = subprocess.run([*command, "--json"], capture_output=True)
        self.assertEqual((done.returncode, json.loads(done.stdout)["result"]), (0, "equal"))
        self.write("toy_check.c", CHECK.replace("EXPECTED", "0"))
        done = subprocess.run(command, capture_output=True)
        self.assertEqual((done.returncode, done.stdout), (1, b"x86-64-gcc-O2: different  check 1\n"))


@unittest.skipIf(run_target.missing_programs(measure.TARGET), "no Cortex-M4")
class Measure(Folder):
    def test_stack_is_that_of_the_deepest_path(self):
        body = "volatile int8_t deep[200];\n  for (int i = 0; i < 200; ++i) deep[i] = input[0];"
        self.write("toy.c", NETWORK.replace("(void)arena;", body))
        found = measure.measure(self.folder, "-Os")
        self.assertGreaterEqual(found["stack"], 200)
        self.assertLess(found["stack"], 260)
        self.assertLessEqual(found["stack"], found["stack_by_call_graph"])
        self.assertGreater(found["instructions"], 3 * 200)
        self.assertLess(found["instructions"], 12 * 200)

    def test_recursion_is_refused(self):
        self.write("toy.c", NETWORK.replace("(void)arena;", "if (*input > 0) toy_run(arena, input + 1, output + 1);"))
        with self.assertRaisesRegex(run_target.Failure, "recursion: toy_run -> toy_run"):
            measure.measure(self.folder, "-O0")


if __name__ == "__main__":
    unittest.main()
