# SPDX-License-Identifier: Apache-2.0
"""device="cuda" in the functions that train, quantize and serve networks: the CPU's integers, computed on the GPU."""

import json

import pytest

torch = pytest.importorskip("torch")

import nibble as package

pytestmark = pytest.mark.skipif(
    not (torch.cuda.is_available() and package.has_cuda), reason="needs a GPU and a build with CUDA"
)


def test_training_in_integers(nibble, tmp_path):
    how = {"data": "digits", "arith": "int8", "epochs": 2, "threads": 1, "progress": False}
    expected = nibble.train("convnet-8x8", out=tmp_path / "here", **how).model.weights_hash
    trace = tmp_path / "step.json"
    run = nibble.train("convnet-8x8", out=tmp_path / "there", device="cuda", profile=trace, **how)
    assert run.model.weights_hash == expected
    events = json.loads(trace.read_text())["traceEvents"]
    assert {each["args"]["name"] for each in events if each["ph"] == "M"} == {"host", "GPU"}
    run = nibble.train("convnet-8x8", out=tmp_path / "both", device="cuda", ranks=2, **how)
    assert run.model.weights_hash == expected


def test_training_in_floats(nibble, tmp_path):
    how = {"data": "digits", "epochs": 3, "progress": False}
    here, there = (nibble.train("convnet-8x8", device=each, out=tmp_path / each, **how) for each in ("cpu", "cuda"))
    assert there.is_complete and there.evaluate("digits").top1 == pytest.approx(here.evaluate("digits").top1, abs=0.05)


@pytest.mark.parametrize("bits", [{"weights": "int4"}, {"max_loss": 5}], ids=str)
def test_quantization(bits, nibble, float_run):
    how = {"samples": 256, "progress": False, **bits}
    here, there = (nibble.quantize_network(float_run.model, "digits", device=each, **how) for each in ("cpu", "cuda"))
    assert there.weights_hash == here.weights_hash
    assert there.evaluate("digits", device="cuda").correct == here.evaluate("digits").correct


def test_loadgen(nibble, quantized, has_loadgen, tmp_path):
    if not has_loadgen:
        pytest.skip("this build has no LoadGen")
    how = {"data": "digits", "mode": "accuracy", "threads": 1}
    runs = [nibble.loadgen(quantized, out=tmp_path / device, device=device, **how) for device in ("cpu", "cuda")]
    assert [run.settings["device"] for run in runs] == ["cpu", "cuda"]
    found = nibble.mlperf.score(runs[1], "digits", oracle=runs[0])
    assert (found.answered, found.agreed) == (360, 360)


def test_a_gpu_that_is_not_there(nibble, quantized, tmp_path):
    device = f"cuda:{torch.cuda.device_count()}"
    calls = (
        lambda: nibble.train("convnet-8x8", data="digits", arith="int8", epochs=1, device=device, out=tmp_path / "run"),
        lambda: nibble.loadgen(quantized, "digits", device=device, out=tmp_path / "loadgen"),
    )
    for call in calls:
        with pytest.raises(nibble.errors.DeviceError):
            call()
