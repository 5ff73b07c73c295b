# SPDX-License-Identifier: Apache-2.0
"""Engines take floats of every width, and say of other elements what they take."""

import asyncio
import sys
import threading
import time

import numpy as np
import pytest


@pytest.fixture(scope="module")
def engine(nibble, quantized):
    return nibble.Engine(quantized)


@pytest.fixture(scope="module")
def reals():
    """Numbers of few bits, the same in every width."""
    return np.random.default_rng(7).integers(-16, 17, (20, 8, 8, 1)).astype(np.float32) / 8


@pytest.mark.parametrize("dtype", [np.float64, np.float16])
def test_floats_of_other_widths_are_the_same_numbers(engine, reals, dtype):
    expected = engine.run(reals)
    assert len(np.unique(expected)) > 50
    x = reals.astype(dtype)
    for given in (x, np.repeat(x, 2, axis=1)[:, ::2], x[:, :, :, 0]):
        assert np.array_equal(engine.run(given), expected)
    assert np.array_equal(engine.run(x, np.empty_like(expected)), expected)
    assert np.array_equal(engine.run(x[3]), expected[3])
    assert np.array_equal(engine.answers(x), engine.answers(reals))
    assert np.array_equal(engine.submit(x).result(), expected)
    assert np.array_equal(engine.values(x)["fc"], engine.values(reals)["fc"])

    async def answered():
        return await engine.submit(x)

    assert np.array_equal(asyncio.run(answered()), expected)


def test_bfloat16_of_numpy(engine, reals):
    bfloat16 = pytest.importorskip("ml_dtypes").bfloat16
    assert np.array_equal(engine.run(reals.astype(bfloat16)), engine.run(reals))


def test_float64_beyond_float32_is_the_largest_integer(engine, reals):
    assert np.array_equal(engine.run(np.full((8, 8, 1), 1e300)), engine.run(np.full((8, 8, 1), np.inf, np.float32)))


@pytest.mark.parametrize("dtype", ["float64", "float16", "bfloat16"])
def test_tensors(engine, reals, dtype):
    torch = pytest.importorskip("torch")
    x = torch.from_numpy(reals).to(getattr(torch, dtype))
    assert np.array_equal(engine.run(x).numpy(), engine.run(reals))


def test_modules_answer_in_float32_or_in_the_type_of_autocast(quantized, reals):
    """bfloat16 would make equal what the largest of the answers has to be told from."""
    torch = pytest.importorskip("torch")
    from nibble.torch import EngineModule

    module, x = EngineModule(quantized), torch.from_numpy(reals)
    expected = module(x)
    assert expected.dtype == torch.float32 and module((8 * x).to(torch.int8)).dtype == torch.float32
    for dtype in (torch.float64, torch.float16, torch.bfloat16):
        answers = module(x.to(dtype))
        assert answers.dtype == torch.float32 and torch.equal(answers, expected)
    head = torch.nn.Linear(10, 2)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        features = torch.nn.functional.linear(torch.ones(1, 8), torch.eye(64, 8)).view(1, 8, 8, 1)
        assert features.dtype == torch.bfloat16 and head(module(features)).dtype == torch.bfloat16
        assert torch.equal(module(x), expected.bfloat16()) and module(x.to(torch.int8)).dtype == torch.bfloat16


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16, np.uint8, np.int64])
def test_parts_of_large_batches_are_the_same_numbers(nibble, quantized, engine, dtype):
    """Of floats each thread takes a part, of 131,072 or more."""
    x = np.random.default_rng(8).integers(0, 17, (6201, 8, 8, 1)).astype(dtype)
    expected = np.concatenate([engine.run(x[i : i + 500]) for i in range(0, 6201, 500)])
    several = nibble.Engine(quantized, threads=3, max_batch=6201)
    for given in (x, x[:, :, :, 0], x.transpose(0, 3, 1, 2), np.repeat(x, 2, axis=2)[:, :, ::2]):
        assert np.array_equal(several.run(given), expected)


def test_mistakes_in_large_batches_are_those_of_the_whole(nibble, quantized):
    several = nibble.Engine(quantized, threads=3)
    x = np.zeros((700, 8, 8, 1), np.int64)
    x[300:] = 1000 + np.arange(400).reshape(400, 1, 1, 1)
    with pytest.raises(nibble.Error, match=r"\[input\] x: integer: got 1000, expected -127 to 127"):
        several.run(x)
    with pytest.raises(nibble.Error, match=r"\[input\] x: shape: got \(700, 8, 9, 1\), expected \(8, 8, 1\), or several"):
        several.run(np.zeros((700, 8, 9, 1)))


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.uint8, np.int64])
def test_other_threads_go_on_while_numbers_are_converted(nibble, engine, dtype):
    """Where no thread gives Python's lock away by itself, another one counts during a call only if the call lets it; this
    one ends between converting x and running.
    """
    x = np.zeros((4096, 8, 8, 1), dtype)
    counted, has_begun, is_over = [0], threading.Event(), threading.Event()

    def count():
        while not is_over.is_set():
            counted[0] += 1
            has_begun.set()
            time.sleep(0)

    def counts_during_call():
        before = counted[0]
        try:
            engine.run(x, np.empty(3, np.int32))
        except nibble.Error:
            return counted[0] - before

    usual, other = sys.getswitchinterval(), threading.Thread(target=count)
    other.start()
    has_begun.wait()
    sys.setswitchinterval(1000)
    try:
        assert any(counts_during_call() for _ in range(200))
    finally:
        sys.setswitchinterval(usual)
        is_over.set()
        other.join()


@pytest.mark.parametrize("dtype", [bool, ">i4", ">f4", np.complex64, "U1", "datetime64[s]"])
def test_other_elements_are_refused_by_name(nibble, engine, dtype):
    taken = r"x's dtype: got .*, expected floats or integers in the byte order of this machine"
    for call in (engine.run, engine.answers, engine.submit, engine.values):
        with pytest.raises(nibble.errors.ArgumentTypeError, match=taken) as refused:
            call(np.zeros((8, 8, 1)).astype(dtype))
        assert "\n" not in str(refused.value)
