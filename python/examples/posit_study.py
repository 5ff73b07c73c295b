# SPDX-License-Identifier: Apache-2.0
"""Posits of 8 bits: where they are fine and where they are coarse, and a network trained in them.

    python posit_study.py --data FOLDER [--steps 938] [--plot posit-study.png]

The training is QPyTorch's posit example, line by line, with nibble.qtorch in the place of qtorch: posit(8,2) for
weights, gradients, activations and errors, posit(16,2) for momentum and the accumulator of weights.
"""

from __future__ import annotations

import argparse

import numpy as np
import torch
from datasets import data_folder, mnist
from torch import nn
from torch.nn import functional

import nibble
import nibble.qtorch as qtorch
from nibble.qtorch.optim import OptimLP
from nibble.qtorch.quant import Quantizer, quantizer

FORMATS = ["posit(8,1)", "posit(8,2)", "e4m3", "e5m2"]
COLORS = {"posit(8,1)": "#c2410c", "posit(8,2)": "#f0a36b", "e4m3": "#1d4ed8", "e5m2": "#93b4f5"}


def errors_by_binade(fmt: str, low: int, high: int) -> np.ndarray:
    """Root mean square of the relative error of numbers spread evenly over each binade from 2^low to 2^high."""
    mantissas = np.linspace(1, 2, 4096, endpoint=False, dtype=np.float32)
    x = mantissas * np.exp2(np.arange(low, high, dtype=np.float32))[:, None]
    relative = (nibble.quantize(x, fmt) - x) / x
    return np.sqrt((relative.astype(np.float64) ** 2).mean(1))


def print_errors(exponents: range) -> None:
    table = {fmt: errors_by_binade(fmt, exponents.start, exponents.stop) for fmt in FORMATS}
    print("relative error (root mean square) of numbers from 2^k to 2^(k+1)")
    print(f"{'k':>5}" + "".join(f"{fmt:>13}" for fmt in FORMATS))
    for i, k in enumerate(exponents):
        if k % 2 == 0:
            print(f"{k:5}" + "".join(f"{table[fmt][i]:13.4f}" for fmt in FORMATS))


class Net(nn.Module):
    def __init__(self, quant) -> None:
        super().__init__()
        self.conv1, self.conv2 = nn.Conv2d(1, 10, 5), nn.Conv2d(10, 20, 5)
        self.fc1, self.fc2 = nn.Linear(320, 50), nn.Linear(50, 10)
        self.quant = quant

    def forward(self, x):
        q = self.quant
        x = q(functional.relu(functional.max_pool2d(q(self.conv1(x)), 2)))
        x = q(functional.relu(functional.max_pool2d(q(self.conv2(x)), 2)))
        x = q(functional.relu(self.fc1(x.flatten(1))))
        return self.fc2(x)


def make(number, careful):
    """Network and optimizer; None and None are fp32."""
    torch.manual_seed(1)
    if number is None:
        net = Net(nn.Identity())
        return net, torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.5), 1
    net = Net(Quantizer(number, number, "nearest", "nearest"))
    near = lambda n: quantizer(n, forward_rounding="nearest")
    inner = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.5)
    return (
        net,
        OptimLP(
            inner,
            weight_quant=near(number),
            grad_quant=near(number),
            momentum_quant=near(careful),
            acc_quant=near(careful),
            grad_scaling=1 / 64,
        ),
        64,
    )


def train(number, careful, train_set, test_set, steps: int, batch: int = 64) -> tuple[float, float]:
    net, optimizer, factor = make(number, careful)
    order = torch.randperm(len(train_set[0]), generator=torch.Generator().manual_seed(0))
    losses = []
    for step in range(steps):
        chosen = order[(torch.arange(batch) + step * batch) % len(order)]
        optimizer.zero_grad()
        loss = functional.cross_entropy(net(train_set[0][chosen]), train_set[1][chosen])
        (loss * factor).backward()
        optimizer.step()
        losses.append(loss.item())
    with torch.no_grad():
        right = (net(test_set[0]).argmax(1) == test_set[1]).float().mean().item()
    last = losses[-max(steps // 10, 1) :]
    return sum(last) / len(last), right


def plot(path: str, exponents: range) -> None:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(9, 4.8), dpi=150)
    for fmt in FORMATS:
        error = errors_by_binade(fmt, exponents.start, exponents.stop)
        error[error >= 0.9] = np.nan  # everything is lost
        edges = np.arange(exponents.start, exponents.stop + 1)
        axes.stairs(error, edges, color=COLORS[fmt], linewidth=2, label=fmt, baseline=None)
    axes.set_yscale("log")
    axes.set_xlim(exponents.start, exponents.stop)
    axes.set_xticks(range(exponents.start, exponents.stop + 1, 4))
    axes.set_xticklabels([f"$2^{{{k}}}$" for k in range(exponents.start, exponents.stop + 1, 4)])
    axes.set_yticks([0.01, 0.02, 0.05, 0.1, 0.2, 0.5], minor=False)
    axes.set_yticklabels(["1 %", "2 %", "5 %", "10 %", "20 %", "50 %"])
    axes.minorticks_off()
    axes.set_xlabel("magnitude of the number")
    axes.set_title("Relative rounding error of 8-bit formats, root mean square by binade", loc="left", fontsize=11)
    axes.set_axisbelow(True)
    axes.grid(color="#e5e7eb", linewidth=0.8)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False, ncol=4, loc="upper center", bbox_to_anchor=(0.5, -0.14))
    figure.tight_layout()
    figure.savefig(path)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", help="a folder with MNIST's idx files; NIBBLE_DATA otherwise")
    parser.add_argument("--steps", type=int, default=938)
    parser.add_argument("--plot", help="where to draw the errors")
    arguments = parser.parse_args()
    print_errors(range(-14, 15))
    if arguments.plot:
        plot(arguments.plot, range(-20, 20))
    folder = data_folder(arguments.data)
    train_set, test_set = mnist(folder, "train"), mnist(folder, "t10k")
    posit, float8 = qtorch.Posit, qtorch.FloatingPoint
    runs = [
        ("fp32", None, None),
        ("posit(16,2), posit(16,2)", posit(16, 2), posit(16, 2)),
        ("posit(8,2), posit(16,2)", posit(8, 2), posit(16, 2)),
        ("posit(8,1), posit(16,2)", posit(8, 1), posit(16, 2)),
        ("float(4,3), posit(16,2)", float8(4, 3), posit(16, 2)),
        ("posit(6,2), posit(16,2)", posit(6, 2), posit(16, 2)),
    ]
    print(f"\nMNIST, {arguments.steps} steps of 64: numbers, then momentum and accumulator")
    print(f"{'':28}{'loss':>8}{'accuracy':>10}")
    for name, number, careful in runs:
        loss, right = train(number, careful, train_set, test_set, arguments.steps)
        print(f"{name:28}{loss:8.3f}{right:10.2%}")


if __name__ == "__main__":
    main()
