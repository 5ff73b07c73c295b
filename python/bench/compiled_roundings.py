# SPDX-License-Identifier: Apache-2.0
"""Ways to write a rounding to e4m3 for torch.compile, by what a compiled step of ResNet-20 takes with each.

    python compiled_roundings.py [--device cuda] [--batch 1024] [--steps 30] [--kernels 8]

Prints medians of three turns beside the bf16 step without rounding, and on a GPU the kernels that take longest. `fp8` is what
`nibble.torch` does where it can, `round` what it does elsewhere. All have the same bits, which is checked first. For sm_90 Triton 3.6 makes of them, an element of bf16
read and written: round 12 instructions, one of them FRND, an eighth as fast as others; add 15; fp8, which GPUs before sm_89
lack, 6.
"""

from __future__ import annotations

import argparse
import collections
import dataclasses
import sys

import torch
from compiled import FORMATS, check_bits, median_step
from torch._dynamo.utils import counters
from train_offload import resnet20

import nibble.torch as nt
from nibble.torch import graph_rounding
from nibble.torch.graph_rounding import GraphRounding

ROUND = GraphRounding.round


def by_steps(self: GraphRounding, x: torch.Tensor) -> torch.Tensor:
    return ROUND(dataclasses.replace(self, own_type=None), x)


def add(self: GraphRounding, x: torch.Tensor) -> torch.Tensor:
    """Adding 1.5 · 2^23 steps leaves no bit below a step in fp32, ties go to even, and taking them off is exact."""
    wide = x.to(torch.float32)
    inside = wide.clamp(self.lowest, self.largest)
    min_normal = 2.0 ** (self.least_exponent + self.precision - 1)
    binades = inside.abs().clamp(min=min_normal).view(torch.int32) & graph_rounding.EXPONENT
    added = binades.view(torch.float32) * (1.5 * 2.0 ** (24 - self.precision))
    return torch.copysign((inside + added) - added, wide).to(x.dtype)


WAYS = {"bf16": None, "fp8": ROUND, "round": by_steps, "add": add}


def compiled_model(way: str, device: str):
    """A model with one way, and the same compiled: code of its own, so that no two share a graph."""
    model = resnet20()
    if WAYS[way]:
        GraphRounding.round = WAYS[way]
        graph_rounding.graph_rounding.cache_clear()
        model = nt.lower(model, **FORMATS)
    model.to(device)
    return model, torch.compile(eval("lambda x: model(x)", {"model": model}), fullgraph=True)


def print_kernels(step, most: int) -> None:
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as told:
        step()
    rows = [event for event in told.key_averages() if event.self_device_time_total > 0]
    rows.sort(key=lambda event: -event.self_device_time_total)
    print(f"    {sum(event.self_device_time_total for event in rows):.0f} µs of kernels in ten steps")
    for event in rows[:most]:
        print(f"    {event.self_device_time_total:9.0f} µs {event.count:6} × {event.key[:90]}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--batch", type=int, default=1024)
    parser.add_argument("--steps", type=int, default=30)
    parser.add_argument("--kernels", type=int, default=8)
    given = parser.parse_args()
    torch.manual_seed(0)
    x = torch.randn(given.batch, 3, 32, 32, device=given.device)
    y = torch.randint(0, 10, (given.batch,), device=given.device)
    for way in WAYS:
        if WAYS[way]:
            GraphRounding.round = WAYS[way]
            graph_rounding.graph_rounding.cache_clear()
            torch._dynamo.reset()
            check_bits(given.device)
    torch._dynamo.reset()
    counters.clear()
    steps, found = {}, collections.defaultdict(list)
    for way in WAYS:  # traced while its rounding is in place
        model, call = compiled_model(way, given.device)
        steps[way] = lambda count, call=call, model=model: median_step(call, model, x, y, count)
        steps[way](1)
    if counters["stats"]["unique_graphs"] != len(WAYS):
        sys.exit(f"compiled_roundings: got {counters['stats']['unique_graphs']} graphs, expected {len(WAYS)}")
    for _ in range(3):
        for way, step in steps.items():
            found[way].append(step(given.steps)[0])
    median = {way: sorted(times)[1] for way, times in found.items()}
    for way, step in steps.items():
        turns = ", ".join(f"{each:.3f}" for each in found[way])
        print(f"{way:8}{median[way]:9.3f} ms {median[way] / median['bf16']:6.3f} × bf16 ({turns})", flush=True)
        if given.device.startswith("cuda"):
            print_kernels(lambda: step(5), given.kernels)


if __name__ == "__main__":
    main()
