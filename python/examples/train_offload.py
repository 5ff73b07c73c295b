# SPDX-License-Identifier: Apache-2.0
"""Trains a model that stays on the CPU while an accelerator computes its convolutions and matrix products.

    python train_offload.py mnist --data FOLDER [--device cuda] [--wire int8] [--epochs 5]
    python train_offload.py resnet20 --data FOLDER [--device cuda] [--wire fp16] [--epochs 10]

`--wire none` trains the plain model in fp32, on the CPU or, with --device cuda, on the GPU as a whole. With --checkpoint FILE
every epoch ends in that file, and a run that finds it goes on from there, to the same weights.
"""

from __future__ import annotations

import argparse
import os
import time
from pathlib import Path

import torch
from datasets import cifar10, data_folder, mnist
from torch import nn
from torch.nn import functional

import nibble.torch as nt


def mnist_network() -> nn.Module:
    """20 and 50 kernels of 5 × 5, 500 neurons: LeNet as Caffe had it."""
    return nn.Sequential(
        *(nn.Conv2d(1, 20, 5), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(20, 50, 5), nn.ReLU(), nn.MaxPool2d(2)),
        *(nn.Flatten(), nn.Linear(800, 500), nn.ReLU(), nn.Linear(500, 10)),
    )


class Block(nn.Module):
    def __init__(self, channels_in: int, channels: int, stride: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(channels_in, channels, 3, stride, 1, bias=False)
        self.conv2 = nn.Conv2d(channels, channels, 3, 1, 1, bias=False)
        self.norm1, self.norm2 = nn.BatchNorm2d(channels), nn.BatchNorm2d(channels)
        self.stride, self.more = stride, channels - channels_in

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.norm2(self.conv2(functional.relu(self.norm1(self.conv1(x)))))
        if self.more:  # a shortcut without parameters: every second pixel, new channels of zeros
            x = functional.pad(x[:, :, :: self.stride, :: self.stride], (0, 0, 0, 0, self.more // 2, self.more // 2))
        return functional.relu(x + y)


def resnet20(width: int = 16) -> nn.Module:
    widths = [width] * 4 + [2 * width] * 3 + [4 * width] * 3
    blocks = [Block(a, b, 2 if b > a else 1) for a, b in zip(widths, widths[1:])]
    first = (nn.Conv2d(3, width, 3, padding=1, bias=False), nn.BatchNorm2d(width), nn.ReLU())
    return nn.Sequential(*first, *blocks, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(4 * width, 10))


def augmented(x: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
    """Shifted by up to four pixels, one shift a batch, and half of the batch mirrored."""
    across, down = torch.randint(0, 9, (2,), generator=generator).tolist()
    size = x.shape[-1]
    x = functional.pad(x, (4, 4, 4, 4))[:, :, down : down + size, across : across + size]
    half = len(x) // 2
    return torch.cat([x[:half].flip(-1), x[half:]])


def accuracy(model: nn.Module, pictures: torch.Tensor, labels: torch.Tensor) -> float:
    model.eval()
    with torch.no_grad():
        right = sum((model(x).argmax(1) == y).sum().item() for x, y in zip(pictures.split(500), labels.split(500)))
    model.train()
    return right / len(labels)


class Progress:
    """All that the next epoch depends on, and the file that keeps it."""

    def __init__(self, path, model, optimizer, scheduler, generator):
        self.path = path and Path(path)
        self.parts = {"model": model, "optimizer": optimizer, "scheduler": scheduler}
        self.generator = generator

    def load(self) -> int:
        """Epochs that were trained before."""
        if self.path is None or not self.path.exists():
            return 0
        found = torch.load(self.path, weights_only=False)
        for name, part in self.parts.items():
            part.load_state_dict(found[name])
        self.generator.set_state(found["generator"])
        return found["epoch"]

    def save(self, epoch: int) -> None:
        if self.path is None:
            return
        state = {name: part.state_dict() for name, part in self.parts.items()}
        unfinished = self.path.with_suffix(".part")
        torch.save({**state, "generator": self.generator.get_state(), "epoch": epoch}, unfinished)
        os.replace(unfinished, self.path)


def train(
    model, train_set, test_set, epochs, batch, make_optimizer, make_scheduler, augment, seed=0, place="cpu", checkpoint=None
):
    """Yields (epoch, mean loss, test accuracy, seconds); `place` is where a plain model is."""
    generator = torch.Generator().manual_seed(seed)
    optimizer = make_optimizer(model.parameters())
    steps = len(train_set[0]) // batch
    scheduler = make_scheduler(optimizer, steps)
    progress = Progress(checkpoint, model, optimizer, scheduler, generator)
    test_set = [part.to(place) for part in test_set]
    for epoch in range(progress.load(), epochs):
        start, losses = time.time(), []
        for chosen in torch.randperm(len(train_set[0]), generator=generator)[: steps * batch].split(batch):
            x, y = train_set[0][chosen], train_set[1][chosen].to(place)
            optimizer.zero_grad()
            loss = functional.cross_entropy(model((augmented(x, generator) if augment else x).to(place)), y)
            loss.backward()
            optimizer.step()
            scheduler.step()
            losses.append(loss.detach())
        progress.save(epoch + 1)
        yield epoch + 1, torch.stack(losses).mean().item(), accuracy(model, *test_set), time.time() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("network", choices=["mnist", "resnet20"])
    parser.add_argument("--data", help="a folder with the files of MNIST or CIFAR-10; NIBBLE_DATA otherwise")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--wire", default="int8", choices=["int8", "fp16", "fp32", "none"])
    parser.add_argument("--compute", default=None)
    parser.add_argument("--epochs", type=int)
    parser.add_argument("--batch", type=int)
    parser.add_argument("--rate", type=float, default=0.4, help="the largest of ResNet-20's one-cycle schedule")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--images", type=int, help="of each set, for a short run; all")
    parser.add_argument("--checkpoint", help="a file that keeps every epoch's end; where it is there, the run goes on")
    given = parser.parse_args()
    folder = data_folder(given.data)
    torch.manual_seed(given.seed)
    is_mnist = given.network == "mnist"
    epochs, batch = given.epochs or (5 if is_mnist else 10), given.batch or (64 if is_mnist else 128)
    if is_mnist:
        model, sets = mnist_network(), [mnist(folder, part) for part in ("train", "t10k")]
        rules = (torch.optim.Adadelta, lambda o, steps: torch.optim.lr_scheduler.StepLR(o, steps, 0.1))
    else:
        files = [f"data_batch_{i}.bin" for i in range(1, 6)]
        model, sets = resnet20(), [cifar10(folder, files), cifar10(folder, ["test_batch.bin"])]
        rules = (
            lambda p: torch.optim.SGD(p, 0.1, momentum=0.9, weight_decay=5e-4, nesterov=True),
            lambda o, steps: torch.optim.lr_scheduler.OneCycleLR(o, given.rate, total_steps=steps * epochs + 1),
        )
    sets = [tuple(part[: given.images] for part in each) for each in sets]
    is_plain = given.wire == "none"
    place = given.device if is_plain else "cpu"
    model.to(place)
    if is_plain:
        torch.backends.cudnn.allow_tf32 = False
    else:
        model = nt.offload(model, given.device, wire=given.wire, compute=given.compute)
    for row in train(model, *sets, epochs, batch, *rules, not is_mnist, given.seed, place, given.checkpoint):
        print("epoch {}: loss {:.4f}, test accuracy {:.2%}, {:.1f} s".format(*row), flush=True)
    if not is_plain:
        moved = nt.traffic(model)
        print(f"{moved.bytes_sent / 1e9:.3f} GB sent, {moved.bytes_fetched / 1e9:.3f} GB fetched")


if __name__ == "__main__":
    main()
