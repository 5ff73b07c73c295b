# SPDX-License-Identifier: Apache-2.0
"""Engines take floats of every width, and say of other elements what they take."""

import asyncio

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


def test_modules_answer_in_the_floats_of_their_input(quantized, reals):
    torch = pytest.importorskip("torch")
    from nibble.torch import EngineModule

    module, x = EngineModule(quantized), torch.from_numpy(reals)
    expected = module(x)
    assert expected.dtype == torch.float32 and module((8 * x).to(torch.int8)).dtype == torch.float32
    for dtype in (torch.float64, torch.float16, torch.bfloat16):
        answers = module(x.to(dtype))
        assert answers.dtype == dtype and torch.equal(answers, expected.to(dtype))
    head = torch.nn.Linear(10, 2)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        features = torch.nn.functional.linear(torch.ones(1, 8), torch.eye(64, 8)).view(1, 8, 8, 1)
        assert features.dtype == torch.bfloat16 and head(module(features)).dtype == torch.bfloat16


@pytest.mark.parametrize("dtype", [bool, ">i4", ">f4", np.complex64, "U1", "datetime64[s]"])
def test_other_elements_are_refused_by_name(nibble, engine, dtype):
    taken = r"x's dtype: got .*, expected floats or integers in the byte order of this machine"
    for call in (engine.run, engine.answers, engine.submit, engine.values):
        with pytest.raises(nibble.errors.ArgumentTypeError, match=taken) as refused:
            call(np.zeros((8, 8, 1)).astype(dtype))
        assert "\n" not in str(refused.value)
