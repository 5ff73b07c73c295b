# SPDX-License-Identifier: Apache-2.0
"""Nibble among others: loaders of data, bars, pools of workers, threads of Python, memory that is not copied."""

import multiprocessing
import sys
import threading
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy as np
import pytest

SWEEP = {"data": "digits", "epochs": 1, "threads": 1}


def test_data_loaders_train(nibble, tmp_path):
    torch = pytest.importorskip("torch")
    digits = nibble.dataset("digits")
    x, y = (torch.from_numpy(digits[name]) for name in ("x_train", "y_train"))
    loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(x, y), batch_size=100)
    runs = [
        nibble.train("mlp-64-32-10", data=data, arith="int8", epochs=1, out=tmp_path / str(i), progress=False)
        for i, data in enumerate((loader, (x, y)))
    ]
    assert runs[0].summary["weights_hash"] == runs[1].summary["weights_hash"]


def test_the_installed_tqdm_draws(nibble, tmp_path, capsys):
    pytest.importorskip("tqdm")
    nibble.train("mlp-64-32-10", data="digits", epochs=2, out=tmp_path / "run")
    assert "train" in (said := capsys.readouterr().err) and "0/2" in said


def check_sweep(nibble, folder, workers):
    found = nibble.sweep("mlp-64-32-10", ["e4m3"], out=folder / "a", map=workers, **SWEEP)
    expected = nibble.sweep("mlp-64-32-10", ["e4m3"], out=folder / "b", **SWEEP)
    assert found["top1"] == expected["top1"] and found["format"] == ["fp32", "e4m3"]
    assert all(Path(run).is_relative_to(folder / "a") for run in found["run"])


def test_processes_share_a_sweep(nibble, tmp_path):
    with ProcessPoolExecutor(2, multiprocessing.get_context("spawn")) as pool:
        check_sweep(nibble, tmp_path, pool.map)


def test_joblib_shares_a_sweep(nibble, tmp_path):
    joblib = pytest.importorskip("joblib")
    check_sweep(nibble, tmp_path, lambda work, jobs: joblib.Parallel(n_jobs=2)(joblib.delayed(work)(job) for job in jobs))


def goes_on(work):
    """Whether another thread of Python gets its turn while work is done: nobody takes it from a thread that keeps it."""
    begins, ended, saw = threading.Event(), [], []

    def other():
        begins.set()
        work()
        ended.append(True)

    thread = threading.Thread(target=other)
    interval = sys.getswitchinterval()
    sys.setswitchinterval(100)
    try:
        thread.start()
        begins.wait()
        saw.append(not ended)
    finally:
        sys.setswitchinterval(interval)
        thread.join()
    return saw[0]


def test_a_thread_that_keeps_its_turn_is_noticed():
    values = list(range(3_000_000))
    assert not goes_on(lambda: sum(values))


@pytest.mark.parametrize("name", ["quantize", "encode", "decode", "stats", "matmul", "run", "answers", "evaluate", "bench"])
def test_pythons_lock_is_free_while_nibble_works(nibble, quantized, name):
    x = np.random.default_rng(0).normal(size=(1024, 2048)).astype(np.float32)
    codes = nibble.encode(x, "mxfp4")
    engine = nibble.Engine(quantized, threads=1, max_batch=64)
    pictures = np.zeros((5000, *engine.inputs[0].shape), engine.inputs[0].dtype)
    work = {
        "quantize": lambda: nibble.quantize(x, "posit(8,1)"),
        "encode": lambda: nibble.encode(x, "mxfp4"),
        "decode": lambda: codes.decode(),
        "stats": lambda: nibble.stats(x, "e4m3"),
        "matmul": lambda: nibble.matmul(x[:64], x[:64].T, accumulator="fp16"),
        "run": lambda: engine.run(pictures),
        "answers": lambda: engine.answers(pictures),
        "evaluate": lambda: nibble.evaluate(quantized, "digits"),
        "bench": lambda: engine.bench(seconds=0.05),
    }[name]
    assert any(goes_on(work) for _ in range(20))  # on a busy machine work may end before another thread is woken


def peak_of(work):
    """Bytes by which the memory of this process grows at most while work is done."""
    status = lambda name: next(
        1024 * int(line.split()[1]) for line in Path("/proc/self/status").read_text().splitlines() if line.startswith(name)
    )
    try:
        Path("/proc/self/clear_refs").write_text("5")  # the peak begins anew
    except OSError:
        pytest.skip("the system does not forget a peak")
    before = status("VmRSS")
    work()
    return status("VmHWM") - before


def test_dense_examples_are_not_copied(nibble, quantized):
    engine = nibble.Engine(quantized, max_batch=64)
    info = engine.inputs[0]
    x = np.zeros((200_000, *info.shape), info.dtype)
    out = np.zeros((len(x), *engine.outputs[0].shape), engine.outputs[0].dtype)
    x.fill(1)
    engine.run(x, out)
    assert peak_of(lambda: engine.run(x, out)) < x.nbytes / 4
    strided = np.zeros((*x.shape[:-1], 2), info.dtype)[..., :1]  # has to be copied, which the same measure sees
    strided.fill(1)
    assert peak_of(lambda: engine.run(strided, out)) > x.nbytes / 2


def test_memory_is_shared_with_torch(nibble, quantized):
    torch = pytest.importorskip("torch")
    x = torch.randn(1000)
    kept = x.data_ptr()
    assert nibble.quantize(x, "e4m3", out=x) is x and x.data_ptr() == kept
    engine = nibble.Engine(quantized)
    out = torch.empty(3, 10, dtype=getattr(torch, engine.outputs[0].dtype))
    pictures = torch.zeros(3, *engine.inputs[0].shape, dtype=getattr(torch, engine.inputs[0].dtype))
    assert engine.run(pictures, out) is out and torch.equal(out, engine.run(pictures))
