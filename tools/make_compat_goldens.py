#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes tests/golden/compat: what QPyTorch and its posit fork compute, for compat_qtorch_test.

usage: make_compat_goldens.py qtorch|qtorch+ [folder]

Each family is three files: NAME.txt has a Nibble format a line, NAME_x.npy the inputs that all of them
share, NAME_y.npy the package's outputs, one row a format. The packages compile at import under the same
extension name, so each run handles one, with its own TORCH_EXTENSIONS_DIR. Known to work (Debian 12):

  apt-get install python3-torch libtorch-dev pybind11-dev ninja-build
  python3 -m venv --system-site-packages v && v/bin/pip install --no-deps qtorch==0.3.0 qtorch-plus==0.2.0
  TORCH_EXTENSIONS_DIR=/tmp/a v/bin/python tools/make_compat_goldens.py qtorch
  TORCH_EXTENSIONS_DIR=/tmp/b v/bin/python tools/make_compat_goldens.py qtorch+
"""

import sys
from pathlib import Path

import numpy as np
import torch

FOLDER = Path(__file__).resolve().parent.parent / "tests" / "golden" / "compat"

SPECIAL = [0.0, -0.0, np.inf, -np.inf, 1e-45, -1e-45, 1e-40, -1e-40, 2.0**-126, -(2.0**-126), 3.4028235e38,
           -3.4028235e38, 2.0**126, 1e5, -1e5, 100001.0, 65504.0, 131008.0, 448.0, 464.0, 480.0, 496.0]
NAN_BITS = [0x7FC00000, 0xFFC00000, 0x7F800001, 0xFF800001, 0x7FFFFFFF, 0xFFFFFFFF, 0x7FBFFFFF]


def mixed_inputs(rng, count, extra=()):
    """Specials, any bit pattern, normals over many binades, short numbers (ties) and their neighbours."""
    patterns = rng.integers(0, 2**32, count, dtype=np.uint32).view(np.float32)
    normals = rng.normal(size=count) * np.exp2(rng.integers(-12, 8, count))
    ties = (rng.integers(-64, 64, count) * 2 + 1) * np.exp2(rng.integers(-14, 6, count))
    near = ties[: count // 2].astype(np.float32)
    return np.concatenate([
        np.array(SPECIAL, np.float32), np.array(NAN_BITS, np.uint32).view(np.float32),
        np.array(extra, np.float32), patterns, normals.astype(np.float32), ties.astype(np.float32),
        np.nextafter(near, np.float32(0)), np.nextafter(near, np.float32(np.inf)),
    ])


def save(folder, name, formats, x, rows, draws=None):
    (folder / f"{name}.txt").write_text("".join(f"{f}\n" for f in formats))
    np.save(folder / f"{name}_x.npy", x)
    np.save(folder / f"{name}_y.npy", np.stack(rows))
    if draws is not None:
        np.save(folder / f"{name}_draw.npy", np.stack(draws))
    print(f"{name}: {len(formats)} formats, {np.stack(rows).size} values")


def fixed_name(wl, fl, clamp, symmetric):
    return f"fixed({wl},{fl}{',symmetric' if symmetric else ''}{'' if clamp else ',clamp=off'})"


def make_fixed(folder, quantize):
    rng = np.random.default_rng(1)
    configs = [(8, 4, True, False), (8, 4, True, True), (8, 4, False, False), (5, 4, True, False), (3, 2, True, True),
               (16, 8, True, False), (16, 8, False, False), (8, 8, True, False), (4, 0, True, False),
               (12, 20, True, False), (25, 10, True, False), (32, 16, True, True), (1, 0, True, False),
               (6, -3, True, False), (24, 0, False, False)]
    # 0.5 + 2^-24 of a step, and odd integers from 2^23 on, for the steps above
    corners = [(0.5 + 2.0**-24) * 2.0**-fl for _, fl, _, _ in configs]
    corners += [sign * (2.0**23 + odd) * 2.0**-fl for fl in (0, 4, 8) for odd in (1, 3, 2.0**23 - 1) for sign in (1, -1)]
    x = mixed_inputs(rng, 110, corners)
    t = torch.from_numpy(x)
    rows = [quantize(t, wl, fl, clamp, symmetric, "nearest").numpy() for wl, fl, clamp, symmetric in configs]
    save(folder, "qtorch_fixed", [fixed_name(*c) for c in configs], x, rows)

    # The package draws torch.rand, which the same seed gives again: 24 bits, here as the top of 32.
    rows, draws, some = [], [], configs[:7]
    for seed, (wl, fl, clamp, symmetric) in enumerate(some):
        torch.manual_seed(seed)
        draws.append((torch.rand(x.size).numpy() * 2.0**24).astype(np.uint32) << 8)
        torch.manual_seed(seed)
        rows.append(quantize(t, wl, fl, clamp, symmetric, "stochastic").numpy())
    save(folder, "qtorch_fixed_stochastic", [fixed_name(*c) for c in some], x, rows, draws)


def make_block(folder, quantize):
    """Two matrices: one tame, one whose rows hold zeros, specials and extreme magnitudes."""
    rng = np.random.default_rng(2)
    shape = (12, 16)
    tame = (rng.normal(size=shape) * np.exp2(rng.integers(-6, 6, shape))).astype(np.float32)
    tame[1] = np.arange(-8, 8) + 0.5
    tame[2] = -np.abs(tame[2])
    wild = rng.normal(size=shape).astype(np.float32)
    wild *= np.exp2(rng.integers(-3, 3, shape)).astype(np.float32)
    wild[0] = -0.0
    wild[1, 3] = np.nan
    wild[2, 5] = -np.inf
    wild[3] *= np.float32(1e-40)
    wild[4] = np.float32(2e38) * np.linspace(-1, 1, shape[1], dtype=np.float32)
    wild[5] *= np.float32(2.0**125)
    wild[6] *= np.float32(2.0**-126)
    x = np.stack([tame, wild])
    formats, rows = [], []
    for wl in (2, 3, 4, 5, 6, 8, 9, 12, 16, 22):
        for dim in (-1, 0, 1):
            formats.append(f"bfp({wl})" if dim == -1 else f"bfp({wl},axis={dim})")
            rows.append(np.stack([quantize(torch.from_numpy(part), wl, dim, "nearest").numpy() for part in x]))
    save(folder, "qtorch_block", formats, x, rows)


def make_float(folder, quantize, name, configs, seed):
    rng = np.random.default_rng(seed)
    # Just below the middle between zero and the smallest subnormal: fl32(x + S) already lands on it.
    middles = [0.5 * 2.0 ** (2 - 2 ** (e - 1) - m) for e, m in configs if e < 8]
    corners = [9.76561743e-4] + [mid * (1 - 2.0**-k) for mid in middles for k in (24, 20)]
    x = mixed_inputs(rng, 100, corners)
    t = torch.from_numpy(x)
    # man=23 flips signs with "nearest" (issue #48); "stochastic" adds nothing there and is the true rule.
    rows = [quantize(t, e, m, "nearest" if m < 23 else "stochastic").numpy() for e, m in configs]
    save(folder, name, [f"float({e},{m},specials=finite)" for e, m in configs], x, rows)


def make_upstream(folder):
    from qtorch.quant import block_quantize, fixed_point_quantize, float_quantize

    make_fixed(folder, fixed_point_quantize)
    make_block(folder, block_quantize)
    configs = [(4, 3), (5, 2), (5, 10), (3, 2), (2, 3), (2, 1), (3, 4), (6, 9), (8, 7), (8, 10), (8, 1), (8, 23),
               (7, 12), (1, 2), (4, 0), (5, 22), (6, 23), (2, 16)]
    make_float(folder, float_quantize, "qtorch_float", configs, 3)


def make_fork(folder):
    from qtorch_plus.quant.quant_function import (act_format_quantize, configurable_table_quantize, float_quantize,
                                                  new_format_quantize, posit_quantize)

    configs = [(4, 3), (5, 2), (5, 10), (3, 2), (2, 1), (6, 9), (8, 7), (8, 23), (1, 2), (7, 12)]
    make_float(folder, float_quantize, "qtorch_plus_float", configs, 4)

    # Nibble's scale multiplies elements, the package's multiplies inputs: one is the inverse of the other.
    x = mixed_inputs(np.random.default_rng(5), 100, [2.0**e for e in range(-60, 61, 5)])
    t = torch.from_numpy(x)
    posits = [(8, 0, 1), (8, 1, 1), (8, 2, 1), (8, 3, 1), (16, 1, 1), (16, 2, 1), (16, 3, 1), (6, 0, 1), (6, 2, 1),
              (2, 0, 1), (3, 1, 1), (5, 3, 1), (8, 1, 4.0), (8, 2, 0.125), (16, 1, 10.0), (6, 1, 3.0)]
    names = [f"posit({n},{es}" + ("" if s == 1 else f",scale={1 / s!r}") + ")" for n, es, s in posits]
    save(folder, "qtorch_plus_posit", names, x, [posit_quantize(t, n, es, float(s)).numpy() for n, es, s in posits])

    own = [0.1, 0.3, 1.0, 2.5, 7.0]
    tables = [("new_format", lambda s: new_format_quantize(t, s)), ("act_format", lambda s: act_format_quantize(t, s)),
              (f"{own},signed", lambda s: configurable_table_quantize(t, torch.tensor(own), s))]
    names, rows = [], []
    for scale in (1.0, 8.0, 10.0):
        for table, quantize in tables:
            names.append(f"codebook({table},scale={1 / scale!r})")
            rows.append(quantize(scale).numpy())
    save(folder, "qtorch_plus_table", names, x, rows)


def main():
    makers = {"qtorch": make_upstream, "qtorch+": make_fork}
    if len(sys.argv) not in (2, 3) or sys.argv[1] not in makers:
        print(__doc__, file=sys.stderr)
        return 2
    folder = Path(sys.argv[2]) if len(sys.argv) == 3 else FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    with np.errstate(all="ignore"):
        makers[sys.argv[1]](folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())
