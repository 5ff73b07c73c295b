#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The emitted MLP and ConvNet of MNIST on all 10,000 test images: every logit must be the engine's.

usage: mnist.py WORK [--json]      NIBBLE_BIN names the command, NIBBLE_DATA the folder that holds mnist/

Trains and quantizes both networks (minutes; models that WORK has are taken), emits them, makes their shared
libraries with their own Makefile, calls them by ctypes and counts. Where there is a compiler for Cortex-M4 the
ConvNet's bytes must stay within LIMITS. Needs numpy.
"""

import argparse
import ctypes
import gzip
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np

from costs import arena_bytes
from measure import TARGET, measure
from run_target import missing_programs, prefix_of

NETWORKS = {"mnist-mlp-fp32": 97.4, "mnist-convnet-fp32": 98.6}  # per cent that must be right
LIMITS = {"arena": 4096, "code": 6144, "stack": 511}  # bytes of the ConvNet on a Cortex-M4, -Os
POINTER = ctypes.c_void_p


def nibble(*arguments):
    subprocess.run([os.environ["NIBBLE_BIN"], *map(str, arguments)], check=True, stdout=subprocess.DEVNULL)


def read_idx(name, header):
    path = Path(os.environ["NIBBLE_DATA"]) / "mnist" / name
    with gzip.open(path.with_name(f"{name}.gz")) if not path.exists() else path.open("rb") as file:
        return np.frombuffer(file.read(), np.uint8, offset=header)


def integer_model(work, recipe):
    model = work / f"{recipe}.nib"
    if not model.exists():
        if not (work / recipe).exists():
            nibble("train", recipe, "--quiet", "--out", work / recipe)
        nibble("quantize", work / recipe / "model.nib", "-o", model, "--calib", "mnist")
    return model


def engine_answers(work, model, images):
    """The integers that enter, and the last ones of the network."""
    np.save(work / "images.npy", images)
    layers = work / f"{model.stem}-layers"
    nibble("run", model, "--input", work / "images.npy", "--output", work / "answers.npy", "--layers", layers)
    return np.load(layers / "input.npy"), np.load(work / "answers.npy")


def element_type(folder, prefix, name):
    """The numpy type of PREFIX_input_t or PREFIX_output_t."""
    header = (folder / f"{prefix}.h").read_text()
    return np.dtype(re.search(rf"typedef (\w+)_t {prefix}_{name}_t;", header)[1])


def emitted_answers(folder, inputs, count):
    prefix = prefix_of(folder)
    subprocess.run(["make", "--quiet", "-C", folder, "lib"], check=True)
    library = ctypes.CDLL(str(next(folder.rglob("*.so")).resolve()))
    run = getattr(library, f"{prefix}_run")
    run.argtypes = [POINTER, POINTER, POINTER]
    arena = np.zeros(1 << 17, np.uint64)
    outputs = np.zeros((len(inputs), count), element_type(folder, prefix, "output"))
    for one, output in zip(np.ascontiguousarray(inputs, element_type(folder, prefix, "input")), outputs):
        if run(arena.ctypes.data, one.ctypes.data, output.ctypes.data) != 0:
            sys.exit(f"mnist.py: {prefix}_run failed")
    return outputs


def bytes_beyond_limits(folder):
    if missing_programs(TARGET):
        return []
    found = {**measure(folder, "-Os"), "arena": arena_bytes(folder)}
    return [f"{name} {found[name]}, expected at most {most}" for name, most in LIMITS.items() if found[name] > most]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("work", type=Path)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    if not (Path(os.environ.get("NIBBLE_DATA", ".")) / "mnist").is_dir():
        print("mnist is not here: NIBBLE_DATA must name a folder that holds it")
        return 77
    options.work.mkdir(parents=True, exist_ok=True)
    images = read_idx("t10k-images-idx3-ubyte", 16).reshape(-1, 28, 28, 1)
    labels = read_idx("t10k-labels-idx1-ubyte", 8)
    rows = []
    for recipe, least in NETWORKS.items():
        model = integer_model(options.work, recipe)
        folder = options.work / f"{recipe}-c"
        nibble("emit", model, "-o", folder, "--force")
        inputs, expected = engine_answers(options.work, model, images)
        found = emitted_answers(folder, inputs, expected.shape[1])
        rows.append({"network": recipe, "images": len(images), "different": int((found != expected).any(axis=1).sum()),
                     "top1": 100 * float((found.argmax(axis=1) == labels).mean()), "least": least})
    if options.json:
        print(json.dumps(rows))
    else:
        for row in rows:
            print(f"{row['network']}: logits of {row['different']} of {row['images']} images differ from the engine's, "
                  f"{row['top1']:.2f} % right")
    beyond = bytes_beyond_limits(options.work / "mnist-convnet-fp32-c")
    print(*beyond, sep="\n", end="\n" if beyond else "", file=sys.stderr)
    is_right = all(row["different"] == 0 and row["top1"] >= row["least"] for row in rows)
    return 0 if is_right and not beyond else 1


if __name__ == "__main__":
    sys.exit(main())
