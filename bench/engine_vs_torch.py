#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Inference on one GPU: Nibble's integers and PyTorch in bf16 (torch.compile, channels last), in turns in one run.

usage: engine_vs_torch.py NIBBLE NETWORK=MODEL.nib ... [--batch 1024] [--mode default] [--seconds 1] [--rounds 3]

NETWORK is resnet50, resnet20 or vgg-small-7. PyTorch's networks have random weights and batch norms folded into the
convolutions; pictures lie on the GPU for both. Nibble's figure is that of three batches on their way ("from the
device"); `nibble bench` checks that answers stay the same. Figures are medians of the rounds.
"""

import argparse
import json
import statistics
import subprocess
import time

import torch
from torch import nn


def conv(before, width, kernel, stride=1):
    return nn.Conv2d(before, width, kernel, stride, kernel // 2)


class Bottleneck(nn.Module):
    def __init__(self, before, width, stride):
        super().__init__()
        self.path = nn.Sequential(conv(before, width, 1), nn.ReLU(), conv(width, width, 3, stride), nn.ReLU(),
                                  conv(width, 4 * width, 1))
        self.shortcut = conv(before, 4 * width, 1, stride) if stride > 1 or before != 4 * width else nn.Identity()

    def forward(self, x):
        return torch.relu(self.path(x) + self.shortcut(x))


class Basic(nn.Module):
    """A block of ResNet-20: where it narrows the picture, the shortcut takes every second pixel and adds channels."""

    def __init__(self, before, width, stride):
        super().__init__()
        self.path = nn.Sequential(conv(before, width, 3, stride), nn.ReLU(), conv(width, width, 3))
        self.stride, self.added = stride, (width - before) // 2

    def forward(self, x):
        shortcut = x
        if self.stride > 1:
            shortcut = nn.functional.pad(x[:, :, ::2, ::2], (0, 0, 0, 0, self.added, self.added))
        return torch.relu(self.path(x) + shortcut)


def resnet50():
    layers, before = [conv(3, 64, 7, 2), nn.ReLU(), nn.MaxPool2d(3, 2, 1)], 64
    for width, count in ((64, 3), (128, 4), (256, 6), (512, 3)):
        for i in range(count):
            layers.append(Bottleneck(before, width, 2 if i == 0 and width > 64 else 1))
            before = 4 * width
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(2048, 1000)), 224


def resnet20():
    layers, before = [conv(3, 16, 3), nn.ReLU()], 16
    for width in (16, 32, 64):
        for i in range(3):
            layers.append(Basic(before, width, 2 if i == 0 and width > 16 else 1))
            before = width
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, 10)), 32


def vgg_small_7():
    layers, before = [], 3
    for width in (128, 128, "M", 256, 256, "M", 512, 512, "M"):
        if width == "M":
            layers.append(nn.MaxPool2d(2))
        else:
            layers += [conv(before, width, 3), nn.ReLU()]
            before = width
    return nn.Sequential(*layers, nn.Flatten(), nn.Linear(8192, 10)), 32


NETWORKS = {"resnet50": resnet50, "resnet20": resnet20, "vgg-small-7": vgg_small_7}


class Peer:
    def __init__(self, network, batch, mode):
        torch.manual_seed(1)
        model, side = NETWORKS[network]()
        self.batch = batch
        model = model.eval().to("cuda", dtype=torch.bfloat16, memory_format=torch.channels_last)
        self.model = torch.compile(model, mode=None if mode == "default" else mode)
        self.images = torch.rand(batch, 3, side, side, device="cuda", dtype=torch.bfloat16).contiguous(
            memory_format=torch.channels_last)
        self.images_per_second(0.2)  # compiles

    @torch.no_grad()
    def images_per_second(self, seconds):
        for _ in range(5):
            answers = self.model(self.images)
        torch.cuda.synchronize()
        assert torch.isfinite(answers.float()).all()
        runs, start = 0, time.perf_counter()
        while time.perf_counter() - start < seconds:
            for _ in range(5):
                self.model(self.images)
            torch.cuda.synchronize()
            runs += 5
        return runs * self.batch / (time.perf_counter() - start)


def nibble(program, model, batch, seconds):
    words = [program, "bench", model, "--device", "cuda", "--batch", str(batch), "--lanes", "3", "--seconds", str(seconds),
             "--json"]
    return json.loads(subprocess.run(words, check=True, capture_output=True, text=True).stdout)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("nibble")
    parser.add_argument("models", nargs="+", metavar="NETWORK=MODEL.nib")
    parser.add_argument("--batch", type=int, default=1024)
    parser.add_argument("--mode", default="default")
    parser.add_argument("--seconds", type=float, default=1)
    parser.add_argument("--rounds", type=int, default=3)
    flags = parser.parse_args()
    for each in flags.models:
        network, _, model = each.partition("=")
        peer = Peer(network, flags.batch, flags.mode)
        ours, theirs = [], []
        for _ in range(flags.rounds):
            ours.append(nibble(flags.nibble, model, flags.batch, flags.seconds)["throughput"]["from_device"])
            theirs.append(peer.images_per_second(flags.seconds))
        ratio = statistics.median(a / b for a, b in zip(ours, theirs))
        print(f"{network}, batch {flags.batch}: nibble {statistics.median(ours):.0f} images/s, torch {torch.__version__} "
              f"bf16 {flags.mode} {statistics.median(theirs):.0f}, {ratio:.2f} times as fast", flush=True)


if __name__ == "__main__":
    main()
