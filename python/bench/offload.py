# SPDX-License-Identifier: Apache-2.0
"""What offloaded layers cost: a step of ResNet-20 beside the plain model's, and the bytes that cross.

    python offload.py [--device cpu passes pool] [--batch 32] [--turns 20] [--wires fp32 int8] [--check]
    python offload.py --variants [--device cuda]
    python offload.py --layers [--device cuda]
    python offload.py --parts [--device cuda]

Steps run in turns, so that all see the same machine. With `cpu` and a wire of fp32 the layers are torch's own; `passes` is the
CPU without that shortcut, so that all is done that is done for an accelerator, but for copies; `pool` computes and copies on
threads of its own. Shares are medians of the ratios of neighbouring steps, by the wall's clock and by the processor's, which
other work on the machine slows down less; memory that was freed is used again. --check fails where `cpu` or `passes` takes more
than 1.05 of either in fp32. --variants has beside the plain model the whole model
on the device and its convolutions offloaded naively, with copies of everything in fp32 for every pass; all wires then move
convolutions alone. --layers takes the layers of ResNet-20 one by one: load, compute and unload of each pass beside the
original's. --parts says where the time of a step goes: packing, copies, products, waiting, Python, the rest of the model.
"""

from __future__ import annotations

import argparse
import copy
import itertools
import sys
import time
from pathlib import Path

import numpy as np
import torch
from torch.nn import functional

import nibble.torch as nt
from offload_layers import print_layers
from offload_memory import begin_again_with_kept_pages
from offload_naive import naively_offloaded
from offload_parts import print_parts

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "examples"))
from train_offload import resnet20  # noqa: E402

MOST = 1.05  # times the plain step
PLAIN = "plain", "torch"  # like the others, a wire and where products are


def stepper(model, x, y):
    optimizer = torch.optim.SGD(model.parameters(), 0.01)

    def step(clock=time.perf_counter):
        start = clock()
        optimizer.zero_grad()
        functional.cross_entropy(model(x), y).backward()
        optimizer.step()
        if torch.cuda.is_available():
            torch.cuda.synchronize()
        return clock() - start

    return step


def both_clocks():
    """The wall's and the processor's."""
    return np.array([time.perf_counter(), time.process_time()])


class WholeModel(torch.nn.Module):
    """Everything there, with pictures that come from the host and answers that go back to it."""

    def __init__(self, model, device):
        super().__init__()
        self.inner, self.place = copy.deepcopy(model).to(device), device

    def forward(self, x):
        return self.inner(x.to(self.place)).cpu()


class Passes(nt.Backend):
    """The CPU, whose layers are torch's own nowhere, for it is of another class."""


def models_of(given):
    """By name and device, each with what tells how many bytes have crossed so far."""
    plain = resnet20()
    models = {PLAIN: (plain, lambda: 0)}
    if given.variants:
        (device,) = given.device
        if device != "cpu":
            bytes_a_step = 4 * given.batch * (3 * 32 * 32 + 2 * 10)  # pictures, answers, their errors
            whole = WholeModel(plain, device)
            models["whole", device] = (whole, lambda: bytes_a_step * (given.turns + 1))
        naive, counter = naively_offloaded(plain, device)
        models["naive", device] = (naive, lambda: counter.bytes)
    for wire, device in itertools.product(given.wires, given.device):
        layers = torch.nn.Conv2d if given.variants else None
        model = nt.offload(plain, device, layers, wire=wire)
        models[wire, device] = (model, lambda model=model: nt.traffic(model).bytes)
    return models


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", nargs="+", default=["cpu"], help="one or, for steps alone, several")
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--turns", type=int, default=20)
    parser.add_argument("--wires", nargs="+", default=["fp32", "fp16", "int8"])
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--variants", action="store_true", help="the whole model there and naive copies as well")
    parser.add_argument("--layers", action="store_true", help="one layer after the other")
    parser.add_argument("--parts", action="store_true", help="where the time of a step goes")
    given = parser.parse_args()
    if len(given.device) > 1 and (given.variants or given.layers or given.parts):
        parser.error("--variants, --layers and --parts take one device")
    nt.register_backend("passes", lambda device: Passes())
    torch.manual_seed(0)
    if given.layers:
        print_layers(given.device[0], given.batch, given.turns, given.wires)
        return
    x, y = torch.randn(given.batch, 3, 32, 32), torch.randint(0, 10, (given.batch,))
    models = models_of(given)
    steps = {name: stepper(model, x, y) for name, (model, _) in models.items()}
    if given.parts:
        print_parts(given.device[0], given.turns, {name: step for (name, _), step in steps.items()})
        return
    for step in steps.values():
        step()
    times = {name: [] for name in steps}
    for _ in range(given.turns):
        for name, step in steps.items():
            times[name].append(step(both_clocks))
    print(f"ResNet-20, batch {given.batch}, {given.turns} steps in turns")
    print(f"{'wire':8}{'products':10}{'ms a step':>10}{'to plain':>10}{'processor':>10}{'MB a step':>11}")
    dear = []
    for key in steps:
        share, of_processor = np.median(np.divide(times[key], times[PLAIN]), axis=0)
        milliseconds = 1e3 * np.median(times[key], axis=0)[0]
        moved = models[key][1]() / (given.turns + 1) / 1e6
        print(f"{key[0]:8}{key[1]:10}{milliseconds:10.2f}{share:10.3f}{of_processor:10.3f}{moved:11.2f}")
        if given.check and key in (("fp32", "cpu"), ("fp32", "passes")) and max(share, of_processor) > MOST:
            found = f"{share:.3f} times the plain step, {of_processor:.3f} of the processor's time"
            dear.append(f"{' '.join(key)} got {found}, expected at most {MOST} of both")
    if dear:
        sys.exit(f"offload: {', '.join(dear)}")


if __name__ == "__main__":
    begin_again_with_kept_pages()
    main()
