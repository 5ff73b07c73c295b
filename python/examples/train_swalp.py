# SPDX-License-Identifier: Apache-2.0
"""Trains a VGG and ResNet-20 on CIFAR-10 in block floating point and in fixed point, beside their twins in floats.

    python train_swalp.py --data FOLDER [--networks resnet20 vgg] [--arithmetics float bfp fixed] [--epochs 30]
        [--checkpoints FOLDER]

As SWALP (Yang et al., ICML 2019) has it: everything is rounded stochastically, the weights themselves have 8 bits, and the
weights of the last epochs are averaged. Results, errors, weights, gradients and momentum of `bfp` have 8 bits and one
exponent a tensor, those of weights one an output; `fixed` has 8 bits in results and weights, 16 in errors, gradients and
the copy of the weights that updates are added to. The twin has the same course. A course with a checkpoint goes on after
its last whole epoch.
"""

from __future__ import annotations

import argparse
import contextlib
import copy
import time
from pathlib import Path
from typing import Iterator, Optional

import torch
from datasets import cifar10, data_folder
from torch import nn
from torch.nn import functional
from train_offload import accuracy, resnet20

import nibble.torch as nt

SCALE = 4  # of a picture's loss in fixed point: errors have an end below, and one above at 8


def vgg(width: int = 64) -> nn.Module:
    """Eight convolutions with batch norms, and one linear layer."""
    widths = [width, width, 0, 2 * width, 2 * width, 0, 4 * width, 4 * width, 0, 8 * width, 8 * width, 0]
    layers, channels = [], 3
    for each in widths:
        if each == 0:
            layers += [nn.MaxPool2d(2)]
            continue
        layers += [nn.Conv2d(channels, each, 3, padding=1, bias=False), nn.BatchNorm2d(each), nn.ReLU()]
        channels = each
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(channels, 10))


NETWORKS = {"resnet20": resnet20, "vgg": vgg}


def weights_in_fixed_point(model: nn.Module) -> str:
    """First weights are 1/sqrt(n) where a sum has n products: of 4,608 they would be two steps of 1/128, and decay
    takes them below one, where nothing but noise is left of them."""
    longest = max(p[0].numel() for p in model.parameters() if p.dim() > 1)
    return "fixed(8,7)" if longest <= 1000 else "fixed(8,10)"


def lowered(model: nn.Module, arithmetic: str, seed: int) -> nn.Module:
    if arithmetic == "bfp":
        return nt.lower(model, activation="bfp(8)", error="bfp(8)", rounding="stochastic", seed=seed)
    if arithmetic == "fixed":
        roundings = dict(activation="fixed(8,4)", weight=weights_in_fixed_point(model), error="fixed(16,12)")
        return nt.lower(model, **roundings, rounding="stochastic", seed=seed)
    return model


def optimizer_of(model: nn.Module, arithmetic: str, rate: float, scale: float, seed: int) -> torch.optim.Optimizer:
    sgd = torch.optim.SGD(model.parameters(), rate, momentum=0.9, weight_decay=5e-4, nesterov=True)
    if arithmetic == "bfp":
        each = dict.fromkeys(("weight", "gradient", "momentum"), "bfp(8,axis=0)")
        return nt.LowPrecisionOptimizer(sgd, **each, rounding="stochastic", seed=seed)
    if arithmetic == "fixed":
        each = dict(gradient="fixed(16,12)", momentum="fixed(16,12)", master="fixed(16,13)")
        return nt.LowPrecisionOptimizer(sgd, **each, gradient_scaling=1 / scale, rounding="stochastic", seed=seed)
    return sgd


def augmented(x: torch.Tensor) -> torch.Tensor:
    """Each picture shifted by up to four pixels, half of them mirrored."""
    count, _, size, _ = x.shape
    padded = functional.pad(x, (4, 4, 4, 4))
    pixels = torch.arange(size, device=x.device)
    rows, columns = (torch.randint(0, 9, (count, 1), device=x.device) + pixels for _ in range(2))
    mirrored = torch.rand(count, 1, device=x.device) < 0.5
    columns = torch.where(mirrored, columns.flip(1), columns)
    examples = torch.arange(count, device=x.device)[:, None, None]
    return padded[examples, :, rows[:, :, None], columns[:, None, :]].permute(0, 3, 1, 2).contiguous()


def in_bf16(device: torch.device) -> contextlib.AbstractContextManager:
    """On GPUs products are bf16's, as the twin's; sums are fp32."""
    return torch.autocast("cuda", torch.bfloat16) if device.type == "cuda" else contextlib.nullcontext()


class Average:
    """The mean of a model's weights at several moments."""

    def __init__(self) -> None:
        self.means, self.count = [], 0

    def state_dict(self) -> dict:
        return dict(self.__dict__)

    def load_state_dict(self, state: dict) -> None:
        self.__dict__.update(state)

    def add(self, model: nn.Module) -> None:
        self.count += 1
        now = [p.detach().float().clone() for p in model.parameters()]
        self.means = [m + (p - m) / self.count for m, p in zip(self.means, now)] if self.means else now

    def model(self, model: nn.Module, pictures: torch.Tensor) -> nn.Module:
        """A copy that has them, with statistics of batch norms of its own."""
        averaged = copy.deepcopy(model)
        with torch.no_grad():
            for parameter, mean in zip(averaged.parameters(), self.means):
                parameter.copy_(mean)
            norms = [each for each in averaged.modules() if isinstance(each, nn.BatchNorm2d)]
            for norm in norms:
                norm.reset_running_stats()
                norm.momentum = None
            averaged.train()
            for x in pictures.split(500):
                averaged(x)
        return averaged


class Checkpoint:
    """What a course goes on from: the states of its parts, and of torch's generators."""

    def __init__(self, path: Optional[Path], device: torch.device, *parts) -> None:
        self.path, self.device, self.parts = path, device, parts
        self.generators = [(torch.get_rng_state, torch.set_rng_state)]
        if device.type == "cuda":
            self.generators.append((torch.cuda.get_rng_state, torch.cuda.set_rng_state))

    def load(self) -> int:
        """How many epochs are done."""
        if self.path is None or not self.path.exists():
            return 0
        saved = torch.load(self.path, map_location=self.device)
        for part, state in zip(self.parts, saved["parts"]):
            part.load_state_dict(state)
        for (_, put), state in zip(self.generators, saved["generators"]):
            put(state.cpu())
        return saved["epochs"]

    def save(self, epochs: int) -> None:
        if self.path is None:
            return
        states = dict(epochs=epochs, parts=[part.state_dict() for part in self.parts])
        torch.save(dict(states, generators=[get() for get, _ in self.generators]), self.path.with_suffix(".new"))
        self.path.with_suffix(".new").replace(self.path)


def train(
    network: nn.Module,
    arithmetic: str,
    train_set,
    test_set,
    epochs: int,
    batch: int,
    rate: float = 0.2,
    seed: int = 0,
    checkpoint: Optional[Path] = None,
) -> Iterator[dict]:
    """Rows of epochs; the last is that of the averaged weights. The rate rises for a fifth of the epochs, falls to a
    twentieth until three quarters, and stays there while weights are averaged."""
    device = train_set[0].device
    torch.manual_seed(seed)
    model = lowered(network, arithmetic, seed).to(device)
    scale = SCALE * batch if arithmetic == "fixed" else 1
    optimizer = optimizer_of(model, arithmetic, rate, scale, seed)
    steps = len(train_set[0]) // batch
    up, down = max(1, epochs // 5) * steps, max(2, epochs * 3 // 4) * steps
    factor = lambda i: (i + 1) / up if i < up else max(0.05, 1 - 0.95 * (i - up) / max(1, down - up))
    scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, factor)
    average, start = Average(), time.time()
    kept = Checkpoint(checkpoint, device, model, optimizer, scheduler, average)
    for epoch in range(kept.load(), epochs):
        total = torch.zeros((), device=device)
        for chosen in torch.randperm(len(train_set[0]), device=device)[: steps * batch].split(batch):
            optimizer.zero_grad()
            with in_bf16(device):
                loss = functional.cross_entropy(model(augmented(train_set[0][chosen])), train_set[1][chosen])
            (loss * scale).backward()
            optimizer.step()
            scheduler.step()
            total += loss.detach()
        with in_bf16(device):
            right = accuracy(model, *test_set)
        if epoch + 1 > epochs * 3 // 4:
            average.add(model)
        kept.save(epoch + 1)
        yield dict(epoch=epoch + 1, loss=total.item() / steps, accuracy=right, seconds=time.time() - start)
    with in_bf16(device):
        right = accuracy(average.model(model, train_set[0][:10000]), *test_set)
    yield dict(epoch="averaged", loss=float("nan"), accuracy=right, seconds=time.time() - start)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", help="a folder with CIFAR-10's binary files; NIBBLE_DATA otherwise")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--networks", nargs="+", choices=NETWORKS, default=list(NETWORKS))
    parser.add_argument("--arithmetics", nargs="+", choices=("float", "bfp", "fixed"), default=["float", "bfp", "fixed"])
    parser.add_argument("--epochs", type=int, default=30)
    parser.add_argument("--batch", type=int, default=256)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--checkpoints", type=Path, help="a folder for the state after every epoch, to go on from")
    given = parser.parse_args()
    folder = data_folder(given.data)
    if given.checkpoints:
        given.checkpoints.mkdir(parents=True, exist_ok=True)
    train_set = [part.to(given.device) for part in cifar10(folder, [f"data_batch_{i}.bin" for i in range(1, 6)])]
    test_set = [part.to(given.device) for part in cifar10(folder, ["test_batch.bin"])]
    for name in given.networks:
        for arithmetic in given.arithmetics:
            torch.manual_seed(given.seed)
            course = (train_set, test_set, given.epochs, given.batch)
            path = given.checkpoints and given.checkpoints / f"{name}-{arithmetic}.pt"
            for row in train(NETWORKS[name](), arithmetic, *course, seed=given.seed, checkpoint=path):
                result = f"{row['loss']:8.4f}{row['accuracy']:9.2%}{row['seconds']:8.1f} s"
                print(f"{name:10}{arithmetic:7}{row['epoch']:>9}{result}", flush=True)


if __name__ == "__main__":
    main()
