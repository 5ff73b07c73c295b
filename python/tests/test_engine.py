# SPDX-License-Identifier: Apache-2.0
"""The engine on arrays of every kind gives the command's integers."""

import asyncio
import json
import threading

import numpy as np
import pytest
from dlpack_structures import GPU, LentAs


@pytest.fixture(scope="module")
def engine(nibble, quantized):
    return nibble.Engine(quantized)


@pytest.fixture(scope="module")
def integers(engine):
    info = engine.inputs[0]
    shape = (20, *info.shape)
    return np.random.default_rng(1).integers(info.low, info.high + 1, shape).astype(info.dtype)


def test_the_answers_are_the_commands(nibble, engine, quantized_path, pictures, command, tmp_path):
    np.save(tmp_path / "in.npy", pictures)
    command("run", quantized_path, "--input", tmp_path / "in.npy", "--output", tmp_path / "out.npy")
    assert np.array_equal(engine.run(pictures), np.load(tmp_path / "out.npy"))


def test_layouts_do_not_matter(engine, integers):
    expected = engine.run(integers)
    assert expected.shape == (20, 10) and expected.dtype == engine.outputs[0].dtype
    strided = np.repeat(integers, 2, axis=1)[:, ::2]
    assert not strided.flags.c_contiguous
    assert np.array_equal(engine.run(strided), expected)
    assert np.array_equal(engine.run(integers.astype(np.int64)), expected)
    assert np.array_equal(engine.run(integers[3]), expected[3])
    assert np.array_equal(engine.run(integers[:, :, :, 0]), expected)


def test_out_lies_apart_from_x(engine, integers):
    expected = engine.run(integers)
    memory = np.zeros(integers.size + expected.nbytes, np.uint8)
    x = memory[: integers.size].view(integers.dtype).reshape(integers.shape)
    x[:] = integers
    for at in (0, integers.size - 4):
        out = memory[at : at + expected.nbytes].view(expected.dtype).reshape(expected.shape)
        with pytest.raises(ValueError, match=r"^\[run\] out: got memory that overlaps the input, expected memory apart from it$"):
            engine.run(x, out)
    assert np.array_equal(x, integers)
    behind = memory[integers.size :].view(expected.dtype).reshape(expected.shape)
    assert np.array_equal(engine.run(x, behind), expected)


def test_out_is_written(engine, integers):
    out = np.empty((20, 10), engine.outputs[0].dtype)
    assert engine.run(integers, out) is out
    assert np.array_equal(out, engine.run(integers))
    with pytest.raises(ValueError, match=r"\[run\] out's shape: got \(19, 10\), expected \(20, 10\)"):
        engine.run(integers, out[:19])
    with pytest.raises(TypeError, match=r"\[run\] out's dtype"):
        engine.run(integers, np.empty((20, 10), np.float32))
    for wrong in (bool, ">i4", np.complex64):
        with pytest.raises(TypeError, match=r"out's dtype: got .*, expected int32$"):
            engine.run(integers, np.empty((20, 10), wrong))


def test_other_packages_arrays(engine, integers):
    class Lent:
        def __dlpack__(self, **_):
            return integers.__dlpack__()

        def __dlpack_device__(self):
            return integers.__dlpack_device__()

    assert np.array_equal(engine.run(Lent()), engine.run(integers))


@pytest.mark.parametrize("device", ["cpu", "check(cpu,reference)"])
def test_arrays_that_it_cannot_reach(nibble, quantized, integers, device):
    """No GPU is needed: what says that it lies on one is refused unread."""
    engine = nibble.Engine(quantized, device=device, threads=1)
    there = LentAs(integers, device=GPU)
    calls = engine.run, engine.answers, engine.values, engine.submit
    for call in calls:
        with pytest.raises(RuntimeError, match=r"\[run\] x's device: got cuda:0, expected cpu, where this engine runs"):
            call(there)
    out = LentAs(np.empty((20, 10), engine.outputs[0].dtype), device=GPU)
    with pytest.raises(TypeError, match=r"\[run\] out: got .* another device, expected a dense one on the CPU"):
        engine.run(integers, out)
    assert there.given_back == len(calls) and out.given_back == 1


def test_tensors(engine, integers):
    torch = pytest.importorskip("torch")
    answers = engine.run(torch.from_numpy(integers))
    assert isinstance(answers, torch.Tensor)
    assert np.array_equal(answers.numpy(), engine.run(integers))
    first = torch.from_numpy(integers).permute(0, 3, 1, 2)
    assert np.array_equal(engine.run(first.permute(0, 2, 3, 1)).numpy(), engine.run(integers))


def test_devices_agree(nibble, quantized, integers, engine):
    checked = nibble.Engine(quantized, device="check(cpu,reference)", threads=1)
    assert np.array_equal(checked.run(integers), engine.run(integers))


def test_several_threads_at_once(engine, integers):
    expected = engine.run(integers)
    wrong = []

    def work():
        for _ in range(50):
            if not np.array_equal(engine.run(integers), expected):
                wrong.append(1)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert not wrong


def test_submitted_batches(nibble, quantized, integers):
    engine = nibble.Engine(quantized)
    expected = engine.run(integers)
    futures = [engine.submit(integers[i : i + 5]) for i in range(0, 20, 5)]
    assert np.array_equal(np.concatenate([each.result(60) for each in futures]), expected)

    async def all_of_them():
        return await asyncio.gather(*(engine.submit(integers) for _ in range(8)))

    assert all(np.array_equal(each, expected) for each in asyncio.run(all_of_them()))
    out_of_range = np.full((8, 8, 1), -128, np.int8)
    with pytest.raises(nibble.Error, match=r"\[engine\] input: got -128, expected -127 to 127"):
        engine.submit(out_of_range).result(60)
    pending = [engine.submit(integers) for _ in range(50)]
    del engine  # waits for what is on its way
    assert all(each.done() for each in pending)


def test_what_it_tells(engine, quantized, quantized_path, pictures, command):
    assert engine.classes == [str(i) for i in range(10)]
    weights = {name: each.size for name, each in quantized.parameters.items() if name.startswith("fc") and "weight" in name}
    assert [engine.layers()[-1].macs] == list(weights.values())
    assert set(engine.values(pictures)) >= {"conv1", "fc"}
    assert np.array_equal(engine.values(pictures)["fc"], engine.run(pictures))
    found = engine.bench(seconds=0.05)
    assert f"answers {found['answers']}" in command("bench", quantized_path, "--seconds", "0.05")
    assert [row["name"] for row in found["steps"]] == [step.name for step in engine.layers()]


def test_lanes_and_unpacked_weights_are_the_commands(nibble, float_run, command, tmp_path):
    model = nibble.quantize_network(float_run.model, "digits", weights="int4", samples=64, progress=False)
    model.save(tmp_path / "q4.nib")
    flags = {None: [], False: ["--packed"], True: ["--unpacked"]}
    weights = {}
    for lanes, unpacked in ((2, None), (1, False), (1, True)):
        engine = nibble.Engine(model, threads=1, max_batch=4, lanes=lanes, unpacked=unpacked)
        found = engine.bench(batch=4, seconds=0.01)
        words = ("--batch", 4, "--threads", 1, "--seconds", 0.01, "--lanes", lanes, *flags[unpacked])
        said = json.loads(command("bench", tmp_path / "q4.nib", *words, "--json"))
        for key in ("answers", "weight_bytes", "arena_bytes", "batch", "threads"):
            assert found[key] == said[key], key
        assert found.keys() == said.keys() and found["throughput"]["lanes"] == lanes
        assert (found["throughput"]["from_host"] > 0) == (lanes > 1) == (said["throughput"]["from_host"] > 0)
        weights[unpacked] = engine.weight_bytes
    assert weights[True] > weights[False] and weights[None] == weights[found["isa"] == "amx"]  # there bytes are usual
    with pytest.raises(TypeError, match=r"\[engine\] unpacked: got an object of type int, expected True or False"):
        nibble.Engine(model, unpacked=1)
    for wrong in (0, 65):
        with pytest.raises(nibble.errors.UsageError, match=r"\[engine\] lanes: got \d+, expected 1 to 64"):
            nibble.Engine(model, lanes=wrong)


def test_mistakes_are_one_line(nibble, engine, float_run, quantized, tmp_path):
    with pytest.raises(nibble.Error, match=r"\[input\] x: shape: got \(3, 7\), expected \(8, 8, 1\), or several of them"):
        engine.run(np.zeros((3, 7), np.uint8))
    with pytest.raises(TypeError, match=r"\[run\] x: got an object of type list"):
        engine.run([1, 2])
    with pytest.raises(nibble.Error, match=r"no such|cannot"):
        nibble.Engine(tmp_path / "nowhere.nib")
    with pytest.raises(ValueError, match=r"\[integer network\] layers in floats: got conv1, conv2, fc"):
        nibble.Engine(float_run.model)
    with pytest.raises(nibble.Error, match="abacus"):
        nibble.Engine(quantized, device="abacus")


def test_files_are_read_as_the_command_does(nibble, engine, quantized_path, command, tmp_path):
    nibble.export_data("digits", out=tmp_path / "digits")
    folder, one = tmp_path / "digits" / "test" / "3", sorted((tmp_path / "digits" / "test" / "4").iterdir())[0]
    array = np.random.default_rng(4).normal(0, 4, (3, 8, 8, 1)).astype(np.float32)
    np.save(tmp_path / "three.npy", array)
    given = [folder, str(one), tmp_path / "three.npy"]
    names, x = engine.read(given)
    assert len(names) == len(x) == len(list(folder.iterdir())) + 4 and x.dtype == engine.inputs[0].dtype
    assert names[-4:] == [str(one), *(f"{tmp_path / 'three.npy'}[{i}]" for i in range(3))]
    command("run", quantized_path, "--input", *given, "--output", tmp_path / "out.npy")
    assert np.array_equal(engine.run(x), np.load(tmp_path / "out.npy"))
    assert np.array_equal(engine.run(x[-3:]), engine.run(array))
    alone = engine.read(one)
    assert alone[0] == [str(one)] and np.array_equal(alone[1], x[-4:-3])
    sorted(folder.iterdir())[0].write_bytes(b"no picture")
    with pytest.raises(nibble.errors.InputError) as refused:
        engine.read(folder)
    assert "\n" not in str(refused.value)
    assert len(engine.read(folder, skip_broken=True)[0]) == len(names) - 5
    for wrong in (3, [3], b"x"):
        with pytest.raises(TypeError, match=r"\[read\] paths: got an object of type \w+, expected a path"):
            engine.read(wrong)
    assert engine.read([])[1].shape == (0, 8, 8, 1)
