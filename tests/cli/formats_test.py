# SPDX-License-Identifier: Apache-2.0
"""nibble formats: listings, errors on data, pictures."""

import json
import unittest
from xml.etree import ElementTree

import numpy as np

from case import Case, npy


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


if __name__ == "__main__":
    unittest.main()
