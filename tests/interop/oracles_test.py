# SPDX-License-Identifier: Apache-2.0
"""Compares formats and roundings, bit for bit, with ml_dtypes and gfloat.

Runs in .venv (tools/setup makes it); NIBBLE_BIN names the command.
"""

import io
import os
import subprocess
import tempfile
import unittest
from pathlib import Path

import gfloat
import ml_dtypes
import numpy as np
from gfloat import Domain, RoundMode, Signedness
from gfloat import formats as gf

NIBBLE = os.environ["NIBBLE_BIN"]
np.seterr(all="ignore")  # overflow and signaling NaNs are what is tested


def nibble(verb, array, *options):
    """One verb from standard input to standard output."""
    buffer = io.BytesIO()
    np.save(buffer, array)
    done = subprocess.run([NIBBLE, verb, *options, "-", "-"], input=buffer.getvalue(), capture_output=True)
    if done.returncode != 0:
        raise AssertionError(f"nibble {verb} {options}: {done.stderr.decode()}")
    return np.load(io.BytesIO(done.stdout))


def random_inputs(count, seed):
    """fp32 values: any bit pattern, normal numbers of many magnitudes, exact ties of short formats."""
    rng = np.random.default_rng(seed)
    third = count // 3
    bits = rng.integers(0, 2**32, third, dtype=np.uint32).view(np.float32)
    normals = (rng.standard_normal(third) * np.exp2(rng.integers(-30, 18, third))).astype(np.float32)
    short = rng.integers(-(2**13), 2**13, count - 2 * third)
    ties = np.ldexp(short.astype(np.float32), rng.integers(-40, 8, short.size)).astype(np.float32)
    edges = np.array([0.0, -0.0, np.inf, -np.inf, np.nan], np.float32)
    return np.concatenate([bits, normals, ties, edges])


class Case(unittest.TestCase):
    def check_same(self, ours, theirs, inputs, what):
        """Equal bits as float64 (exact for all of them), NaN as NaN."""
        ours = np.asarray(ours, np.float64)
        theirs = np.asarray(theirs, np.float64)
        self.assertEqual(ours.shape, theirs.shape, what)
        same = (ours.view(np.uint64) == theirs.view(np.uint64)) | (np.isnan(ours) & np.isnan(theirs))
        for i in np.flatnonzero(~same)[:1]:
            self.fail(
                f"{what}: {np.count_nonzero(~same)} of {same.size} differ, first {inputs[i]!r}: "
                f"nibble {ours[i]!r}, oracle {theirs[i]!r}"
            )


# name, ml_dtypes type, bits, what ml_dtypes does beyond the largest value
ML_FORMATS = [
    ("fp16", np.float16, 16, "infinity"),
    ("bf16", ml_dtypes.bfloat16, 16, "infinity"),
    ("e5m2", ml_dtypes.float8_e5m2, 8, "infinity"),
    ("float(4,3)", ml_dtypes.float8_e4m3, 8, "infinity"),
    ("e3m4", ml_dtypes.float8_e3m4, 8, "infinity"),
    ("e4m3", ml_dtypes.float8_e4m3fn, 8, "nan"),
    ("e4m3fnuz", ml_dtypes.float8_e4m3fnuz, 8, "nan"),
    ("e5m2fnuz", ml_dtypes.float8_e5m2fnuz, 8, "nan"),
    ("e4m3b11fnuz", ml_dtypes.float8_e4m3b11fnuz, 8, "nan"),
    ("e8m0", ml_dtypes.float8_e8m0fnu, 8, "nan"),
    ("e3m2", ml_dtypes.float6_e3m2fn, 6, "saturate"),
    ("e2m3", ml_dtypes.float6_e2m3fn, 6, "saturate"),
    ("e2m1", ml_dtypes.float4_e2m1fn, 4, "saturate"),
]


def code_type(bits):
    return np.uint8 if bits <= 8 else np.uint16


class MlDtypes(Case):
    def test_every_code_has_the_same_value(self):
        for name, dtype, bits, _ in ML_FORMATS:
            with self.subTest(name):
                codes = np.arange(2**bits, dtype=code_type(bits))
                values = codes.view(dtype).astype(np.float32)
                self.check_same(nibble("decode", codes, "--from", name), values, codes, name)

    def test_a_million_values_round_alike(self):
        x = random_inputs(1_000_000, seed=1)
        for name, dtype, _, overflow in ML_FORMATS:
            with self.subTest(name):
                v, mode = self.common_ground(name, x)
                theirs = v.astype(dtype).astype(np.float32)
                ours = nibble("round", v, "--to", name, "--rounding", mode, "--overflow", overflow)
                self.check_same(ours, theirs, v, name)

    def test_a_million_values_have_the_same_codes(self):
        x = random_inputs(1_000_000, seed=2)
        for name, dtype, bits, overflow in ML_FORMATS:
            with self.subTest(name):
                v, mode = self.common_ground(name, x)
                theirs = v.astype(dtype).view(code_type(bits))
                ours = nibble("encode", v, "--to", name, "--rounding", mode, "--overflow", overflow)
                nans = np.isnan(v.astype(dtype).astype(np.float32))
                # A format with several NaN codes may choose any, ours is the quiet positive one.
                self.assertTrue(np.isnan(nibble("decode", ours[nans], "--from", name)).all(), name)
                self.check_same(ours[~nans], theirs[~nans], v[~nans], name)

    def common_ground(self, name, x):
        """The inputs and the rounding that both sides define alike."""
        if name in ("e3m2", "e2m3", "e2m1"):  # no code for NaN: ml_dtypes invents one, encode refuses
            return x[~np.isnan(x)], "nearest-even"
        if name == "e8m0":
            # ml_dtypes 0.6.0 sends ties up (3.0 to 4.0, not to the even code of 2.0), zero to NaN and
            # everything in the fp32-subnormal binade above 2^-127 to 2^-126, 1.05 * 2^-127 included.
            magnitude = np.abs(x)
            return x[(x != 0) & ~((magnitude > 2.0**-127) & (magnitude < 2.0**-126))], "nearest-away"
        return x, "nearest-even"


SHARED_MODES = [
    ("nearest-even", RoundMode.TiesToEven),
    ("nearest-away", RoundMode.TiesToAway),
    ("toward-zero", RoundMode.TowardZero),
    ("up", RoundMode.TowardPositive),
    ("down", RoundMode.TowardNegative),
]


def p3109(k, p, signedness, domain):
    words = [str(k), str(p)]
    words += ["unsigned"] if signedness == Signedness.Unsigned else []
    words += ["finite"] if domain == Domain.Finite else []
    return f"p3109({','.join(words)})", gf.format_info_p3109(k, p, signedness, domain)


def p3109_formats(widths):
    """All formats of these widths with at least one exponent bit: gfloat also has P = K signed."""
    for k in widths:
        for signedness in Signedness:
            for p in range(1, k if signedness == Signedness.Signed else k + 1):
                for domain in Domain:
                    name, info = p3109(k, p, signedness, domain)
                    if 1 <= info.expBits <= 8:
                        yield name, info


OCP_FORMATS = [
    ("fp16", gf.format_info_binary16),
    ("bf16", gf.format_info_bfloat16),
    ("e5m2", gf.format_info_ocp_e5m2),
    ("e4m3", gf.format_info_ocp_e4m3),
    ("e3m2", gf.format_info_ocp_e3m2),
    ("e2m3", gf.format_info_ocp_e2m3),
    ("e2m1", gf.format_info_ocp_e2m1),
    ("e8m0", gf.format_info_ocp_e8m0),
]


def inputs_for(info, x):
    """gfloat leaves negative numbers in an unsigned format undefined, and what is below the smallest
    number of a format without zero; it refuses NaN where none is."""
    if not info.is_signed:
        x = np.abs(x)
    if not info.has_zero:
        x = x[~(x < info.min)]
    return x if info.num_nans > 0 else x[~np.isnan(x)]


def overflow_rule(info, saturates):
    if saturates:
        return "saturate"
    return "infinity" if info.domain == Domain.Extended else "nan"


class Gfloat(Case):
    def check_roundings(self, formats, x):
        for name, info in formats:
            v = inputs_for(info, x)
            for saturates in (True, False):
                if not saturates and info.domain == Domain.Finite and info.num_nans == 0:
                    continue  # nothing to overflow to: both refuse
                for mode, theirs in SHARED_MODES:
                    rule = overflow_rule(info, saturates)
                    with self.subTest(f"{name} {mode} {rule}"):
                        expected = gfloat.round_ndarray(info, v.astype(np.float64), theirs, saturates)
                        ours = nibble("round", v, "--to", name, "--rounding", mode, "--overflow", rule)
                        self.check_same(ours, expected, v, f"{name} {mode} {rule}")

    def test_ocp_formats_round_alike_in_every_shared_mode(self):
        self.check_roundings(OCP_FORMATS, random_inputs(60_000, seed=3))

    def test_p3109_formats_round_alike_in_every_shared_mode(self):
        self.check_roundings(p3109_formats([3, 4, 5, 6, 7, 8]), random_inputs(3_000, seed=4))

    def test_wide_p3109_formats_round_alike_in_every_shared_mode(self):
        wide = [f for f in p3109_formats([12, 15, 16]) if f[1].expBits in (1, 5, 8)]
        self.check_roundings(wide, random_inputs(20_000, seed=5))

    def test_every_code_has_the_same_value(self):
        for name, info in [*OCP_FORMATS, *p3109_formats([3, 4, 6, 8, 11])]:
            with self.subTest(name):
                codes = np.arange(2**info.k, dtype=code_type(info.k))
                expected = gfloat.decode_ndarray(info, codes.astype(np.int64))
                self.check_same(nibble("decode", codes, "--from", name), expected, codes, name)

    def test_to_odd_is_the_odd_one_of_the_two_directed_results(self):
        # gfloat has no to-odd: its directed results and its codes tell which neighbour it must be.
        x = random_inputs(20_000, seed=6)
        for name, info in [*OCP_FORMATS, p3109(8, 1, Signedness.Signed, Domain.Extended)]:
            with self.subTest(name):
                v = inputs_for(info, x)
                v = v[np.abs(v) <= info.max]
                down = gfloat.round_ndarray(info, v.astype(np.float64), RoundMode.TowardNegative)
                up = gfloat.round_ndarray(info, v.astype(np.float64), RoundMode.TowardPositive)
                down_is_odd = gfloat.encode_ndarray(info, down).astype(np.int64) % 2 == 1
                expected = np.where(down_is_odd, down, up)
                ours = nibble("round", v, "--to", name, "--rounding", "to-odd")
                self.check_same(ours, expected, v, name)


def philox(counters, key):
    """Philox4x32-10 as its paper has it: counters (n, 4), two key words."""
    mask = np.uint64(0xFFFFFFFF)
    c = [counters[:, i].astype(np.uint64) for i in range(4)]
    k = [np.uint64(word) for word in key]
    for _ in range(10):
        p0 = c[0] * np.uint64(0xD2511F53)
        p1 = c[2] * np.uint64(0xCD9E8D57)
        c = [(p1 >> 32) ^ c[1] ^ k[0], p1 & mask, (p0 >> 32) ^ c[3] ^ k[1], p0 & mask]
        k = [(k[0] + np.uint64(0x9E3779B9)) & mask, (k[1] + np.uint64(0xBB67AE85)) & mask]
    return np.stack(c, axis=1)


def draws(count, random_bits, seed, stream, step):
    """The draw of each element: the top bits of a 16-bit lane, or of a 32-bit one for r > 16."""
    lanes = 8 if random_bits <= 16 else 4
    groups = np.arange(-(-count // lanes), dtype=np.uint64)
    counters = np.stack(
        [groups & 0xFFFFFFFF, groups >> 32, np.full_like(groups, step), np.full_like(groups, stream)], axis=1
    )
    words = philox(counters, (seed & 0xFFFFFFFF, seed >> 32))
    if lanes == 8:
        words = np.stack([words & 0xFFFF, words >> 16], axis=2)
    width = 128 // lanes
    return (words.reshape(-1)[:count] >> np.uint64(width - random_bits)).astype(np.int64)


class GfloatStochastic(Case):
    # gfloat's StochasticFastest goes away where f + s·2^-r >= 1; with s = 2^r - 1 - u that is our
    # u < floor(f·2^r). Its other kinds round f to r bits first, ours cuts it: they differ by design.
    def test_same_bits_give_the_same_values(self):
        x = random_inputs(30_000, seed=7)
        key = {"seed": 0x123456789ABC, "stream": 7, "step": 11}
        options = [word for name, value in key.items() for word in (f"--{name}", str(value))]
        formats = [*OCP_FORMATS, p3109(8, 4, Signedness.Signed, Domain.Extended)]
        for name, info in formats:
            v = inputs_for(info, x)
            for r in (1, 5, 8, 16, 17, 24, 32):
                with self.subTest(f"{name} stochastic({r})"):
                    bits = 2**r - 1 - draws(v.size, r, **key)
                    expected = gfloat.round_ndarray(
                        info, v.astype(np.float64), RoundMode.StochasticFastest, True, bits, r
                    )
                    ours = nibble(
                        "round", v, "--to", name, "--rounding", f"stochastic({r})", "--overflow", "saturate", *options
                    )
                    self.check_same(ours, expected, v, f"{name} stochastic({r})")


MX_FORMATS = [
    ("mxfp8-e5m2", gf.format_info_mxfp8_e5m2),
    ("mxfp8-e4m3", gf.format_info_mxfp8_e4m3),
    ("mxfp6-e3m2", gf.format_info_mxfp6_e3m2),
    ("mxfp6-e2m3", gf.format_info_mxfp6_e2m3),
    ("mxfp4", gf.format_info_mxfp4_e2m1),
    ("mxint8", gf.format_info_mxint8),
]


class GfloatBlocks(Case):
    def test_mx_blocks_quantize_alike(self):
        rng = np.random.default_rng(8)
        x = (rng.standard_normal((24, 32)) * np.exp2(rng.integers(-40, 40, (24, 1)))).astype(np.float32)
        x[3] = 0
        x[4, 1:] = 0
        for name, info in MX_FORMATS:
            with self.subTest(name):
                rows = [
                    gfloat.quantize_block(info, row.astype(np.float64), gfloat.compute_scale_amax) for row in x
                ]
                expected = np.array(rows)
                if name == "mxint8":
                    # gfloat keeps -2.0 (code 80); ours is the symmetric one that OCP MX 5.3.4 allows,
                    # and has one zero. Clip both ways at 127/64 of the block's scale.
                    scale = np.array([[gfloat.compute_scale_amax(info.etype.emax, row)] for row in x])
                    expected = np.clip(expected, -127 / 64 * scale, None) + 0.0
                self.check_same(nibble("round", x, "--to", name).ravel(), expected.ravel(), x.ravel(), name)

    def test_mx_blocks_decode_alike(self):
        rng = np.random.default_rng(9)
        with tempfile.TemporaryDirectory() as folder:
            scales_file = Path(folder, "scales.npy")
            for name, info in MX_FORMATS:
                with self.subTest(name):
                    x = rng.standard_normal((8, 64)).astype(np.float32)
                    codes = nibble("encode", x, "--to", name, "--scales-out", str(scales_file))
                    scales = np.load(scales_file).ravel()
                    self.assertEqual(scales.size, 16)
                    ours = nibble("decode", codes, "--from", name, "--scales", str(scales_file))
                    expected = []
                    for block, scale in zip(codes.reshape(-1, 32), scales):
                        head = gfloat.encode_float(info.stype, float(scale))
                        expected.append(list(gfloat.decode_block(info, [head, *block.tolist()])))
                    self.check_same(ours.ravel(), np.array(expected).ravel(), codes.ravel(), name)


if __name__ == "__main__":
    unittest.main()
