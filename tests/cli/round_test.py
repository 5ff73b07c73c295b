# SPDX-License-Identifier: Apache-2.0
"""nibble round: arrays, single numbers, statistics."""

import json
import os
import subprocess
import unittest

import numpy as np

from case import Case, NIBBLE, array_of, npy, run


class Round(Case):
    def test_a_file_of_any_shape_is_rounded(self):
        self.assertEqual(self.done("round", "--to", "e5m2", self.input, self.output), b"")
        got = np.load(self.output)
        self.assertEqual((got.dtype, got.shape), (np.float32, self.x.shape))
        self.assertTrue((np.abs(got - self.x) <= np.abs(self.x) / 8).all())
        np.testing.assert_array_equal(self.round(self.x, "--to", "fp16"), self.x.astype(np.float16))

    def test_scalars_and_empty_arrays_are_arrays_too(self):
        self.assertEqual(self.round(np.float32(1.3), "--to", "int8"), 1)
        self.assertEqual(self.round(np.zeros((3, 0), np.float32), "--to", "e4m3").shape, (3, 0))

    def test_fp16_input_gives_fp32(self):
        half = self.x.astype(np.float16)
        got = self.round(half, "--to", "e4m3")
        self.assertEqual(got.dtype, np.float32)
        np.testing.assert_array_equal(got, self.round(half.astype(np.float32), "--to", "e4m3"))

    def test_column_major_input_is_read_as_what_it_means(self):
        x = np.asfortranarray(self.x)
        np.testing.assert_array_equal(self.round(x, "--to", "e4m3"), self.round(self.x, "--to", "e4m3"))

    def test_rounding_twice_changes_nothing(self):
        for name in ("e4m3", "fixed(8,4)", "bfp(8,block=16)", "mxfp4", "nf4", "posit(8,1)", "codebook(new_format)"):
            once = self.round(self.x, "--to", name)
            self.assertFalse(np.array_equal(once, self.x), name)
            np.testing.assert_array_equal(self.round(once, "--to", name), once, name)

    def test_options_reach_the_rounding(self):
        x = np.array([1.5, 2.5, -0.5, 300.0], np.float32)
        for mode, expected in [("nearest-even", [2, 2, 0, 127]), ("nearest-away", [2, 3, -1, 127]),
                               ("toward-zero", [1, 2, 0, 127]), ("up", [2, 3, 0, 127]),
                               ("down", [1, 2, -1, 127]), ("to-odd", [1, 3, -1, 127])]:
            np.testing.assert_array_equal(self.round(x, "--to", "int8", "--rounding", mode), expected, mode)
        x = np.array([500.0], np.float32)
        self.assertEqual(self.round(x, "--to", "e4m3")[0], 448)
        self.assertTrue(np.isnan(self.round(x, "--to", "e4m3", "--overflow", "nan")[0]))

    def test_stochastic_rounding_is_a_function_of_its_key(self):
        def go(*key):
            return self.round(self.x, "--to", "int8", "--rounding", "stochastic", *key)

        np.testing.assert_array_equal(go("--seed", "5"), go("--seed", "5"))
        for key in (("--seed", "6"), ("--stream", "1"), ("--step", "1")):
            self.assertFalse(np.array_equal(go(), go(*key)), key)
        self.assertFalse(np.array_equal(go(), self.round(self.x, "--to", "int8", "--rounding", "stochastic(16)")))

    def test_given_scales_come_from_files(self):
        scales = self.save("s.npy", np.array([0.5, 0.25, 1, 2, 4], np.float32))
        zeros = self.save("z.npy", np.array([0, 1, 2, 3, 4]))
        got = self.round(self.x, "--to", "int8(axis=0)", "--scales", scales, "--zeros", zeros)
        steps = np.load(scales)[:, None, None]
        np.testing.assert_array_equal(got, np.round(self.x / steps) * steps)

    def test_one_number_shows_its_value_and_code(self):
        def value(x, name, *options):
            return self.done("round", "--to", name, f"--value={x}", *options).decode()

        self.assertEqual(value(3.14159, "e4m3"), "3.25  (code 0x45)\n")
        self.assertEqual(value(3.14159, "fp16"), "3.140625  (code 0x4248)\n")
        self.assertEqual(value(3.14159, "mxfp4"), "3  (code 0x7, scale 0.5)\n")
        self.assertEqual(value(-0.5, "int4(scale=0.25,zero=3)"), "-0.5  (code 0x1, scale 0.25, zero 3)\n")
        self.assertEqual(value(2.5, "int8", "--rounding", "up"), "3  (code 0x03)\n")
        self.assertEqual(value("1e30", "e4m3"), "448  (code 0x7e)\n")
        self.assertEqual(value("nan", "e4m3"), "nan  (code 0x7f)\n")
        got = json.loads(value(-3.14159, "posit(32,3)", "--json"))
        self.assertEqual((got["value"], got["code"][:2]), (float(np.float32(-3.14159)), "0x"))
        # Where there is no code there is still a value.
        self.assertEqual(value("nan", "int8"), "nan\n")
        self.assertEqual(value(0.35, "fixed(8,4)", "--compat", "qtorch"), "0.375\n")
        self.assertEqual(value(1000, "fixed(8,4,clamp=off)"), "1000\n")
        self.fails(2, "--value", "round", "--to", "int8", "--value", "three")
        self.fails(2, "--value", "round", "--to", "int8", "--value", "3", self.input, self.output)
        self.fails(2, "IN.npy", "round", "--to", "int8")

    def test_seeds_are_whole_numbers(self):
        for seed in ("-1", "18446744073709551616", "", "1.5", "0x10"):
            self.fails(2, "whole number", "round", "--to", "e4m3", f"--seed={seed}", self.input, self.output)
        self.done("round", "--to", "e4m3", "--rounding", "stochastic", "--seed", "18446744073709551615", self.input, self.output)

    def test_a_lost_standard_error_changes_no_exit_code(self):
        with open("/dev/full", "wb") as full:
            for code, arguments in ((2, ["nothing"]), (1, ["round", "--to", "e4m3", "absent.npy", "x.npy"])):
                self.assertEqual(subprocess.run([NIBBLE, *arguments], stderr=full).returncode, code)

    def test_encode_replaces_all_its_files_or_none(self):
        scales = os.path.join(self.folder, "scales.npy")
        self.done("encode", "--to", "mxfp4", "--scales-out", scales, self.input, self.output)
        with open(scales, "rb") as file:
            before = file.read()
        self.fails(1, "absent", "encode", "--to", "mxfp8", "--scales-out", scales, self.input, "/absent/c.npy")
        with open(scales, "rb") as file:
            self.assertEqual(file.read(), before)
        self.fails(1, "one output", "encode", "--to", "mxfp4", "--scales-out", self.output, self.input, self.output)

    def test_statistics_say_what_was_lost(self):
        text = self.done("round", "--to", "int4(scale=0.5)", "--stats", self.input, self.output).decode()
        self.assertIn("SQNR", text)
        stats = json.loads(self.done("round", "--to", "int4(scale=0.5)", "--json", self.input, self.output))
        error = np.load(self.output).astype(np.float64) - self.x
        self.assertEqual(stats["elements"], self.x.size)
        self.assertAlmostEqual(stats["max_abs_error"], np.abs(error).max())
        self.assertAlmostEqual(stats["mean_error"], error.mean())
        sqnr = 10 * np.log10((self.x.astype(np.float64) ** 2).sum() / (error**2).sum())
        self.assertAlmostEqual(stats["sqnr_db"], sqnr)
        exact = json.loads(self.done("round", "--to", "fp32", "--json", self.input, self.output))
        self.assertEqual(exact["sqnr_db"], "inf")

    def test_statistics_leave_a_pipe_alone(self):
        process = run("round", "--to", "e4m3", "--json", "-", "-", data=npy(self.x))
        self.assertEqual(process.returncode, 0)
        self.assertEqual(array_of(process.stdout).shape, self.x.shape)
        self.assertEqual(json.loads(process.stderr)["elements"], self.x.size)


if __name__ == "__main__":
    unittest.main()
