# SPDX-License-Identifier: Apache-2.0
"""An engine without max_batch grows with the batches that come, whoever runs on it meanwhile."""

import ctypes
import os
import random
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest


@pytest.fixture(scope="module")
def integers(nibble, quantized):
    info = nibble.Engine(quantized).inputs[0]
    return np.random.default_rng(1).integers(info.low, info.high + 1, (200, *info.shape)).astype(info.dtype)


@pytest.fixture(scope="module")
def expected(nibble, quantized, integers):
    return nibble.Engine(quantized, max_batch=1).run(integers)


def arena(nibble, model, **options):
    return nibble.Engine(model, threads=1, **options).arena_bytes


@pytest.mark.parametrize("call", ["run", "answers", "submit", "bench"])
def test_it_grows_once_on_a_cpu(nibble, quantized, integers, call):
    sizes = {count: arena(nibble, quantized, max_batch=count) for count in (1, 2, 4, 200)}
    assert sizes[1] < sizes[2] < sizes[4] == sizes[200]  # a CPU takes four at most
    engine = nibble.Engine(quantized, threads=1)
    found = []
    for count in (1, 2, 200, 1):
        if call == "bench":
            engine.bench(count, 1e-3)
        elif call == "submit":
            engine.submit(integers[:count]).result(60)
        else:
            getattr(engine, call)(integers[:count])
        found.append(engine.arena_bytes)
    assert found == [sizes[1], sizes[4], sizes[4], sizes[4]]


def test_what_was_asked_for_stays(nibble, quantized, integers, expected):
    for most in (1, 2):
        engine = nibble.Engine(quantized, threads=1, max_batch=most)
        assert np.array_equal(engine.run(integers), expected)
        assert engine.arena_bytes == arena(nibble, quantized, max_batch=most)


@pytest.mark.parametrize("device", ["cpu", "reference", "check(cpu,reference)"])
@pytest.mark.parametrize("threads", [1, 2, 3])
def test_the_answers_do_not_depend_on_it(nibble, quantized, integers, expected, device, threads):
    engine = nibble.Engine(quantized, device=device, threads=threads)
    for count in (1, 2, 5, 17, 30, 3, 1):
        assert np.array_equal(engine.run(integers[:count]), expected[:count])
    assert np.array_equal(engine.run(integers[0]), expected[0])


def test_threads_run_and_submit_while_it_grows(nibble, quantized, integers, expected):
    begin = threading.Barrier(4)

    def work(engine, seed):
        draws, futures = random.Random(seed), []
        begin.wait()
        for _ in range(12):
            first = draws.randrange(150)
            part = slice(first, first + draws.choice((1, 2, 7, 20, 50)))
            if draws.random() < 0.5:
                futures.append((part, engine.submit(integers[part])))
            else:
                assert np.array_equal(engine.run(integers[part]), expected[part])
        return all(np.array_equal(each.result(60), expected[part]) for part, each in futures)

    with ThreadPoolExecutor(4) as pool:
        for turn in range(20):
            engine = nibble.Engine(quantized, threads=1 + turn % 4, lanes=1 + turn % 2)
            assert all(pool.map(lambda seed: work(engine, seed), range(4 * turn, 4 * turn + 4)))


def test_what_was_submitted_before_it_grew_ends(nibble, quantized, integers, expected):
    engine = nibble.Engine(quantized, threads=1)
    pending = [engine.submit(integers[i]) for i in range(100)]
    assert np.array_equal(engine.run(integers), expected)
    del engine  # waits for those of the smaller one, too
    assert all(each.done() for each in pending)
    assert all(np.array_equal(each.result(), expected[i]) for i, each in enumerate(pending))


def test_a_callback_may_make_it_grow(nibble, quantized, integers, expected):
    """It is called by a thread of the very engine that becomes too small."""
    engine = nibble.Engine(quantized, threads=1)
    found = []
    done = threading.Event()

    def go_on(future):
        found.append(future.result())
        if len(found) < 4:
            found.append(engine.run(integers))
            engine.submit(integers[: 20 * len(found)]).add_done_callback(go_on)
        else:
            done.set()

    engine.submit(integers[0]).add_done_callback(go_on)
    assert done.wait(60)
    assert [len(each) for each in found] == [10, 200, 40, 200, 80]
    assert all(np.array_equal(each, expected[: len(each)]) for each in found[1:])


def test_it_stays_as_it_is_where_there_is_no_room(nibble, quantized, integers, expected):
    """Here by a limit, which is refused as memory is that has ended."""
    try:
        for memory in range(1 << 14, 1 << 20, 1 << 11):
            nibble.set_limits(f"memory={memory}")
            try:
                small = arena(nibble, quantized, max_batch=1)
            except nibble.errors.LimitError:
                continue
            break
        with pytest.raises(nibble.errors.LimitError, match=r"\[engine\] bytes of weights and of one run"):
            nibble.Engine(quantized, threads=1, max_batch=4)
        engine = nibble.Engine(quantized, threads=1)
        assert np.array_equal(engine.run(integers), expected)
        assert engine.arena_bytes == small
    finally:
        nibble.set_limits()


def resident_bytes():
    ctypes.CDLL(None).malloc_trim(0)  # what was freed goes back to the system
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def test_the_smaller_engine_goes(nibble, tmp_path):
    width = 4096
    network = nibble.Network("wide", input=(width,))
    network.add("linear", features=width, name="fc").add("softmax_cross_entropy")
    drawn = np.random.default_rng(0)
    np.savez(tmp_path / "weights.npz", **{"fc.weight": drawn.normal(size=(width, width)).astype(np.float32)})
    floats = nibble.convert(tmp_path / "weights.npz", network=network)
    model = nibble.quantize_network(floats, drawn.normal(size=(8, width)).astype(np.float32), progress=False)
    engine = nibble.Engine(model, threads=1)
    x = np.zeros((64, width), np.float32)
    engine.run(x[:1])
    before = resident_bytes()
    engine.run(x)
    assert engine.weight_bytes > 1.6e7 and resident_bytes() - before < 0.5 * engine.weight_bytes
