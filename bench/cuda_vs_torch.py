#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Training steps of VGG-small-7 on one GPU: Nibble's integers and PyTorch (channels last), in one run.

usage: cuda_vs_torch.py CUDA_TRAINING_BENCH [--batches 256 1024] [--modes eager compile max-autotune] [--seconds 2]

Both take whole steps (forward, loss, backward, update with momentum 0.9 in PyTorch) of random pictures that lie on the
GPU. PyTorch computes in bf16: weights of bf16, and the same by autocast in eager mode; its memory in fp32 is the most
that it had allocated in a step, Nibble's all that a step took of the GPU beside CUDA's own. CUDA_TRAINING_BENCH compares
weights with the CPU's by itself: run it without words first.
"""

import argparse
import re
import subprocess
import sys
import time

NETWORK = "vgg-small-7"
LINE = re.compile(r"([\d.]+) us a step.* ([\d.]+) MiB of the GPU")


def nibble_step(program, batch):
    """Seconds of a step and bytes of the GPU."""
    words = [program, "steps", NETWORK, str(batch)]
    output = subprocess.run(words, check=True, capture_output=True, text=True).stdout
    found = LINE.search(output)
    if not found:
        sys.exit(f"{' '.join(words)}: expected '… us a step … MiB of the GPU', got {output!r}")
    return float(found[1]) * 1e-6, float(found[2]) * 2**20


def vgg_small_7(torch):
    nn = torch.nn
    layers, before = [], 3
    for width in (128, 128, "M", 256, 256, "M", 512, 512, "M"):
        if width == "M":
            layers.append(nn.MaxPool2d(2))
        else:
            layers += [nn.Conv2d(before, width, 3, padding=1, bias=False), nn.ReLU(inplace=True)]
            before = width
    return nn.Sequential(*layers, nn.Flatten(), nn.Linear(8192, 10, bias=False))


class TorchStep:
    def __init__(self, torch, batch, dtype, mode, uses_autocast=False):
        self.torch, self.dtype, self.uses_autocast = torch, dtype, uses_autocast
        torch.manual_seed(1)
        weights = torch.float32 if uses_autocast else dtype
        model = vgg_small_7(torch).to("cuda", dtype=weights, memory_format=torch.channels_last)
        self.model = model if mode == "eager" else torch.compile(model, mode=None if mode == "compile" else mode)
        self.optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
        self.loss = torch.nn.CrossEntropyLoss()
        self.images = torch.rand(batch, 3, 32, 32, device="cuda", dtype=weights).contiguous(
            memory_format=torch.channels_last)
        self.labels = torch.randint(10, (batch,), device="cuda")

    def __call__(self):
        self.optimizer.zero_grad(set_to_none=True)
        with self.torch.autocast("cuda", dtype=self.dtype, enabled=self.uses_autocast):
            loss = self.loss(self.model(self.images).float(), self.labels)
        loss.backward()
        self.optimizer.step()
        return loss

    def seconds(self, at_least):
        """The mean of many steps in a row, after enough to compile and to choose algorithms."""
        for _ in range(20):
            loss = self()
        if not self.torch.isfinite(loss).item():
            sys.exit("PyTorch's loss is not finite")
        self.torch.cuda.synchronize()
        steps, start = 0, time.perf_counter()
        while time.perf_counter() - start < at_least:
            for _ in range(20):
                self()
            self.torch.cuda.synchronize()
            steps += 20
        return (time.perf_counter() - start) / steps


def fp32_bytes(torch, batch):
    torch.cuda.empty_cache()
    step = TorchStep(torch, batch, torch.float32, "eager")
    step()
    torch.cuda.synchronize()
    torch.cuda.reset_peak_memory_stats()
    step()
    torch.cuda.synchronize()
    return torch.cuda.max_memory_allocated()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("--batches", type=int, nargs="+", default=[256, 1024])
    parser.add_argument("--modes", nargs="*", default=["eager", "autocast", "compile", "max-autotune"])
    parser.add_argument("--seconds", type=float, default=2.0)
    options = parser.parse_args()
    import torch

    torch.backends.cudnn.benchmark = True
    torch.set_float32_matmul_precision("high")
    print(f"{torch.cuda.get_device_name()}, PyTorch {torch.__version__}, {NETWORK}", flush=True)
    for batch in options.batches:
        own, own_bytes = nibble_step(options.program, batch)
        print(f"batch {batch}: nibble int8 exact {1e6 * own:.0f} us, {batch / own:,.0f} images/s", flush=True)
        best = None
        for mode in options.modes:
            step = TorchStep(torch, batch, torch.bfloat16, "eager" if mode == "autocast" else mode, mode == "autocast")
            seconds = step.seconds(options.seconds)
            del step
            torch._dynamo.reset()
            torch.cuda.empty_cache()
            best = min(best or seconds, seconds)
            print(f"batch {batch}: torch bf16 {mode} {1e6 * seconds:.0f} us, {batch / seconds:,.0f} images/s", flush=True)
        if best:
            print(f"batch {batch}: {best / own:.2f} times the best of PyTorch", flush=True)
        peer_bytes = fp32_bytes(torch, batch)
        print(f"batch {batch}: memory {own_bytes / 2**20:.0f} MiB, {100 * own_bytes / peer_bytes:.0f} % of PyTorch's "
              f"{peer_bytes / 2**20:.0f} in fp32", flush=True)


if __name__ == "__main__":
    main()
