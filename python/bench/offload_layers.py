# SPDX-License-Identifier: Apache-2.0
"""The layers of ResNet-20 one by one, for `offload.py --layers`: what brings a pass its numbers, what computes, what takes
them back, each waited for, beside what the system that offloads to a Jetson Xavier reports for its own layers.
"""

from __future__ import annotations

import statistics
import time
from collections import defaultdict
from contextlib import contextmanager

import torch

import nibble.torch as nt
from nibble.torch.offloading.backend import Backend, backend_of
from nibble.torch.offloading.site import Site

PASSES = ("forward", "input error", "weight gradient")
PARTS = ("load", "compute", "unload")
WARM = 3

# Channels in and out, size, stride; then the original's milliseconds in fp32 and with all copies: load, compute and unload
# of the three passes, on a Xavier. It has timed its first layer with other pictures.
LAYERS = [
    ("1", (3, 16, 32, 1), None),
    ("2-6", (16, 16, 32, 1), ((1.20, 0.50, 2.79), (1.57, 0.81, 2.91), (8.44, 0.37, 6.94))),
    ("7", (16, 32, 32, 2), ((1.34, 0.48, 3.24), (1.34, 0.94, 4.13), (6.81, 0.41, 4.71))),
    ("8-12", (32, 32, 16, 1), ((1.10, 0.50, 0.90), (1.14, 0.46, 0.87), (7.25, 0.24, 5.45))),
    ("13", (32, 64, 16, 2), ((1.28, 0.72, 2.45), (1.10, 0.74, 2.58), (6.25, 0.30, 4.11))),
    ("14-18", (64, 64, 8, 1), ((1.12, 0.61, 0.61), (0.95, 0.36, 1.47), (8.23, 0.27, 5.02))),
]


class Clock:
    """How long the parts of a pass take, with the device at rest before and after."""

    def __init__(self, backend: Backend) -> None:
        self.backend = backend
        self.now = PASSES[0]
        self.times: dict = defaultdict(list)

    def rest(self) -> None:
        self.backend.ask(lambda: None)()
        if self.backend.device.type == "cuda":
            torch.cuda.synchronize()

    @contextmanager
    def part(self, name: str):
        self.rest()
        start = time.perf_counter()
        yield
        self.rest()
        self.times[self.now, name].append(time.perf_counter() - start)

    def milliseconds(self, one_pass: str, part: str) -> float:
        found = self.times.get((one_pass, part))
        return 1e3 * statistics.median(found) if found else 0.0


class TimedBackend(Backend):
    """With the products of threads of its own in the thread that measures them."""

    runs_ahead = True  # so that the two gradients are asked for one after the other

    def __init__(self, inner: Backend, clock: Clock) -> None:
        self.inner, self.clock = inner, clock
        self.host, self.device = inner.host, inner.device
        self.send, self.fetch, self.memory, self.computing = inner.send, inner.fetch, inner.memory, inner.computing

    def forward(self, *arguments):
        with self.clock.part("compute"):
            return self.inner.forward(*arguments)

    def backward(self, product, error, x, weight, mask):
        self.clock.now = PASSES[1] if mask[0] else PASSES[2]
        with self.clock.part("compute"):
            return self.inner.backward(product, error, x, weight, mask)


class TimedSite(Site):
    def __init__(self, clock: Clock, *arguments) -> None:
        super().__init__(*arguments)
        self.clock = clock

    def send(self, tensor, wire, key=None):
        with self.clock.part("load"):
            return super().send(tensor, wire, key)

    def send_as_is(self, tensor):
        with self.clock.part("load"):
            return super().send_as_is(tensor)

    def fetch(self, make, *sent):
        return self.unloaded(super().fetch, make())

    def fetch_as_is(self, make, *sent):
        return self.unloaded(super().fetch_as_is, make())

    def unloaded(self, fetch, made):
        with self.clock.part("unload"):
            found = fetch(lambda: made)()
        return lambda: found


def run_passes(layer, x, error, clock=None):
    x = x.clone().requires_grad_()
    if clock is not None:
        clock.now = PASSES[0]
    y = layer(x)
    if clock is not None:
        clock.now = PASSES[1]  # the error comes for it, and stays for the gradient
    y.backward(error)
    gradient, layer.weight.grad = layer.weight.grad, None
    return y.detach(), x.grad, gradient


def timed(run, turns: int) -> float:
    times = []
    for _ in range(turns):
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return 1e3 * statistics.median(times)


def print_layers(device: str, batch: int, turns: int, wires) -> None:
    print(f"layers of ResNet-20, batch {batch}, products in fp32 on {device}; milliseconds, medians of {turns}")
    print("off: from the CPU's numbers, of the largest magnitude. Parts are waited for; 'all' is both passes in one go.")
    heads = "".join(f"{head:>9}" for head in (*PARTS, "off")) + "".join(f"{'Xavier ' + part:>16}" for part in PARTS)
    print(f"{'layers':7}{'in':>4}{'out':>4}{'size':>5}{'step':>5} {'wire':5} {'pass':16}{heads}")
    for name, (channels, features, size, stride), original in LAYERS:
        plain = torch.nn.Conv2d(channels, features, 3, stride, 1, bias=False)
        x = torch.randn(batch, channels, size, size)
        error = torch.randn(batch, features, size // stride, size // stride)
        expected = run_passes(plain, x, error)
        where = f"{name:7}{channels:4}{features:4}{size:5}{stride:5}"
        print(f"{where} {'none':5} {'all':16}{timed(lambda: run_passes(plain, x, error), turns):9.3f} on the CPU")
        for wire in wires:
            layer = nt.offload(plain, device, wire=wire, compute="fp32")
            for _ in range(WARM):
                run_passes(layer, x, error)
            before = nt.traffic(layer).bytes
            whole = timed(lambda: run_passes(layer, x, error), turns)
            moved = (nt.traffic(layer).bytes - before) / turns / 1e6
            clock = Clock(backend_of(device))
            layer.site = TimedSite(clock, TimedBackend(backend_of(device), clock), wire, "fp32")
            for turn in range(WARM + turns):
                if turn == WARM:
                    clock.times.clear()
                found = run_passes(layer, x, error, clock)
            print(f"{where} {wire:5} {'all':16}{whole:9.3f} and {moved:.3f} MB")
            for i, one_pass in enumerate(PASSES):
                times = "".join(f"{clock.milliseconds(one_pass, part):9.3f}" for part in PARTS)
                off = float((found[i] - expected[i]).abs().max() / expected[i].abs().max())
                beside = "" if original is None else "".join(f"{value:16.2f}" for value in original[i])
                print(f"{where} {wire:5} {one_pass:16}{times}{off:9.1e}{beside}", flush=True)
