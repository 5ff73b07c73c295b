# SPDX-License-Identifier: Apache-2.0
"""nibble.matmul."""

import numpy as np
import pytest
from arrays import same_bits

import nibble
from nibble import Accumulator


def matrices(m=5, k=40, n=7, seed=0):
    random = np.random.default_rng(seed)
    return random.standard_normal((m, k)).astype(np.float32), random.standard_normal((k, n)).astype(np.float32)


def by_hand(a, b, fmt):
    """Products and sums rounded one by one."""
    sums = np.zeros((a.shape[0], b.shape[1]), np.float32)
    for k in range(a.shape[1]):
        # The product of 24-bit numbers is exact in 48 bits; fp16's rounding of its fp32 value could round twice.
        exact = a[:, k : k + 1].astype(np.float64) * b[k : k + 1].astype(np.float64)
        sums = (sums.astype(np.float64) + exact.astype(fmt).astype(np.float64)).astype(fmt).astype(np.float32)
    return sums


def test_fp16_accumulator_is_numpys_half():
    a, b = matrices()
    assert same_bits(nibble.matmul(a, b, accumulator="fp16"), by_hand(a, b, np.float16))


def test_a_quire_is_exact():
    a, b = np.float32([[1e30, 1, -1e30]]), np.float32([[1], [1], [1]])
    assert nibble.matmul(a, b, accumulator=Accumulator("fp32", method="quire")) == [[1]]
    assert nibble.matmul(a, b, accumulator="fp32") == [[0]]


def test_methods_orders_and_chunks_differ():
    a, b = matrices(k=400)
    rules = [
        Accumulator("e5m7"),
        Accumulator("e5m7", product="e5m3"),
        Accumulator("e5m7", rounding="toward-zero"),
        Accumulator("e5m7", method="fused"),
        Accumulator("e5m7", method="kahan"),
        Accumulator("e5m7", method="quire"),
        Accumulator("e5m7", order="pairwise"),
        Accumulator("e5m7", chunk=16),
        Accumulator(nibble.Format("e5m7"), rounding="stochastic"),
    ]
    results = [nibble.matmul(a, b, accumulator=rule).tobytes() for rule in rules]
    assert len(set(results)) == len(rules)
    draws = {nibble.matmul(a, b, accumulator=rules[-1], **key).tobytes() for key in ({"seed": 1}, {"step": 1}, {"stream": 1})}
    assert len(draws) == 3


def test_memory():
    a, b = matrices(8, 24, 8)
    expected = nibble.matmul(a, b, accumulator="fp16")
    assert same_bits(nibble.matmul(np.asfortranarray(a), b.T.copy().T, accumulator="fp16"), expected)
    out = np.empty((8, 16), np.float32)[:, ::2]
    assert nibble.matmul(a, b, accumulator="fp16", out=out) is out and same_bits(out.copy(), expected)
    half = a.astype(np.float16), b.astype(np.float16)
    wide = [x.astype(np.float32) for x in half]
    assert same_bits(nibble.matmul(*half, accumulator="fp16"), nibble.matmul(*wide, accumulator="fp16"))
    assert nibble.matmul(a[:0], b, accumulator="fp16").shape == (0, 8)
    assert not nibble.matmul(a[:, :0], b[:0], accumulator="fp16").any()


def test_mistakes():
    a, b = matrices(8, 8, 8)
    for error, arguments in [
        (ValueError, {"b": b[:7]}),
        (ValueError, {"a": a[0]}),
        (TypeError, {"a": a.astype(np.float64)}),
        (ValueError, {"out": a}),
        (ValueError, {"out": b[::-1]}),
        (ValueError, {"out": np.empty((7, 8), np.float32)}),
        (TypeError, {"out": np.empty((8, 8), np.float16)}),
        (ValueError, {"accumulator": "mxfp4"}),
        (TypeError, {"accumulator": 16}),
        (ValueError, {"accumulator": Accumulator("fp16", method="exact")}),
        (ValueError, {"accumulator": Accumulator("fp16", order="random")}),
        (ValueError, {"accumulator": Accumulator("fp16", chunk=-1)}),
        (ValueError, {"accumulator": Accumulator("fp16", method="fused", order="pairwise")}),
        (TypeError, {"accumulator": Accumulator("fp16", product=3)}),
        (TypeError, {"seed": "1"}),
    ]:
        with pytest.raises(error) as caught:
            nibble.matmul(**{"a": a, "b": b, "accumulator": "fp16", **arguments})
        assert "\n" not in str(caught.value)
