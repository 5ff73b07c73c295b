# SPDX-License-Identifier: Apache-2.0
"""A training step of ResNet-20 with every tensor in e4m3, eager and compiled, beside the bf16 step without rounding.

    python compiled.py [--device cuda] [--batch 1024] [--steps 30]

All under autocast to bf16. Prints the graph breaks (there are none) and milliseconds a step, medians.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

import torch
from torch.nn import functional

import nibble.torch as nt

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "examples"))
from train_offload import resnet20  # noqa: E402


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
    return 1e3 * sorted(times)[len(times) // 2], float(loss)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--batch", type=int, default=1024)
    parser.add_argument("--steps", type=int, default=30)
    given = parser.parse_args()
    torch.manual_seed(0)
    x = torch.randn(given.batch, 3, 32, 32, device=given.device)
    y = torch.randint(0, 10, (given.batch,), device=given.device)
    formats = dict(activation="e4m3", weight="e4m3", error="e4m3", gradient="e4m3")
    models = {
        "bf16": resnet20(),
        "e4m3": nt.lower(resnet20(), **formats),
        "e4m3 stochastic": nt.lower(resnet20(), **formats, rounding="stochastic"),
    }
    found = {}
    for name, model in models.items():
        model.to(given.device)
        for way, call in (("eager", model), ("compiled", torch.compile(model, fullgraph=True))):
            start = time.perf_counter()
            found[name, way], loss = median_step(call, model, x, y, given.steps)
            took = time.perf_counter() - start
            milliseconds = found[name, way]
            ratio = f"{milliseconds / found['bf16', way]:6.2f} × bf16 {way}"
            print(f"{name:16}{way:10}{milliseconds:9.3f} ms  {ratio}  ({took:.0f} s, loss {loss:.3f})", flush=True)


if __name__ == "__main__":
    main()
