# SPDX-License-Identifier: Apache-2.0
"""The examples run: a few steps each, on pictures of noise."""

import sys
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "examples"))


def noise(count, *shape):
    return torch.randn(count, *shape), torch.randint(0, 10, (count,))


def test_train_cifar10():
    import train_cifar10 as example

    pictures = noise(32, 3, 32, 32)
    rows = example.train(True, pictures, pictures, steps=5, batch=4, seed=0)
    assert [row[0] for row in rows] == [1, 2, 3, 4, 5] and all(np.isfinite(row[1]) for row in rows)
    assert rows == example.train(True, pictures, pictures, steps=5, batch=4, seed=0)  # the seed decides everything


def test_train_offload():
    import nibble.torch as nt
    import train_offload as example

    rules = lambda p: torch.optim.SGD(p, 0.01), lambda o, steps: torch.optim.lr_scheduler.StepLR(o, steps, 0.1)
    cases = (example.mnist_network, (1, 28, 28), False), (example.resnet20, (3, 32, 32), True)
    for network, shape, augments in cases:
        model, pictures = nt.offload(network(), "cpu", wire="int8"), noise(16, *shape)
        rows = list(example.train(model, pictures, pictures, 1, 8, *rules, augments))
        assert rows[0][0] == 1 and np.isfinite(rows[0][1]) and 0 <= rows[0][2] <= 1
        assert nt.traffic(model).bytes > 0


def test_train_offload_goes_on(tmp_path):
    import nibble.torch as nt
    import train_offload as example

    rules = lambda p: torch.optim.SGD(p, 0.05, momentum=0.9), lambda o, steps: torch.optim.lr_scheduler.StepLR(o, steps, 0.5)
    pictures = noise(16, 1, 28, 28)

    def trained(epochs, checkpoint=None):
        torch.manual_seed(0)
        model = nt.offload(example.mnist_network(), "cpu", wire="int8")
        rows = list(example.train(model, pictures, pictures, epochs, 8, *rules, True, checkpoint=checkpoint))
        return [row[0] for row in rows], model.state_dict()

    _, whole = trained(2)
    assert trained(1, tmp_path / "run.pt")[0] == [1]
    epochs, resumed = trained(2, tmp_path / "run.pt")
    assert epochs == [2] and all(torch.equal(whole[name], resumed[name]) for name in whole)


def test_train_swalp():
    import train_swalp as example

    pictures = noise(24, 3, 32, 32)
    networks = {"resnet20": lambda: example.resnet20(4), "vgg": lambda: example.vgg(4)}
    for arithmetic, network in (("bfp", networks["vgg"]), ("fixed", networks["resnet20"]), ("float", networks["vgg"])):
        rows = list(example.train(network(), arithmetic, pictures, pictures, epochs=4, batch=12))
        assert [row["epoch"] for row in rows] == [1, 2, 3, 4, "averaged"]
        assert all(np.isfinite(row["loss"]) for row in rows[:-1]) and all(0 <= row["accuracy"] <= 1 for row in rows)
    assert example.weights_in_fixed_point(example.resnet20()) == "fixed(8,7)"
    assert example.weights_in_fixed_point(example.vgg()) == "fixed(8,10)"
    average, layer = example.Average(), torch.nn.Linear(1, 1)
    for value in (1.0, 2.0, 6.0):
        torch.nn.init.constant_(layer.weight, value)
        average.add(layer)
    assert average.means[0].item() == 3
    x = torch.arange(2 * 3 * 32 * 32.0).reshape(2, 3, 32, 32)
    shifted = example.augmented(x)
    assert shifted.shape == x.shape and shifted.is_contiguous() and set(shifted.flatten().tolist()) <= set(x.flatten().tolist())


def test_train_swalp_goes_on_after_a_checkpoint(tmp_path):
    import train_swalp as example

    pictures = noise(16, 3, 32, 32)

    def rows(path, count):
        torch.manual_seed(0)
        course = example.train(example.vgg(2), "fixed", pictures, pictures, 4, 8, checkpoint=path)
        return [{name: value for name, value in next(course).items() if name != "seconds"} for _ in range(count)]

    whole = rows(None, 4)
    assert rows(tmp_path / "course.pt", 3) == whole[:3]
    assert rows(tmp_path / "course.pt", 1) == whole[3:]


def test_posit_study(capsys):
    import posit_study as example

    pictures = noise(32, 1, 28, 28)
    loss, right = example.train(example.qtorch.Posit(8, 2), example.qtorch.Posit(16, 2), pictures, pictures, 3, batch=8)
    assert np.isfinite(loss) and 0 <= right <= 1
    example.print_errors(range(-2, 3))
    assert "posit(8,1)" in capsys.readouterr().out


def test_formats_overview(tmp_path, monkeypatch, capsys):
    pytest.importorskip("matplotlib")
    import formats_overview as example

    monkeypatch.setattr(sys, "argv", ["formats_overview.py", str(tmp_path / "formats.png")])
    example.main()
    assert (tmp_path / "formats.png").stat().st_size > 10000
    assert "posit(8,1)                  8     255" in capsys.readouterr().out


def test_idx_and_cifar_files_are_read(tmp_path):
    import datasets

    images, labels = np.arange(2 * 28 * 28, dtype=np.uint8).reshape(2, 28, 28), np.array([3, 7], np.uint8)
    (tmp_path / "train-images-idx3-ubyte").write_bytes(
        b"\0\0\x08\x03" + np.array([2, 28, 28], ">i4").tobytes() + images.tobytes()
    )
    (tmp_path / "train-labels-idx1-ubyte").write_bytes(
        b"\0\0\x08\x01" + np.array([2], ">i4").tobytes() + labels.tobytes()
    )
    pictures, digits = datasets.mnist(tmp_path, "train")
    assert pictures.shape == (2, 1, 28, 28) and digits.tolist() == [3, 7] and pictures.min() == -0.5
    record = np.concatenate([[5], np.zeros(3072)]).astype(np.uint8)
    (tmp_path / "test_batch.bin").write_bytes(record.tobytes())
    pictures, classes = datasets.cifar10(tmp_path, ["test_batch.bin"])
    assert pictures.shape == (1, 3, 32, 32) and classes.tolist() == [5]
    with pytest.raises(SystemExit, match="no data_batch_1.bin"):
        datasets.cifar10(tmp_path, ["data_batch_1.bin"])
