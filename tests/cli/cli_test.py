# SPDX-License-Identifier: Apache-2.0
"""The nibble command from outside: verbs, pipes, JSON, exit codes and one-line errors.

Needs python3 with numpy; NIBBLE_BIN names the command.
"""

import gzip
import io
import json
import os
import subprocess
import tempfile
import unittest
from pathlib import Path
from xml.etree import ElementTree

import numpy as np

NIBBLE = os.environ["NIBBLE_BIN"]


def run(*arguments, data=None, **variables):
    """The finished process; standard output and error are bytes."""
    environment = {k: v for k, v in os.environ.items() if k not in ("NIBBLE_ISA", "NIBBLE_DATA")}
    environment.update(variables)
    command = [NIBBLE, *map(str, arguments)]
    return subprocess.run(command, input=data, capture_output=True, env=environment, timeout=300)


def npy(array):
    buffer = io.BytesIO()
    np.save(buffer, array)
    return buffer.getvalue()


def array_of(data):
    return np.load(io.BytesIO(data))


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

    def done(self, *arguments, **more):
        process = run(*arguments, **more)
        self.assertEqual(process.returncode, 0, process.stderr.decode())
        self.assertEqual(process.stderr, b"")
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


class Help(Case):
    def test_version_is_one_line(self):
        self.assertRegex(self.done("--version").decode(), r"^nibble \d+\.\d+\.\d+\n$")

    def test_help_lists_the_verbs_and_each_verb_ends_with_an_example(self):
        text = self.done("--help").decode()
        for verb in ("formats", "round", "encode", "decode", "signature", "data", "doctor"):
            self.assertIn(verb, text)
            help_text = self.done(verb, "--help").decode()
            self.assertIn("nibble " + verb, help_text.split("Examples:")[1])

    def test_wrong_usage_exits_with_2(self):
        self.fails(2, "subcommand")
        self.fails(2, "frobnicate", "frobnicate")
        self.fails(2, "--to", "round", self.input, self.output)
        self.fails(2, "--sed", "round", "--to", "e4m3", "--sed", "1", self.input, self.output)
        self.fails(2, "--seed", "round", "--to", "e4m3", "--seed", "x", self.input, self.output)
        self.fails(2, "OUT.npy", "round", "--to", "e4m3", self.input)
        self.fails(2, "--shape", "decode", "--from", "int4", "--packed", self.input, self.output)


class Formats(Case):
    def test_the_list_names_every_family(self):
        text = self.done("formats").decode()
        for word in ("e4m3", "bf16", "int8", "mxfp4", "nvfp4", "nf4", "posit(n,es)", "fixed(wl,fl"):
            self.assertIn(word, text)

    def test_the_list_as_json_agrees_with_each_format(self):
        formats = json.loads(self.done("formats", "--json"))
        self.assertGreater(len(formats), 20)
        for entry in formats:
            one = json.loads(self.done("formats", entry["name"], "--json"))
            for key in ("bits", "max", "min_positive", "specials", "scaling"):
                self.assertEqual(one[key], entry[key])

    def test_one_format_tells_range_and_codes(self):
        text = self.done("formats", "e4m3").decode()
        self.assertIn("-448 to 448", text)
        self.assertEqual(len([line for line in text.splitlines() if line.startswith("  ")]), 16)
        table = json.loads(self.done("formats", "e4m3", "--json"))["values"]
        self.assertEqual(len(table), 256)
        self.assertEqual(table[0x7E:0x80], [448, "nan"])
        self.assertEqual(table[0x38], 1)

    def test_wide_formats_have_no_table(self):
        self.assertNotIn("code", self.done("formats", "fp16").decode())
        self.assertNotIn("values", json.loads(self.done("formats", "fp16", "--json")))

    def test_several_formats_are_described_one_after_another(self):
        text = self.done("formats", "e4m3", "int4").decode()
        names = [line.split()[1] for line in text.splitlines() if line.startswith("format ")]
        self.assertEqual(names, ["e4m3", "int4"])
        entries = json.loads(self.done("formats", "e4m3", "int4", "--json"))
        self.assertEqual([entry["name"] for entry in entries], ["e4m3", "int4"])
        self.assertEqual(entries[1], json.loads(self.done("formats", "int4", "--json")))
        self.fails(1, "e4m99", "formats", "e4m3", "e4m99")

    def test_impossible_formats_are_refused(self):
        self.fails(1, "e4m99", "formats", "e4m99")
        self.fails(1, "[format]", "formats", "posit(40,2)")
        self.fails(1, "[format]", "formats", "float(4,3,specials=odd)")
        self.fails(1, "[format]", "formats", "int8(scale=nan)")
        self.fails(1, "[format]", "formats", "fixed(8")
        self.fails(1, "[format]", "formats", "bad\nname")


class FormatsOn(Case):
    def table(self, *arguments, **more):
        table = json.loads(self.done("formats", "--json", *arguments, **more))
        return table, {entry["name"]: entry for entry in table["formats"]}

    def test_an_array_is_measured_as_round_does(self):
        for name, options in [("e4m3", []), ("mxfp4", []), ("int8", ["--rounding", "stochastic", "--seed", "7"])]:
            table, rows = self.table(name, "--on", self.input, *options)
            expected = json.loads(self.done("round", "--to", name, "--json", *options, self.input, self.output))
            self.assertEqual(table["elements"], self.x.size)
            for key in ("sqnr_db", "max_abs_error", "mean_abs_error", "mean_error", "share_saturated", "share_flushed"):
                self.assertEqual(rows[name][key], expected[key], (name, key))
        _, piped = self.table("e4m3", "--on", "-", data=npy(self.x))
        self.assertEqual(piped, self.table("e4m3", "--on", self.input)[1])

    def test_bits_hold_the_share_of_the_scales(self):
        elements = 1 << 20
        bits = {"e4m3": 8, "mxfp4": 4.25, "nvfp4": 4.5 + 32 / elements, "nf4": 4.5, "bfp(8,block=32)": 8.25,
                "int4(scale=absmax,block=32)": 5, "int8(scale=absmax)": 8 + 32 / elements, "int8(scale=0.5)": 8,
                "uint4(scale=minmax,block=64)": 4 + 36 / 64, "int8(scale=absmax,axis=0)": 8 + 32 / 1024}
        _, rows = self.table(*bits, "--on", "uniform")
        self.assertEqual({name: row["bits_per_element"] for name, row in rows.items()}, bits)
        _, rows = self.table("mxfp4", "--on", self.save("odd.npy", np.ones((3, 33), np.float32)))
        self.assertAlmostEqual(rows["mxfp4"]["bits_per_element"], 4 + 6 * 8 / 99)

    def test_made_numbers_are_what_they_are_called(self):
        # With so large a scale all numbers become 0, and the error is the number.
        _, rows = self.table("int2(scale=1024)", "--on", "normal")
        self.assertLess(abs(rows["int2(scale=1024)"]["mean_error"]), 4e-3)
        self.assertAlmostEqual(rows["int2(scale=1024)"]["mean_abs_error"], np.sqrt(2 / np.pi), delta=0.01)
        self.assertLess(rows["int2(scale=1024)"]["max_abs_error"], 6)
        _, rows = self.table("int2(scale=1024)", "--on", "uniform")
        self.assertAlmostEqual(rows["int2(scale=1024)"]["mean_abs_error"], 0.5, delta=2e-3)
        self.assertAlmostEqual(rows["int2(scale=1024)"]["max_abs_error"], 1, delta=1e-4)

    def test_everyone_gets_the_same_table(self):
        text = self.done("formats", "--on", "normal").decode()
        again = self.done("formats", "--on", "normal", NIBBLE_ISA="portable", OMP_NUM_THREADS="1")
        self.assertEqual(again.decode(), text)
        self.assertRegex(text, r"\ne4m3 +8\.00 +0\.231 +6\.3e-07 +0\.00% +0\.08% +31\.5  █{5}▎\n")
        self.assertRegex(text, r"\nmxfp4 +4\.25 +0\.985 +-7\.5e-05 +2\.34% +8\.65% +18\.8  ███▏\n")
        other = self.table("e4m3", "--on", "normal", "--seed", "1")[1]["e4m3"]["sqnr_db"]
        self.assertNotEqual(other, self.table("e4m3", "--on", "normal")[1]["e4m3"]["sqnr_db"])

    def test_rows_go_up_in_bits_and_down_in_sqnr(self):
        table, rows = self.table("--on", self.input)
        order = [(round(row["bits_per_element"], 2), -row["sqnr_db"]) for row in table["formats"]]
        self.assertEqual(order, sorted(order))
        self.assertGreater(len(rows), 12)

    def test_strange_arrays_have_a_table_too(self):
        x = np.array([1.0, np.nan, np.inf, 0.3], np.float32)
        table, rows = self.table("e4m3", "fp32", "--on", "-", data=npy(x))
        self.assertEqual((table["non_finite"], rows["fp32"]["sqnr_db"]), (2, "inf"))
        self.assertIn("2 of them are not finite", self.done("formats", "e4m3", "--on", "-", data=npy(x)).decode())
        for shape in ((), (0,), (3, 0)):
            self.done("formats", "--on", "-", data=npy(np.ones(shape, np.float32)))

    def test_wrong_requests_are_refused(self):
        self.fails(1, "missing.npy", "formats", "--on", self.folder / "missing.npy")
        self.fails(1, "e4m99", "formats", "e4m99", "--on", "normal")
        self.fails(1, "sideways", "formats", "--on", "normal", "--rounding", "sideways")
        self.fails(1, "axis", "formats", "int8(scale=absmax,axis=5)", "--on", self.input)
        self.fails(2, "--on", "formats", "e4m3", "--seed", "1")
        self.fails(2, "--on", "formats", "--on", "normal", "--plot", self.folder / "f.svg")


class FormatsPlot(Case):
    SPACE = "{http://www.w3.org/2000/svg}"

    def plot(self, *formats):
        path = self.folder / "f.svg"
        self.assertEqual(self.done("formats", *formats, "--plot", path), b"")
        return ElementTree.parse(path).getroot()

    def texts(self, root):
        return [element.text for element in root.iter(self.SPACE + "text")]

    def ticks(self, root):
        """How many separate marks each row has."""
        paths = [p.get("d") for p in root.iter(self.SPACE + "path") if p.get("fill") != "none"]
        return [path.count("M") for path in paths]

    def test_the_picture_is_well_formed_and_stands_alone(self):
        root = self.plot("e4m3", "codebook([1,2.5,4],signed)", "posit(8,1)", "mxfp4")
        self.assertEqual((root.tag, root.get("width")), (self.SPACE + "svg", "900"))
        tags = {element.tag.removeprefix(self.SPACE) for element in root.iter()}
        self.assertEqual(tags, {"svg", "title", "text", "path", "rect"})
        self.assertNotIn("href", ElementTree.tostring(root, "unicode"))
        for name in ("e4m3", "codebook([1,2.5,4],signed)", "posit(8,1)", "mxfp4"):
            self.assertEqual(self.texts(root).count(name), 2, "a row and the legend")

    def test_ticks_are_the_values(self):
        # e2m1: 0, ±0.5 to ±6; int4: -8 to 7; mxfp4 in a group with 8: twice e2m1, less ±12; fp32: all.
        self.assertEqual(self.ticks(self.plot("e2m1", "int4", "mxfp4", "fp32", "uint4")), [15, 16, 13, 1, 9])

    def test_every_kind_of_format_can_be_drawn(self):
        self.plot("fp32", "e8m0", "bf16(subnormals=off)", "uint4(scale=minmax)", "posit(32,2)", "int8(axis=0)",
                  "fixed(8,4,clamp=off)", "nvfp4", "nf4", "int8(scale=absmax,axis=0)", "bfp(8,block=5,axis=2)")
        self.assertGreater(len(self.texts(self.plot())), 20)

    def test_a_failure_leaves_the_old_picture(self):
        path = self.folder / "f.svg"
        path.write_bytes(b"old")
        self.fails(1, "e4m99", "formats", "e4m99", "--plot", path)
        self.fails(1, "fp32", "formats", "posit(32,3)", "--plot", path)
        self.fails(1, "nowhere", "formats", "e4m3", "--plot", self.folder / "nowhere" / "f.svg")
        self.fails(2, "--json", "formats", "e4m3", "--json", "--plot", path)
        self.assertEqual(path.read_bytes(), b"old")
        self.assertEqual(self.done("formats", "e4m3", "--plot", "-")[:4], b"<svg")


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
        self.done("round", "--to", "e4m3", "--seed", "18446744073709551615", self.input, self.output)

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


class Codes(Case):
    def test_codes_and_back_give_the_rounded_values(self):
        for name, dtype in [("e4m3", np.uint8), ("fp16", np.uint16), ("posit(32,2)", np.uint32),
                            ("fixed(12,6)", np.uint16), ("int4(scale=0.1,zero=3)", np.uint8)]:
            codes = array_of(self.done("encode", "--to", name, "-", "-", data=npy(self.x)))
            self.assertEqual((codes.dtype, codes.shape), (dtype, self.x.shape), name)
            values = array_of(self.done("decode", "--from", name, "-", "-", data=npy(codes)))
            np.testing.assert_array_equal(values, self.round(self.x, "--to", name), name)

    def test_values_beyond_fp32_decode_to_fp64(self):
        codes = np.array([1, 2, 3], np.uint32)
        values = array_of(self.done("decode", "--from", "posit(32,3)", "-", "-", data=npy(codes)))
        self.assertEqual(values.dtype, np.float64)
        self.assertEqual(values[0], 2.0**-240)

    def test_scales_from_the_data_travel_in_files(self):
        s, z, t = (self.folder / name for name in ("s.npy", "z.npy", "t.npy"))
        for name, has_zeros, has_tensor_scale in [
            ("mxfp4", 0, 0), ("bfp(8)", 0, 0), ("bfp(8,axis=1)", 0, 0), ("int8(scale=absmax,axis=0)", 0, 0),
            ("uint8(scale=minmax)", 1, 0), ("uint4(scale=minmax,block=8)", 1, 0), ("nf4", 0, 0), ("nvfp4", 0, 1),
        ]:
            with self.subTest(name):
                out = ["--scales-out", s] + ["--zeros-out", z] * has_zeros + ["--tensor-scale-out", t] * has_tensor_scale
                back = ["--scales", s] + ["--zeros", z] * has_zeros + ["--tensor-scale", t] * has_tensor_scale
                self.done("encode", "--to", name, *out, self.input, self.output)
                values = array_of(self.done("decode", "--from", name, *back, self.output, "-"))
                np.testing.assert_array_equal(values, self.round(self.x, "--to", name))
                if has_tensor_scale:
                    back[-1] = repr(float(np.load(t)))
                    again = array_of(self.done("decode", "--from", name, *back, self.output, "-"))
                    np.testing.assert_array_equal(again, values)

    def test_packed_codes_lie_low_nibble_first(self):
        x = np.array([[1, -2, 3], [4, 5, -6]], np.float32)
        packed = array_of(self.done("encode", "--to", "int4", "--packed", "-", "-", data=npy(x)))
        np.testing.assert_array_equal(packed, [0xE1, 0x43, 0xA5])
        back = self.done("decode", "--from", "int4", "--packed", "--shape", "2,3", "-", "-", data=npy(packed))
        np.testing.assert_array_equal(array_of(back), x)

    def test_lost_scales_are_refused(self):
        self.fails(1, "--scales-out", "encode", "--to", "mxfp4", self.input, self.output)
        self.fails(1, "--zeros-out", "encode", "--to", "uint8(scale=minmax)", "--scales-out",
                   self.folder / "s.npy", self.input, self.output)
        self.fails(1, "--tensor-scale-out", "encode", "--to", "nvfp4", "--scales-out",
                   self.folder / "s.npy", self.input, self.output)
        self.fails(1, "--scales-out", "encode", "--to", "e4m3", "--scales-out", self.folder / "s.npy",
                   self.input, self.output)
        codes = self.save("codes.npy", np.zeros(4, np.uint8))
        self.fails(1, "--scales", "decode", "--from", "mxfp4", codes, self.output)
        self.assertEqual(sorted(p.name for p in self.folder.iterdir()), ["codes.npy", "in.npy"])

    def test_wrong_codes_are_refused(self):
        self.fails(1, "got", "decode", "--from", "int4", "-", "-", data=npy(np.array([16], np.uint8)))
        self.fails(1, "got", "decode", "--from", "int4", "-", "-", data=npy(np.array([1.0], np.float32)))
        self.fails(1, "", "decode", "--from", "int4", "--packed", "--shape", "99", "-", "-",
                   data=npy(np.array([1], np.uint8)))
        self.fails(1, "NaN", "encode", "--to", "int8", "-", "-", data=npy(np.array([np.nan], np.float32)))


class Failures(Case):
    def test_one_line_says_what_was_wrong(self):
        def fails(words, *arguments, **more):
            return self.fails(1, words, "round", *arguments, **more)

        text = fails("unknown format", "--to", "e4m3x", self.input, self.output)
        self.assertRegex(text, r"^nibble: \[format\] .*: got 'e4m3x', expected ")
        fails("[format]", "--to", "int8(scale=nan)", self.input, self.output)
        fails("[format]", "--to", "fixed(99,4)", self.input, self.output)
        fails("infinity", "--to", "e4m3", "--overflow", "infinity", self.input, self.output)
        fails("nearest-even", "--to", "e4m3", "--rounding", "sideways", self.input, self.output)
        fails("qtorch", "--to", "e4m3", "--compat", "abacus", self.input, self.output)
        fails("missing.npy", "--to", "e4m3", self.folder / "missing.npy", self.output)
        fails("f32", "--to", "e4m3", self.save("i.npy", np.arange(4)), self.output)
        fails("f32", "--to", "e4m3", self.save("d.npy", np.ones(4)), self.output)
        fails("axis", "--to", "bfp(8,axis=5)", self.input, self.output)
        fails("", "--to", "int8(axis=0)", "--scales", self.save("s.npy", np.ones(3, np.float32)), self.input,
              self.output)
        self.assertFalse(self.output.exists())

    def test_broken_files_are_refused(self):
        whole = npy(self.x)
        cut = self.folder / "cut.npy"
        cut.write_bytes(whole[:-9])
        self.fails(1, "truncated", "round", "--to", "e4m3", cut, self.output)
        self.fails(1, "standard input", "round", "--to", "e4m3", "-", self.output, data=whole[:-9])
        cut.write_bytes(whole[:40])
        self.fails(1, "cut.npy", "round", "--to", "e4m3", cut, self.output)
        cut.write_bytes(b"\x93NUMPY\x02\x00\xff\xff\xff\xff" + b" " * 64)
        self.fails(1, "cut.npy", "round", "--to", "e4m3", cut, self.output)
        huge = b"{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999, 99), }\n"
        cut.write_bytes(b"\x93NUMPY\x01\x00" + len(huge).to_bytes(2, "little") + huge)
        self.fails(1, "cut.npy", "round", "--to", "e4m3", cut, self.output)
        self.fails(1, "standard input", "round", "--to", "e4m3", "-", self.output, data=b"")

    def test_a_failure_leaves_the_old_output_as_it_was(self):
        self.output.write_bytes(b"old")
        nan = self.save("nan.npy", np.array([np.nan], np.float32))
        self.fails(1, "NaN", "encode", "--to", "int8", nan, self.output)
        self.fails(1, "", "round", "--to", "nonsense", self.input, self.output)
        self.fails(1, "", "round", "--to", "e4m3", self.folder / "missing.npy", self.output)
        self.assertEqual(self.output.read_bytes(), b"old")
        self.assertEqual(sorted(p.name for p in self.folder.iterdir()), ["in.npy", "nan.npy", "out.npy"])

    def test_an_unwritable_output_is_an_error(self):
        self.fails(1, "nowhere", "round", "--to", "e4m3", self.input, self.folder / "nowhere" / "out.npy")
        self.fails(1, "directory", "round", "--to", "e4m3", self.input, self.folder)
        self.fails(1, "No space", "round", "--to", "e4m3", self.input, "/dev/full")

    def test_a_full_or_closed_standard_output_exits_with_1(self):
        with open("/dev/full", "wb") as full:
            process = subprocess.run([NIBBLE, "formats"], stdout=full, stderr=subprocess.PIPE)
        self.assertEqual(process.returncode, 1)
        self.assertEqual(len(process.stderr.splitlines()), 1)
        for command in ("formats", f"round --to e4m3 {self.input} -"):
            process = subprocess.run(f"'{NIBBLE}' {command} >&-", shell=True, stderr=subprocess.PIPE)
            self.assertEqual(process.returncode, 1)
            self.assertLessEqual(len(process.stderr.splitlines()), 1)

    def test_a_reader_that_goes_away_is_no_news(self):
        big = self.save("big.npy", np.zeros(1 << 20, np.float32))
        process = subprocess.Popen([NIBBLE, "round", "--to", "e4m3", big, "-"], stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE)
        process.stdout.close()
        self.assertEqual((process.stderr.read(), process.wait()), (b"", 1))
        process.stderr.close()


class Signature(Case):
    def test_every_path_and_thread_count_gives_one_signature(self):
        isas = json.loads(self.done("doctor", "--json"))["isas"]
        self.assertIn("reference", isas)
        signatures = {self.done("signature", NIBBLE_ISA=isa) for isa in isas}
        signatures |= {self.done("signature", OMP_NUM_THREADS=n) for n in ("1", "2")}
        self.assertEqual(len(signatures), 1, signatures)
        self.assertRegex(signatures.pop().decode(), r"^[0-9a-f]{16}\n$")

    def test_verbose_ends_with_the_same_hash(self):
        lines = self.done("signature", "--verbose").decode().splitlines()
        self.assertGreater(len(lines), 400)
        self.assertEqual(lines[-1], self.done("signature").decode().strip() + "  all")
        names = [line.split("  ", 1)[1] for line in lines]
        self.assertEqual(len(names), len(set(names)))


class Doctor(Case):
    def test_it_says_what_runs_here(self):
        text = self.done("doctor").decode()
        for word in ("compiler", "cpu", "threads", "mnist", "reference"):
            self.assertIn(word, text)

    def test_data_sets_are_looked_for_where_told(self):
        (self.folder / "resnet20-cifar10").mkdir()
        (self.folder / "mnist").mkdir()
        found = json.loads(self.done("doctor", "--json", NIBBLE_DATA=str(self.folder), HOME=str(self.folder)))
        self.assertEqual(found["data_folder"], str(self.folder))
        self.assertTrue(found["data"]["resnet20-cifar10"])
        self.assertTrue(found["data"]["digits"])
        self.assertFalse(found["data"]["mnist"], "an empty folder is no data set")
        self.assertFalse(found["data"]["cifar10"])

    def test_a_forced_path_is_the_one_that_runs(self):
        for isa in json.loads(self.done("doctor", "--json"))["isas"]:
            self.assertEqual(json.loads(self.done("doctor", "--json", NIBBLE_ISA=isa))["isa"], isa)
        self.fails(1, "bogus", "doctor", NIBBLE_ISA="bogus")
        self.fails(1, "bogus", "signature", NIBBLE_ISA="bogus")
        self.fails(1, "bogus", "round", "--to", "e4m3", self.input, self.output, NIBBLE_ISA="bogus")

    def test_threads_come_from_the_environment(self):
        self.assertEqual(json.loads(self.done("doctor", "--json", OMP_NUM_THREADS="3"))["threads"], 3)


def idx(*extents, data):
    return bytes([0, 0, 8, len(extents)]) + b"".join(n.to_bytes(4, "big") for n in extents) + data


class Data(Case):
    def data(self, *arguments, code=0):
        """Standard output of a data verb that sees the temporary folder alone, and its error line."""
        process = run("data", *arguments, NIBBLE_DATA=str(self.folder), HOME=str(self.folder))
        self.assertEqual(process.returncode, code, process.stderr.decode())
        self.assertEqual(len(process.stderr.splitlines()), code)
        return process.stdout.decode(), process.stderr.decode()

    def put_mnist(self, labels):
        folder = self.folder / "mnist"
        folder.mkdir(exist_ok=True)
        for part in ("train", "t10k"):
            (folder / f"{part}-images-idx3-ubyte").write_bytes(idx(2, 28, 28, data=bytes(2 * 28 * 28)))
            (folder / f"{part}-labels-idx1-ubyte.gz").write_bytes(gzip.compress(idx(2, data=bytes(labels))))

    def test_the_list_says_what_is_where(self):
        sets = {entry["name"]: entry for entry in json.loads(self.data("list", "--json")[0])}
        self.assertEqual(list(sets), ["digits", "mnist", "fashion-mnist", "cifar10"])
        self.assertEqual((sets["digits"]["train"], sets["digits"]["test"], sets["digits"]["image"]), (1437, 360, [8, 8, 1]))
        self.assertTrue((Path(sets["digits"]["path"]) / "images.idx3.gz").exists())
        self.assertEqual((sets["cifar10"]["path"], sets["cifar10"]["classes"][3]), (None, "cat"))
        self.put_mnist([1, 2])
        text = self.data("list")[0]
        self.assertRegex(text, rf"\nmnist +60000 +10000 +28x28x1 +10  {self.folder}/mnist\n")
        self.assertRegex(text, r"\ncifar10 .* absent: looked in ")

    def test_packed_pictures_are_explained(self):
        (self.folder / "cifar10").mkdir()
        (self.folder / "cifar10" / "cifar10.medpack.xz").write_bytes(b"")
        command = f"{self.folder}/cifar10/unpack {self.folder}/.cache/nibble/cifar10"
        self.assertIn(f"run '{command}'", self.data("list")[0])
        text, error = self.data("get", "cifar10", code=1)
        self.assertIn(f"or run  {command}\n", text)
        self.assertIn("unpacked", error)

    def test_check_knows_the_digits(self):
        text = self.data("check")[0]
        self.assertRegex(text, r"digits +train +ok +[0-9a-f]{16}\ndigits +test +ok ")
        self.assertRegex(text, r"cifar10 +test +absent")
        states = {(e["name"], e["split"]): e["state"] for e in json.loads(self.data("check", "--json")[0])}
        self.assertEqual((states["digits", "train"], states["mnist", "test"]), ("ok", "absent"))

    def test_check_fails_on_other_bytes(self):
        self.put_mnist([1, 2])
        text, error = self.data("check", code=1)
        self.assertRegex(text, r"mnist +train +mismatch +got [0-9a-f]{16}, expected ec7ac742f8ee5ad2\n")
        self.assertIn("mnist train: mismatch, mnist test: mismatch", error)
        self.put_mnist([1, 10])
        text, error = self.data("check", "mnist", code=1)
        self.assertRegex(text, r"mnist +train +broken .*train-labels-idx1-ubyte.gz: label 1: got 10, expected 0 to 9\n")
        self.assertIn("absent", self.data("check", "cifar10", code=1)[1])

    def test_get_says_what_to_put_where(self):
        self.assertIn("digits is in ", self.data("get", "digits")[0])
        text, error = self.data("get", "mnist", code=1)
        for words in ("train-images-idx3-ubyte.gz", f"put in  {self.folder}/mnist\n", "ec7ac742f8ee5ad2", "https://"):
            self.assertIn(words, text)
        self.assertIn("does not download", error)

    def test_wrong_requests_are_refused(self):
        self.fails(1, "'imagenet'", "data", "check", "imagenet")
        self.fails(1, "'imagenet'", "data", "get", "imagenet")
        self.fails(2, "subcommand", "data")
        self.fails(2, "NAME", "data", "get")

    def test_real_data_is_right_where_it_is(self):
        process = run("data", "check", **{k: v for k, v in os.environ.items() if k == "NIBBLE_DATA"})
        self.assertEqual(process.returncode, 0, process.stdout.decode())


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
