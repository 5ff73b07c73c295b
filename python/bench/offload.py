# SPDX-License-Identifier: Apache-2.0
"""What offloaded layers cost: a step of ResNet-20 beside the plain model's, and the bytes that cross.

    python offload.py [--device cpu] [--batch 32] [--turns 20] [--wires fp32 int8] [--check]
    python offload.py --layers [--device cuda]

Steps run in turns, so that both see the same machine. --check fails where the CPU as a back end costs more than 5 %
(the median of the ratios of neighbouring steps). --layers takes the layers of ResNet-20 one by one: milliseconds of
forward and backward pass, bytes, and how far values and gradients are from the CPU's, as a share of the largest
magnitude.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from pathlib import Path

import torch
from torch.nn import functional

import nibble.torch as nt

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "examples"))
from train_offload import resnet20  # noqa: E402


def stepper(model, x, y):
    optimizer = torch.optim.SGD(model.parameters(), 0.01)

    def step():
        start = time.perf_counter()
        optimizer.zero_grad()
        functional.cross_entropy(model(x), y).backward()
        optimizer.step()
        return time.perf_counter() - start

    return step


# Channels in and out, size, stride.
LAYERS = [(3, 16, 32, 1), (16, 16, 32, 1), (16, 32, 32, 2), (32, 32, 16, 1), (32, 64, 16, 2), (64, 64, 8, 1)]


def passes(layer, x, error):
    x = x.clone().requires_grad_()
    start = time.perf_counter()
    y = layer(x)
    between = time.perf_counter()
    y.backward(error)
    end = time.perf_counter()
    gradient, layer.weight.grad = layer.weight.grad, None
    return (between - start, end - between), (y.detach(), x.grad, gradient)


def print_layers(device: str, batch: int, turns: int) -> None:
    print(f"layers of ResNet-20, batch {batch}, medians of {turns}, products in fp32 on {device}")
    heads = ("forward ms", "backward ms", "MB", "y", "dx", "dw")
    print(f"{'in':>4}{'out':>4}{'size':>5}{'step':>5} {'wire':5}" + "".join(f"{head:>12}" for head in heads))
    for channels, features, size, stride in LAYERS:
        plain = torch.nn.Conv2d(channels, features, 3, stride, 1, bias=False)
        x = torch.randn(batch, channels, size, size)
        error = torch.randn(batch, features, size // stride, size // stride)
        _, expected = passes(plain, x, error)
        for wire in (None, "fp32", "fp16", "int8"):
            layer = plain if wire is None else nt.offload(plain, device, wire=wire, compute="fp32")
            found = [passes(layer, x, error) for _ in range(turns + 3)]
            times = [1e3 * statistics.median(one[0][i] for one in found[3:]) for i in range(2)]
            moved = 0.0 if wire is None else nt.traffic(layer).bytes / (turns + 3) / 1e6
            far = [float((a - b).abs().max() / b.abs().max()) for a, b in zip(found[-1][1], expected)]
            row = "".join(f"{value:12.3f}" for value in (*times, moved)) + "".join(f"{value:12.1e}" for value in far)
            print(f"{channels:4}{features:4}{size:5}{stride:5} {wire or 'plain':5}{row}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--turns", type=int, default=20)
    parser.add_argument("--wires", nargs="+", default=["fp32", "fp16", "int8"])
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--layers", action="store_true", help="one layer after the other")
    given = parser.parse_args()
    torch.manual_seed(0)
    if given.layers:
        print_layers(given.device, given.batch, given.turns)
        return
    x, y = torch.randn(given.batch, 3, 32, 32), torch.randint(0, 10, (given.batch,))
    models = {"plain": resnet20()}
    for wire in given.wires:
        models[wire] = nt.offload(models["plain"], given.device, wire=wire)
    steps = {name: stepper(model, x, y) for name, model in models.items()}
    for step in steps.values():
        step()
    times = {name: [] for name in steps}
    for _ in range(given.turns):
        for name, step in steps.items():
            times[name].append(step())
    print(f"ResNet-20, batch {given.batch}, {given.turns} steps in turns, products on {given.device}")
    print(f"{'wire':8}{'ms a step':>10}{'to plain':>10}{'MB a step':>11}")
    for name in steps:
        share = statistics.median(b / a for a, b in zip(times["plain"], times[name]))
        moved = 0 if name == "plain" else nt.traffic(models[name]).bytes / (given.turns + 1) / 1e6
        print(f"{name:8}{1e3 * statistics.median(times[name]):10.2f}{share:10.3f}{moved:11.2f}")
        if given.check and name == "fp32" and given.device == "cpu" and share > 1.05:
            sys.exit(f"offload: got {share:.3f} times the plain step, expected at most 1.05")


if __name__ == "__main__":
    main()
