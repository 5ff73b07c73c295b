# SPDX-License-Identifier: Apache-2.0
"""Threads share formats and arrays; calls give back every reference."""

import gc
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from arrays import mixed_values, same_bits

import nibble


def test_threads_get_the_same_bits():
    x = mixed_values(1 << 14)
    jobs = [(fmt, rounding) for fmt in ("e4m3", "mxfp4", "posit(8,1)", "nf4") for rounding in ("nearest-even", "stochastic")]
    expected = {job: nibble.quantize(x, job[0], rounding=job[1]) for job in jobs}
    with ThreadPoolExecutor(8) as pool:
        results = list(pool.map(lambda job: (job, nibble.quantize(x, job[0], rounding=job[1])), jobs * 8))
    assert all(same_bits(result, expected[job]) for job, result in results)


def test_many_texts_in_many_threads():
    x = np.ones(4, np.float32)
    with ThreadPoolExecutor(8) as pool:  # more formats than the cache of texts holds
        sums = list(pool.map(lambda n: float(nibble.quantize(x, f"fixed(16,{n % 15})").sum()), range(3000)))
    assert sums == [4.0] * len(sums)


def run(x, out, bad):
    nibble.quantize(x, "e4m3", rounding="stochastic", seed=1, out=out)
    nibble.quantize(x, nibble.Format("mxfp4"))
    encoded = nibble.encode(x, "nvfp4", packed=True)
    nibble.decode(encoded)
    nibble.stats(x, "e4m3")
    nibble.matmul(x, x.T, accumulator=nibble.Accumulator("fp16"))
    for function in (nibble.quantize, nibble.encode, nibble.stats):
        with pytest.raises(TypeError):
            function(bad, "e4m3")
    with pytest.raises(ValueError):
        nibble.quantize(x, "e4m3", out=x[:, ::-1])


def test_references_and_memory_do_not_grow():
    x, bad = np.ones((8, 64), np.float32), object()
    out = np.empty_like(x)
    for _ in range(20):
        run(x, out, bad)
    gc.collect()
    before = [sys.getrefcount(each) for each in (x, out, bad, None, "e4m3")]
    blocks = sys.getallocatedblocks()
    for _ in range(200):
        run(x, out, bad)
    gc.collect()
    after = [sys.getrefcount(each) for each in (x, out, bad, None, "e4m3")]
    assert all(abs(a - b) < 20 for a, b in zip(after, before)), (before, after)
    assert sys.getallocatedblocks() - blocks < 200


def test_results_live_on_their_own():
    encoded = nibble.encode(np.arange(64, dtype=np.float32), "e4m3")
    codes = encoded.codes
    copy = codes.copy()
    del encoded
    gc.collect()
    junk = [np.zeros(64, np.uint8) for _ in range(100)]
    assert np.array_equal(codes, copy) and junk


def test_a_forked_child_computes():
    import multiprocessing

    x = mixed_values(1 << 16)
    expected = nibble.quantize(x, "e4m3")  # starts the threads of this process
    context = multiprocessing.get_context("fork")
    with context.Pool(1) as pool:
        assert same_bits(pool.apply_async(nibble.quantize, (x, "e4m3")).get(timeout=60), expected)
