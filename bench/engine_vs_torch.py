#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Inference on one GPU: Nibble's integers and PyTorch in bf16 (torch.compile, channels last), in turns in one run.

usage: engine_vs_torch.py NIBBLE NETWORK=MODEL.nib[@BATCH,...] ... [--mode default] [--seconds 0.3] [--rounds 2]

NETWORK is resnet50, resnet20 or vgg-small-7, each at batch 1024 or at those behind the @. PyTorch's networks have random
weights and batch norms folded into the convolutions, compiled for each batch; pictures lie on the GPU for both. Nibble's figure
is that of three batches on their way ("from the device"); `nibble bench` checks that answers stay the same. Figures are medians
of the rounds. Without PyTorch, a GPU or a model nothing can be compared, and the exit code says so.

    engine_vs_torch.py gpu-pack/bin/nibble resnet50=r50.nib@256,512,1024,2048 vgg-small-7=runs/vgg/model.nib
"""

import argparse
import json
import statistics
import subprocess
import sys
import time

try:
    import torch
    from torch import nn
except ImportError as error:
    sys.exit(f"engine_vs_torch: no peer: {error}")


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
        torch.compiler.reset()  # of another batch: it would be compiled for any from the second on
        self.model = torch.compile(model, mode=None if mode == "default" else mode, dynamic=False)
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
    """Images a second with three batches on their way, and the share of the GPU's int8 peak in the best layer and in all."""
    words = [program, "bench", model, "--device", "cuda", "--batch", str(batch), "--lanes", "3", "--seconds", str(seconds),
             "--json"]
    found = json.loads(subprocess.run(words, check=True, stdout=subprocess.PIPE, text=True).stdout)
    images, peak = found["throughput"]["from_device"], found["peak_gops"]
    operations = found["gops"] / found["images_per_second"]  # of a picture, in thousands of millions
    return images, max(step["gops"] for step in found["steps"]) / peak, images * operations / peak


def compare(flags, network, model, batch):
    peer = Peer(network, batch, flags.mode)
    ours, theirs = [], []
    for _ in range(flags.rounds):
        ours.append(nibble(flags.nibble, model, batch, flags.seconds))
        theirs.append(peer.images_per_second(flags.seconds))
    images, best, whole = (statistics.median(values) for values in zip(*ours))
    ratio = statistics.median(a[0] / b for a, b in zip(ours, theirs))
    print(f"{network}, batch {batch}: nibble {images:.0f} images/s ({100 * whole:.1f} % of the int8 peak, the best layer "
          f"{100 * best:.1f} %), torch {torch.__version__} bf16 {flags.mode} {statistics.median(theirs):.0f}, {ratio:.2f} times "
          "as fast", flush=True)


def case(text):
    network, _, rest = text.partition("=")
    model, _, batches = rest.partition("@")
    if network not in NETWORKS or not model:
        raise argparse.ArgumentTypeError(f"got {text}, expected NETWORK=MODEL.nib of {', '.join(NETWORKS)}")
    return network, model, [int(each) for each in batches.split(",")] if batches else [1024]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("nibble")
    parser.add_argument("cases", nargs="+", metavar="NETWORK=MODEL.nib[@BATCH,...]", type=case)
    parser.add_argument("--mode", default="default")
    parser.add_argument("--seconds", type=float, default=0.3)
    parser.add_argument("--rounds", type=int, default=2)
    flags = parser.parse_args()
    if not torch.cuda.is_available():
        sys.exit("engine_vs_torch: no peer: torch has no GPU here")
    start = time.perf_counter()
    for network, model, batches in flags.cases:
        for batch in batches:
            compare(flags, network, model, batch)
    print(f"took {time.perf_counter() - start:.0f} s")


if __name__ == "__main__":
    main()
