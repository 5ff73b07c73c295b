# SPDX-License-Identifier: Apache-2.0
"""A training step of ResNet-20 with every tensor in a format, eager and compiled, beside the bf16 step without rounding.

    python compiled.py [--device cuda] [--batch 1024] [--steps 30] [--models bf16 e4m3 "fixed(8,4) stochastic"] [--check]

All under autocast to bf16. Prints milliseconds a step and steps a second, medians, and the graph breaks; --check asks for
none of those, and that the compiled e4m3 step takes at most 1.25 times that of bf16. That compiled roundings have the bits
of `nibble.quantize`, on numbers of every exponent, is always asked for, of each format that is measured.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

import torch
from torch._dynamo.utils import counters
from torch.nn import functional

import nibble
import nibble.torch as nt

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "examples"))
from train_offload import resnet20  # noqa: E402

ROLES = ("activation", "weight", "error", "gradient")


def lowered(name: str) -> torch.nn.Module:
    """Of "FORMAT" or "FORMAT ROUNDING"; bf16 is what autocast makes of the network as it is."""
    format, _, rounding = name.partition(" ")
    if format == "bf16":
        return resnet20()
    return nt.lower(resnet20(), **dict.fromkeys(ROLES, format), rounding=rounding or "nearest-even")


def median_step(call, model, x, y, steps):
    optimizer = torch.optim.SGD(model.parameters(), 0.01, momentum=0.9)
    wait = torch.cuda.synchronize if x.is_cuda else (lambda: None)
    times = []
    for i in range(steps + 5):
        wait()
        start = time.perf_counter()
        optimizer.zero_grad()
        with torch.autocast(x.device.type, torch.bfloat16):
            loss = functional.cross_entropy(call(x), y)
        loss.backward()
        optimizer.step()
        wait()
        if i >= 5:
            times.append(time.perf_counter() - start)
    return 1e3 * sorted(times)[len(times) // 2], loss.item()


def check_bits(device: str, text: str) -> None:
    """All numbers of bf16, and a million of fp32."""
    rounding = torch.compile(nt.Rounder(text).round, fullgraph=True)
    narrow = torch.arange(-(1 << 15), 1 << 15).to(torch.int16).view(torch.bfloat16).to(device)
    wide = torch.randint(-(1 << 31), 1 << 31, (1 << 20,)).to(torch.int32).view(torch.float32).to(device)
    for x in (narrow, wide):
        found, expected = rounding(x).float(), nibble.quantize(x, text).float()
        same = (found.view(torch.int32) == expected.view(torch.int32)) | (torch.isnan(found) & torch.isnan(expected))
        if not same.all():
            sys.exit(f"compiled: got other bits than {text}'s from {x[~same][0].item()}, expected the same")
    print(f"compiled roundings to {text} have its bits")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--batch", type=int, default=1024)
    parser.add_argument("--steps", type=int, default=30)
    parser.add_argument("--models", nargs="+", default=["bf16", "e4m3", "e4m3 stochastic"])
    parser.add_argument("--check", action="store_true")
    given = parser.parse_args()
    torch.manual_seed(0)
    for text in sorted({name.partition(" ")[0] for name in given.models} - {"bf16"}):
        check_bits(given.device, text)
    torch._dynamo.reset()
    counters.clear()
    x = torch.randn(given.batch, 3, 32, 32, device=given.device)
    y = torch.randint(0, 10, (given.batch,), device=given.device)
    found = {}
    for name in given.models:
        model = lowered(name).to(given.device)
        for way, call in (("eager", model), ("compiled", torch.compile(model))):
            start = time.perf_counter()
            found[name, way], loss = median_step(call, model, x, y, given.steps)
            took = time.perf_counter() - start
            milliseconds = found[name, way]
            speed = f"{milliseconds:9.3f} ms {1e3 / milliseconds:8.1f} steps/s"
            ratio = f"{milliseconds / found['bf16', way]:6.2f} × bf16 {way}"
            print(f"{name:24}{way:10}{speed}{ratio}  ({took:.0f} s, loss {loss:.3f})", flush=True)
    breaks = sum(counters["graph_break"].values())
    graphs = counters["stats"]["unique_graphs"]
    print(f"graph breaks: {breaks}, graphs: {graphs} of {len(given.models)} models")
    is_whole = not breaks and graphs == len(given.models)
    if given.check and (not is_whole or found["e4m3", "compiled"] > 1.25 * found["bf16", "compiled"]):
        sys.exit("compiled: got more than 1.25 times the bf16 step or graph breaks, expected less and none")


if __name__ == "__main__":
    main()
