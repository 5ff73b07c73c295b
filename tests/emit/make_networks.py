#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Trains, quantizes and emits the networks that the targets run.

usage: make_networks.py OUT [--full]      NIBBLE_BIN and RANDOM_NETWORKS name the programs

OUT/models holds the models, OUT/NAME what is emitted of them: of the bundled digits, in seconds; --full adds
networks of MNIST, and ResNet-8 and ResNet-20 for CIFAR-10, where the data is here. They learn for moments: what they answer does
not matter here, only that every processor answers the same. OUT/random-SEED are networks by chance.
"""

import argparse
import os
import shutil
import subprocess
import sys
from pathlib import Path

NORMALIZED = """name = "normalized-8x8"
input = [8, 8, 1]
layers = [
  { op = "conv2d", name = "conv1", channels = 12, kernel = 3, padding = 1 },
  { op = "batch_norm", name = "norm1" },
  { op = "relu", name = "stem" },
  { op = "conv2d", name = "conv2", channels = 12, kernel = 3, padding = 1 },
  { op = "batch_norm", name = "norm2" },
  { op = "add", from = ["norm2", "stem"] },
  { op = "relu" },
  { op = "max_pool", kernel = 2 },
  { op = "flatten" },
  { op = "linear", name = "fc", features = 10, bias = true },
  { op = "softmax_cross_entropy" },
]
"""


def run(program, *arguments):
    process = subprocess.run([program, *map(str, arguments)], capture_output=True, text=True)
    if process.returncode != 0:
        words = [Path(program).name, *map(str, arguments)]
        sys.exit(f"make_networks.py: {' '.join(words)}: {process.stderr.strip()}")
    return process.stdout


def nibble(*arguments):
    return run(os.environ["NIBBLE_BIN"], *arguments)


def trained(models, recipe, *more):
    run = models / "-".join([Path(recipe).stem, *(str(word).strip("-") for word in more)])
    nibble("train", recipe, *more, "--quiet", "--out", run)
    return run / "model.nib"


def quantized(models, model, data, weights):
    made = models / f"{model.parent.name}-{weights}.nib"
    nibble("quantize", model, "-o", made, "--calib", data, "--weights", weights)
    return made


def digits(models):
    """(name, model, more options of emit)"""
    mlp = trained(models, "digits-mlp-fp32", "--epochs", 8)
    convnet = trained(models, "digits-convnet-fp32", "--epochs", 3)
    integers = trained(models, "digits-convnet-fp32", "--arith", "int8", "--epochs", 3)
    normalized = models / "normalized-8x8.toml"
    normalized.write_text(NORMALIZED)
    eight = quantized(models, convnet, "digits", "int8")
    yield "mlp-int8", quantized(models, mlp, "digits", "int8"), ()
    yield "convnet-int8", eight, ()
    yield "convnet-int8-dsp", eight, ("--target", "dsp")
    yield "convnet-int4", quantized(models, convnet, "digits", "int4"), ()
    yield "convnet-trained", integers, ()
    yield "normalized-trained", trained(models, normalized, "--data", "digits", "--arith", "int8", "--epochs", 2), ()
    yield "learning-dense", "mlp-64-32-10", ("--train", "--data", "digits", "--train-steps", 20)
    yield "learning-convnet", "convnet-8x8", ("--train", "--data", "digits", "--train-steps", 20)


def mnist(models):
    for name in ("mlp", "convnet"):
        model = trained(models, f"mnist-{name}-fp32", "--epochs", 1, "--val", 50000)
        yield f"mnist-{name}-int8", quantized(models, model, "mnist", "int8"), ()
    yield "learning-lenet", "lenet", ("--train", "--data", "mnist")  # a hundred steps of eight images


def resnets(models):
    model = trained(models, "cifar10-resnet8-fp32", "--epochs", 1, "--val", 46000, "--batch", 32, "--lr", 0.02,
                    "--schedule", "constant")
    eight = quantized(models, model, "cifar10", "int8")
    yield "resnet8-int8", eight, ()
    yield "resnet8-int8-dsp", eight, ("--target", "dsp")
    yield "resnet8-int4", quantized(models, model, "cifar10", "int4"), ()
    yield "resnet20-trained", trained(models, "resnet20", "--data", "cifar10", "--arith", "int8", "--epochs", 1, "--val", 48000,
                                      "--batch", 64), ()


def data_is_here(name):
    places = {line.split()[0]: line.split(maxsplit=5)[-1] for line in nibble("data", "list").splitlines()}
    return Path(places.get(name, "absent")).is_dir()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("--full", action="store_true")
    options = parser.parse_args()
    if not options.full:
        os.environ.setdefault("OMP_NUM_THREADS", "1")  # digits gain nothing from threads that wait for each other
    shutil.rmtree(options.out, ignore_errors=True)
    models = options.out / "models"
    models.mkdir(parents=True)
    networks = list(digits(models))
    for data, maker in {"mnist": mnist, "cifar10": resnets}.items() if options.full else ():
        if data_is_here(data):
            networks += maker(models)
        else:
            print(f"{data} is not here, and so its networks are not")
    for name, model, more in networks:
        nibble("emit", model, "-o", options.out / name, *more)
    run(os.environ["RANDOM_NETWORKS"], options.out, 0, 12 if options.full else 4)


if __name__ == "__main__":
    main()
