# SPDX-License-Identifier: Apache-2.0
"""What offloaded layers cost: a step of ResNet-20 beside the plain model's, and the bytes that cross.

    python offload.py [--device cpu] [--batch 32] [--turns 20] [--wires fp32 int8] [--check]
    python offload.py --variants [--device cuda]
    python offload.py --layers [--device cuda]
    python offload.py --parts [--device cuda]

Steps run in turns, so that all see the same machine. --check fails where the CPU as a back end costs more than 5 %
(the median of the ratios of neighbouring steps). --variants has beside the plain model the whole model on the device and
its convolutions offloaded naively, with copies of everything in fp32 for every pass; all wires then move convolutions
alone. --layers takes the layers of ResNet-20 one by one: load, compute and unload of each pass beside the original's.
--parts says where the time of a step goes: packing, copies, products, waiting, Python, the rest of the model.
"""

from __future__ import annotations

import argparse
import copy
import statistics
import sys
import time
from pathlib import Path

import torch
from torch.nn import functional

import nibble.torch as nt
from offload_layers import print_layers
from offload_naive import naively_offloaded
from offload_parts import print_parts

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "examples"))
from train_offload import resnet20  # noqa: E402


def stepper(model, x, y):
    optimizer = torch.optim.SGD(model.parameters(), 0.01)

    def step():
        start = time.perf_counter()
        optimizer.zero_grad()
        functional.cross_entropy(model(x), y).backward()
        optimizer.step()
        if torch.cuda.is_available():
            torch.cuda.synchronize()
        return time.perf_counter() - start

    return step


class WholeModel(torch.nn.Module):
    """Everything there, with pictures that come from the host and answers that go back to it."""

    def __init__(self, model, device):
        super().__init__()
        self.inner, self.place = copy.deepcopy(model).to(device), device

    def forward(self, x):
        return self.inner(x.to(self.place)).cpu()


def models_of(given):
    """By name, each with what tells how many bytes have crossed so far."""
    plain = resnet20()
    models = {"plain": (plain, lambda: 0)}
    if given.variants:
        if given.device != "cpu":
            bytes_a_step = 4 * given.batch * (3 * 32 * 32 + 2 * 10)  # pictures, answers, their errors
            whole = WholeModel(plain, given.device)
            models["whole"] = (whole, lambda: bytes_a_step * (given.turns + 1))
        naive, counter = naively_offloaded(plain, given.device)
        models["naive"] = (naive, lambda: counter.bytes)
    for wire in given.wires:
        layers = torch.nn.Conv2d if given.variants else None
        model = nt.offload(plain, given.device, layers, wire=wire)
        models[wire] = (model, lambda model=model: nt.traffic(model).bytes)
    return models


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--turns", type=int, default=20)
    parser.add_argument("--wires", nargs="+", default=["fp32", "fp16", "int8"])
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--variants", action="store_true", help="the whole model there and naive copies as well")
    parser.add_argument("--layers", action="store_true", help="one layer after the other")
    parser.add_argument("--parts", action="store_true", help="where the time of a step goes")
    given = parser.parse_args()
    torch.manual_seed(0)
    if given.layers:
        print_layers(given.device, given.batch, given.turns, given.wires)
        return
    x, y = torch.randn(given.batch, 3, 32, 32), torch.randint(0, 10, (given.batch,))
    models = models_of(given)
    steps = {name: stepper(model, x, y) for name, (model, _) in models.items()}
    if given.parts:
        print_parts(given.device, given.turns, steps)
        return
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
        moved = models[name][1]() / (given.turns + 1) / 1e6
        print(f"{name:8}{1e3 * statistics.median(times[name]):10.2f}{share:10.3f}{moved:11.2f}")
        if given.check and name == "fp32" and given.device == "cpu" and share > 1.05:
            sys.exit(f"offload: got {share:.3f} times the plain step, expected at most 1.05")


if __name__ == "__main__":
    main()
