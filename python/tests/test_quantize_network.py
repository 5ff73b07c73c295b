# SPDX-License-Identifier: Apache-2.0
"""Quantization from Python gives the command's bits, from files, arrays and modules."""

import copy
import pickle
from importlib.util import find_spec

import numpy as np
import pytest


def test_the_file_is_the_commands(nibble, float_run, command, tmp_path):
    source = float_run.folder / "model.nib"
    command("quantize", source, "-o", tmp_path / "a.nib", "--calib", "digits", "--weights", "int4", "--samples", "256")
    model = nibble.quantize_network(source, "digits", weights="int4", samples=256, progress=False)
    model.save(tmp_path / "b.nib")
    assert (tmp_path / "a.nib").read_bytes() == (tmp_path / "b.nib").read_bytes()


def test_recipes_and_options_are_the_commands(nibble, float_run, command, tmp_path):
    source = float_run.folder / "model.nib"
    options = ["--recipe", "int4-weights", "--method", "mse", "--samples", "64"]
    command("quantize", source, "-o", tmp_path / "a.nib", "--calib", "digits", *options)
    model = nibble.quantize_network(source, "digits", recipe="int4-weights", method="mse", samples=64, progress=False)
    assert model.weights_hash == nibble.load(tmp_path / "a.nib").weights_hash


def test_what_was_lost_is_data(quantized):
    assert [row["name"] for row in quantized.errors][:1] == ["conv1"]
    assert all(row["sqnr_db"] > 10 for row in quantized.errors)
    assert "<table>" in quantized._repr_html_() and "conv1" in quantized._repr_html_()
    assert quantized.fake.is_float and not quantized.is_float


def test_arrays_calibrate_like_files(nibble, float_run, tmp_path):
    pictures = np.random.default_rng(5).integers(0, 17, (64, 8, 8, 1)).astype(np.uint8)
    labels = np.arange(64) % 10
    np.savez(tmp_path / "d.npz", images=pictures, labels=labels)
    source = float_run.folder / "model.nib"
    hashes = {
        nibble.quantize_network(source, data, progress=False).weights_hash
        for data in (tmp_path / "d.npz", pictures, (pictures, labels), [pictures[:40], pictures[40:]])
    }
    assert len(hashes) == 1


def endless(read):
    """Batches of digits without an end."""
    drawn = np.random.default_rng(6)
    while True:
        read.append((drawn.integers(0, 17, (40, 8, 8, 1)).astype(np.uint8), np.arange(40) % 10))
        yield read[-1]


def test_generators_are_read_as_far_as_they_are_used(nibble, float_run, monkeypatch, tmp_path):
    for options, samples in (({}, 1024), ({"samples": 100}, 100), ({"recipe": "int4-weights", "samples": 50}, 50)):
        read = []
        model = nibble.quantize_network(float_run.model, endless(read), progress=False, **options)
        assert len(read) == -(-samples // 40) and model.calibrated == samples
        first = np.concatenate([x for x, _ in read])[:samples]
        assert nibble.quantize_network(float_run.model, first, progress=False, **options).weights_hash == model.weights_hash
    other = {"data": "digits", "finetune": 1, "samples": 100, "progress": False}
    assert nibble.quantize_network(float_run.model, endless([]), **other).calibrated == 100
    monkeypatch.setattr("nibble.gathering.most_bytes", lambda: 1 << 20)
    quantize = lambda **options: nibble.quantize_network(float_run.model, endless([]), progress=False, **options)
    train = lambda: nibble.train("mlp-64-32-10", data=endless([]), out=tmp_path / "run", progress=False)
    for call in (lambda: quantize(finetune=1), lambda: quantize(max_loss=1), lambda: quantize(recipe="nvidia-int4"), train):
        with pytest.raises(nibble.errors.LimitError, match=r"\[data\] batches: got more than half of this machine's memory"):
            call()


def quantized_as_its_file(nibble, torch, module, pictures, path):
    """The model of a module, which has the bits that its ONNX file gives."""
    model = nibble.quantize_network(module, pictures, progress=False)
    if hasattr(torch, "export") and find_spec("onnxscript"):
        program = torch.export.export(module.eval(), (pictures[:1],))
        assert nibble.quantize_network(program, pictures, progress=False).weights_hash == model.weights_hash
        torch.onnx.export(program, (), str(path), dynamo=True, external_data=False)
    else:
        torch.onnx.export(module.eval(), (pictures[:1],), str(path), opset_version=13)
    assert nibble.quantize_network(path, pictures.numpy(), progress=False).weights_hash == model.weights_hash
    return model


def test_torchvisions_networks(nibble, tmp_path):
    torch = pytest.importorskip("torch")
    models = pytest.importorskip("torchvision").models
    torch.manual_seed(0)
    for make in (models.resnet18, models.mobilenet_v2):
        model = quantized_as_its_file(nibble, torch, make(weights=None).eval(), torch.rand(4, 3, 64, 64), tmp_path / "m.onnx")
        assert nibble.Engine(model).answers(np.zeros((2, 3, 64, 64), np.float32)).shape == (2, 1000)


def test_modules(nibble, tmp_path):
    torch = pytest.importorskip("torch")
    pytest.importorskip("torch.onnx")
    torch.manual_seed(0)
    module = torch.nn.Sequential(
        torch.nn.Conv2d(3, 8, 3, padding=1),
        torch.nn.BatchNorm2d(8),
        torch.nn.ReLU(),
        torch.nn.MaxPool2d(2),
        torch.nn.Flatten(),
        torch.nn.Linear(8 * 4 * 4, 10),
    )
    pictures = torch.rand(32, 3, 8, 8)
    nibble.quantize_network(module, pictures, progress=False)
    assert module.training  # as it was
    model = quantized_as_its_file(nibble, torch, module, pictures, tmp_path / "m.onnx")
    with torch.no_grad():
        expected = module(pictures).argmax(1).numpy()
    answers = nibble.Engine(model).answers(pictures.numpy())
    assert (answers.argmax(1) == expected).mean() > 0.9


def small_module(torch):
    torch.manual_seed(0)
    layers = torch.nn.Conv2d(3, 4, 3, padding=1), torch.nn.ReLU(), torch.nn.Flatten(), torch.nn.Linear(4 * 6 * 6, 5)
    return torch.nn.Sequential(*layers)


def test_each_part_of_a_module_stays_in_its_mode(nibble):
    torch = pytest.importorskip("torch")
    pytest.importorskip("torch.onnx")
    module, x = torch.nn.Sequential(torch.nn.BatchNorm2d(3), small_module(torch)), torch.rand(8, 3, 6, 6)
    module[0].eval()  # frozen
    modes = [each.training for each in module.modules()]
    assert modes[:3] == [True, False, True]
    nibble.quantize_network(module, x, progress=False)
    assert [each.training for each in module.modules()] == modes
    with pytest.raises(RuntimeError):  # torch's own, of an example that does not fit
        nibble.quantize_network(module, x, example=torch.rand(1, 2, 6, 6), progress=False)
    assert [each.training for each in module.modules()] == modes


@pytest.mark.parametrize("floats", ["float64", "float16", "bfloat16"])
def test_modules_of_other_floats_are_those_of_fp32(nibble, floats):
    torch = pytest.importorskip("torch")
    pytest.importorskip("torch.onnx")
    dtype, x = getattr(torch, floats), torch.rand(16, 3, 6, 6)
    module = torch.nn.Sequential(torch.nn.BatchNorm2d(3), small_module(torch)).to(dtype)
    expected = nibble.quantize_network(copy.deepcopy(module).float(), x, progress=False).weights_hash
    for example in (None, x[:1].to(dtype), x[:1]):
        assert nibble.quantize_network(module, x, example=example, progress=False).weights_hash == expected
    assert {each.dtype for each in module.parameters()} == {dtype}


def test_modules_take_every_form_of_calibration(nibble):
    torch = pytest.importorskip("torch")
    pytest.importorskip("torch.onnx")
    module, x, y = small_module(torch), torch.rand(24, 3, 6, 6), torch.arange(24) % 5
    halves = [(x[:16], y[:16]), (x[16:], y[16:])]
    from torch.utils.data import DataLoader, TensorDataset

    expected = nibble.quantize_network(module, x, progress=False).weights_hash
    forms = {
        "pair": (x, y),
        "images": {"images": x},
        "x_train": {"x_train": x, "y_train": y, "x_test": x[:8], "y_test": y[:8]},
        "train_images": {"train_images": x, "train_labels": y},
        "splits": ((x, y), (x[:8], y[:8])),
        "batches": halves,
        "inputs": [x[:16], x[16:]],
        "generator": (batch for batch in halves),
        "loader": DataLoader(TensorDataset(x, y), batch_size=10),
        "loader of inputs": DataLoader(TensorDataset(x), batch_size=10),
        "loaders": (DataLoader(TensorDataset(x, y), batch_size=10), DataLoader(TensorDataset(x[:8], y[:8]))),
    }
    found = {name: nibble.quantize_network(module, data, progress=False).weights_hash for name, data in forms.items()}
    assert found == dict.fromkeys(forms, expected)
    with pytest.raises(nibble.errors.UsageError, match=r"\[quantize\] calibration: got arrays x, y, expected one of images"):
        nibble.quantize_network(module, {"x": x, "y": y}, progress=False)
    with pytest.raises(nibble.errors.UsageError, match=r"\[quantize\] example: got none beside a data set's name"):
        nibble.quantize_network(module, "digits", progress=False)


def test_bytes_enter_a_module_as_it_expects_them(nibble, tmp_path):
    torch = pytest.importorskip("torch")
    pytest.importorskip("torch.onnx")
    module = small_module(torch)
    how = {"mean": [0.485, 0.456, 0.406], "deviation": [0.229, 0.224, 0.225], "progress": False}
    mean, deviation = (np.array(how[name]).reshape(3, 1, 1) for name in ("mean", "deviation"))
    pictures = np.random.default_rng(7).integers(0, 256, (40, 3, 6, 6)).astype(np.uint8)
    floats = ((pictures / 255 - mean) / deviation).astype(np.float32)
    with torch.no_grad():
        expected = module(torch.from_numpy(floats)).numpy()
    torch.onnx.export(module.eval(), (torch.from_numpy(floats[:1]),), str(tmp_path / "m.onnx"))
    near = []
    for source in (module, tmp_path / "m.onnx"):
        for calibration in (pictures, floats):
            model = nibble.quantize_network(source, calibration, **how)
            model.save(tmp_path / "m.nib")
            for engine in (nibble.Engine(model), nibble.Engine(tmp_path / "m.nib")):
                assert np.array_equal(engine.run(pictures), engine.run(floats))
                near.append(abs(engine.answers(pictures) - expected).max())
    plain = nibble.Engine(nibble.quantize_network(module, floats, progress=False))
    assert max(near) < 0.02 < 0.2 < abs(plain.answers(pictures) - expected).max()


def test_means_that_cannot_be(nibble, float_run):
    torch = pytest.importorskip("torch")
    pytest.importorskip("torch.onnx")
    module, x = small_module(torch), torch.rand(8, 3, 6, 6)
    quantize = lambda model, **how: nibble.quantize_network(model, x, progress=False, **how)
    with pytest.raises(TypeError, match=r"\[quantize\] mean: got an object of type float, expected numbers"):
        quantize(module, mean=0.5)
    with pytest.raises(nibble.errors.InputError, match="mean: got 2 numbers, expected none, or one for each of 3 channels"):
        quantize(module, mean=[0.5, 0.5])
    with pytest.raises(nibble.errors.InputError, match="deviation: got 0, expected above 0"):
        quantize(module, deviation=[1, 1, 0])
    for model in (float_run.model, float_run.folder / "model.nib"):
        with pytest.raises(nibble.errors.UsageError, match=r"\[quantize\] mean, deviation: got a model that has its own"):
            quantize(model, mean=[0.5])


def test_the_example_lies_where_the_module_does(nibble):
    torch = pytest.importorskip("torch")
    from nibble import exporting

    images = np.arange(12, dtype=np.uint8).reshape(2, 6)[:, ::-1]
    for device in ("cpu", "meta"):
        norm = torch.nn.BatchNorm1d(6, affine=False, device=device)  # buffers alone
        for module in (torch.nn.Linear(6, 2, device=device), norm):
            example = exporting.example_of(module, {"images": images})
            assert (example.device.type, example.dtype, example.shape) == (device, torch.float32, (1, 6))
    assert exporting.example_of(torch.nn.ReLU(), {"images": images}).tolist() == [[5, 4, 3, 2, 1, 0]]


@pytest.mark.parametrize("arith", ["quantized", "int8"])
def test_models_of_integers_as_modules(arith, nibble, quantized, pictures, tmp_path):
    torch = pytest.importorskip("torch")
    from nibble.torch import EngineModule

    model = quantized
    if arith == "int8":
        model = nibble.train("convnet-8x8", data="digits", arith="int8", epochs=1, out=tmp_path / "run", progress=False).model
    model.save(tmp_path / "model.nib")
    module = EngineModule(model).eval()
    x = torch.from_numpy(pictures)
    expected = nibble.Engine(model).answers(pictures)
    assert torch.equal(module(x), torch.from_numpy(expected)) and len(np.unique(expected)) > 10
    assert list(module.parameters()) == [] and "integers" in repr(module)
    for other in (EngineModule(tmp_path / "model.nib"), copy.deepcopy(module), pickle.loads(pickle.dumps(module))):
        assert torch.equal(torch.nn.Sequential(other, torch.nn.Softmax(1))(x), module(x).softmax(1))


def test_mistakes_are_the_commands(nibble, float_run, quantized):
    with pytest.raises(nibble.Error, match=r"\[quantize\] --weights: got 'int9', expected int2 to int8"):
        nibble.quantize_network(float_run.model, "digits", weights="int9", progress=False)
    with pytest.raises(nibble.Error, match=r"\[quantize\] option: got 'wieghts', expected one that 'nibble quantize --help'"):
        nibble.quantize_network(float_run.model, "digits", wieghts="int4", progress=False)
    with pytest.raises(nibble.errors.InputError, match="got a model of integers, expected floats"):
        nibble.quantize_network(quantized, "digits", progress=False)
