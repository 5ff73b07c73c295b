# SPDX-License-Identifier: Apache-2.0
"""Trains a small pre-activation ResNet on CIFAR-10 in 8-bit floats, beside the same run in fp32.

The recipe of Wang et al. (NeurIPS 2018), which is QPyTorch's IBM8 example: weights, gradients, activations
and errors in e5m2, masters and momentum in e6m9 with stochastic rounding, first and last layer in e6m9, the loss
scaled by 1000.

    python train_cifar10.py --data FOLDER [--steps 1000] [--batch 64]
"""

from __future__ import annotations

import argparse
import time
from collections import Counter

import torch
from datasets import cifar10, data_folder
from torch import nn
from torch.nn import functional

import nibble.torch as nt


class Block(nn.Module):
    def __init__(self, channels_in: int, channels: int, stride: int) -> None:
        super().__init__()
        self.norm1, self.norm2 = nn.BatchNorm2d(channels_in), nn.BatchNorm2d(channels)
        self.relu1, self.relu2 = nn.ReLU(), nn.ReLU()
        self.conv1 = nn.Conv2d(channels_in, channels, 3, stride, 1, bias=False)
        self.conv2 = nn.Conv2d(channels, channels, 3, 1, 1, bias=False)
        same = stride == 1 and channels_in == channels
        self.shortcut = nn.Identity() if same else nn.Conv2d(channels_in, channels, 1, stride, bias=False)

    def forward(self, x):
        y = self.conv1(self.relu1(self.norm1(x)))
        return self.shortcut(x) + self.conv2(self.relu2(self.norm2(y)))


class PreResNet(nn.Module):
    def __init__(self, blocks: int = 1) -> None:
        super().__init__()
        self.first = nn.Conv2d(3, 16, 3, padding=1, bias=False)
        widths = [16] + [width for width in (16, 32, 64) for _ in range(blocks)]
        strides = [2 if b > a else 1 for a, b in zip(widths, widths[1:])]
        self.body = nn.Sequential(*[Block(a, b, s) for a, b, s in zip(widths, widths[1:], strides)])
        self.norm, self.relu = nn.BatchNorm2d(64), nn.ReLU()
        self.last = nn.Linear(64, 10)

    def forward(self, x):
        x = self.relu(self.norm(self.body(self.first(x))))
        return self.last(functional.adaptive_avg_pool2d(x, 1).flatten(1))


def lowered(model: nn.Module, seed: int) -> nn.Module:
    model = nt.lower(model, activation="e5m2", error="e5m2", seed=seed)
    return nt.lower(model, activation="e6m9", error="e6m9", names=["first", "last"], seed=seed, in_place=True)


def low_precision(optimizer: torch.optim.Optimizer, seed: int) -> torch.optim.Optimizer:
    careful = nt.Rounder("e6m9", "stochastic")
    return nt.LowPrecisionOptimizer(
        optimizer,
        weight="e5m2",
        gradient="e5m2",
        momentum=careful,
        master=careful,
        gradient_scaling=1 / 1000,
        seed=seed,
    )


def train(is_low: bool, train_set, test_set, steps: int, batch: int, seed: int) -> list[tuple[int, float, float]]:
    """Rows of (step, mean loss since the row before, test accuracy)."""
    torch.manual_seed(seed)
    model = lowered(PreResNet(), seed) if is_low else PreResNet()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9, weight_decay=5e-4)
    if is_low:
        optimizer = low_precision(optimizer, seed)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, steps)
    order = torch.randperm(len(train_set[0]), generator=torch.Generator().manual_seed(seed))
    factor, losses, rows = (1000 if is_low else 1), [], []
    for step in range(steps):
        chosen = order[(torch.arange(batch) + step * batch) % len(order)]
        optimizer.zero_grad()
        loss = functional.cross_entropy(model(train_set[0][chosen]), train_set[1][chosen])
        (loss * factor).backward()
        optimizer.step()
        scheduler.step()
        losses.append(loss.item())
        if (step + 1) % max(steps // 5, 1) == 0:
            rows.append((step + 1, sum(losses) / len(losses), accuracy(model, *test_set)))
            losses = []
    return rows


@torch.no_grad()
def accuracy(model: nn.Module, pictures: torch.Tensor, labels: torch.Tensor) -> float:
    model.eval()
    right = sum((model(x).argmax(1) == y).sum().item() for x, y in zip(pictures.split(250), labels.split(250)))
    model.train()
    return right / len(labels)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", help="a folder with CIFAR-10's binary files; NIBBLE_DATA otherwise")
    parser.add_argument("--steps", type=int, default=1000)
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    folder = data_folder(arguments.data)
    train_set = cifar10(folder, [f"data_batch_{i}.bin" for i in range(1, 6)])
    test_set = tuple(part[:1000] for part in cifar10(folder, ["test_batch.bin"]))

    formats = Counter(layer.activation for layer in nt.report(lowered(PreResNet(), 0)).layers)
    print("layers: " + ", ".join(f"{count} to {fmt}" for fmt, count in formats.items()), end="\n\n")
    print(f"{'step':>5}{'fp32 loss':>12}{'accuracy':>10}{'8-bit loss':>13}{'accuracy':>10}")
    start = time.time()
    runs = [
        train(is_low, train_set, test_set, arguments.steps, arguments.batch, arguments.seed) for is_low in (False, True)
    ]
    for (step, loss, right), (_, low_loss, low_right) in zip(*runs):
        print(f"{step:5}{loss:12.3f}{right:10.1%}{low_loss:13.3f}{low_right:10.1%}")
    print(f"\n{2 * arguments.steps} steps of {arguments.batch} pictures in {time.time() - start:.0f} s")


if __name__ == "__main__":
    main()
