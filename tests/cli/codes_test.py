# SPDX-License-Identifier: Apache-2.0
"""nibble encode and decode."""

import unittest

import numpy as np

from case import Case, array_of, npy


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


if __name__ == "__main__":
    unittest.main()
