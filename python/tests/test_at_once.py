# SPDX-License-Identifier: Apache-2.0
"""Arrays of several calls at once: in a callback, in threads, in the runs of a sweep. Generators are read once."""

from concurrent.futures import ThreadPoolExecutor
from functools import partial

import numpy as np
import pytest

WHAT = "mlp-64-32-10"


def drawn(seed, count=60):
    random = np.random.default_rng(seed)
    return random.integers(0, 17, (count, 8, 8, 1)).astype(np.uint8), random.integers(0, 10, count)


def test_a_callback_evaluates_other_arrays(nibble, quantized, tmp_path):
    data, other = drawn(1), drawn(2, 50)
    expected, found = nibble.evaluate(quantized, other), []
    settings = {"data": data, "epochs": 2, "progress": False}
    look = lambda row: found.append((nibble.evaluate(quantized, other), nibble.compare(quantized, quantized, data=(other, other))))
    run = nibble.train(WHAT, callbacks=[look], out=tmp_path / "a", **settings)
    assert [each[0] for each in found] == [expected] * 2 and expected.images == 50
    assert [each[1]["agreed"] for each in found] == [50] * 2
    alone = nibble.train(WHAT, out=tmp_path / "b", **settings)
    assert run.model.weights_hash == alone.model.weights_hash and run.settings["data"] == "arrays"


def test_threads_have_arrays_of_their_own(nibble, float_run, quantized):
    sets = [drawn(seed, 40 + seed) for seed in range(4)]
    evaluate = partial(nibble.evaluate, quantized)
    quantize = lambda data: nibble.quantize_network(float_run, data, progress=False).weights_hash
    expected = [*map(evaluate, sets)], [*map(quantize, sets)]
    assert [each.images for each in expected[0]] == [40, 41, 42, 43] and len(set(expected[1])) > 1
    with ThreadPoolExecutor(2) as pool:
        for _ in range(5):
            assert ([*pool.map(evaluate, sets)], [*pool.map(quantize, sets)]) == expected


def test_a_sweep_on_threads(nibble, tmp_path):
    settings = {"data": (drawn(1), drawn(2)), "epochs": 2, "seeds": 2}
    expected = nibble.sweep(WHAT, ["e4m3"], out=tmp_path / "alone", **settings)
    with ThreadPoolExecutor(2) as pool:
        found = nibble.sweep(WHAT, ["e4m3"], map=pool.map, out=tmp_path / "threads", **settings)
    hashes = lambda table: [nibble.Run(folder).summary["weights_hash"] for folder in table["run"]]
    assert found["top1"] == expected["top1"] and hashes(found) == hashes(expected)


def batches(data):
    for begin in range(0, len(data[0]), 20):
        yield tuple(each[begin : begin + 20] for each in data)


def test_a_sweep_reads_a_generator_once(nibble, tmp_path):
    train, test = drawn(1), drawn(2)
    expected = nibble.sweep(WHAT, ["e4m3"], data=(train, test), epochs=1, out=tmp_path / "a")
    found = nibble.sweep(WHAT, ["e4m3"], data=(batches(train), batches(test)), epochs=1, out=tmp_path / "b")
    assert found["top1"] == expected["top1"]


def test_a_loader_that_shuffles_is_other_data(nibble, tmp_path):
    x, y = drawn(1)
    settings = {"epochs": 2, "out": tmp_path / "run", "progress": False}
    nibble.train(WHAT, data=[(x, y)], stop_after=1, **settings)
    with pytest.raises(nibble.Error, match="data_hash"):
        nibble.train(WHAT, data=[(x[::-1], y[::-1])], mode="resume", **settings)
    assert nibble.train(WHAT, data=[(x, y)], mode="resume", **settings).is_complete
