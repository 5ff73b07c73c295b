#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Training steps of VGG-small-7 on one GPU: Nibble's integers and PyTorch (channels last), in one run.

usage: cuda_vs_torch.py CUDA_TRAINING_BENCH [--batches 256 1024]
                        [--modes eager reduce-overhead max-autotune compile autocast] [--seconds 1.5]
                        [--limit 60] [--budget 150]

Both take whole steps (forward, loss, backward, update with momentum 0.9 in PyTorch) of random pictures that lie on the
GPU. PyTorch computes in bf16: weights of bf16, and the same by autocast in eager mode; its memory in fp32 is the most
that it had allocated in a step, Nibble's all that a step took of the GPU beside CUDA's own. A figure that is not there
after --limit seconds, compilation included, is said to be missing: PyTorch runs in a process of its own, which is then
started anew for the next figure. So is what would begin after --budget seconds in all: modes are measured in their order,
each at all batches.
CUDA_TRAINING_BENCH compares weights with the CPU's by itself, and fails where they differ; `-` leaves Nibble out.
"""

import argparse
import os
import re
import signal
import subprocess
import sys
import threading
import time

NETWORK = "vgg-small-7"
FIGURE = "figure"
LINE = re.compile(r"exact *: +([\d.]+) us a step.* ([\d.]+) MiB of the GPU")


def nibble_step(program, batch):
    """Seconds of a step and bytes of the GPU."""
    words = [program, "steps", NETWORK, str(batch)]
    output = subprocess.run(words, check=True, capture_output=True, text=True).stdout
    found = LINE.search(output)
    if not found:
        sys.exit(f"{' '.join(words)}: expected '… exact: … us a step … MiB of the GPU', got {output!r}")
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
        self.optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9, fused=True)
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


def measure_torch(seconds):
    """A process of its own: for each line "MODE BATCH" the seconds of a step, or the bytes of one in fp32."""
    import torch
    import torch._inductor.config

    torch.backends.cudnn.benchmark = True
    torch.set_float32_matmul_precision("high")
    # Triton's convolutions lost to cuDNN's in every layer here (71 % of its speed at best), and take a minute to try.
    torch._inductor.config.max_autotune_conv_backends = "ATEN"
    for line in sys.stdin:
        mode, batch = line.split()
        if mode == "memory":
            print(FIGURE, fp32_bytes(torch, int(batch)), flush=True)
            continue
        step = TorchStep(torch, int(batch), torch.bfloat16, "eager" if mode == "autocast" else mode, mode == "autocast")
        print(FIGURE, step.seconds(seconds), flush=True)
        del step
        torch._dynamo.reset()
        torch.cuda.empty_cache()


class TorchProcess:
    def __init__(self, seconds, limit, budget):
        self.words = [sys.executable, __file__, "--measure", str(seconds)]
        self.limit = limit
        self.end_of_budget = time.monotonic() + budget
        self.process = None

    def figure(self, mode, batch):
        """None: not there in time, or failed."""
        limit = min(self.limit, self.end_of_budget - time.monotonic())
        if limit <= 0:
            return None
        if self.process is None:
            self.process = subprocess.Popen(self.words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                            bufsize=1, start_new_session=True)
        late = threading.Timer(limit, self.stop, [self.process])
        late.start()
        try:
            self.process.stdin.write(f"{mode} {batch}\n")
            for line in self.process.stdout:
                if line.startswith(FIGURE):
                    return float(line.split()[1])
        except BrokenPipeError:
            pass
        finally:
            late.cancel()
        self.process = None
        return None

    @staticmethod
    def stop(process):
        os.killpg(process.pid, signal.SIGKILL)  # and those who compile for it

    def end(self):
        if self.process is not None:
            self.process.stdin.close()
            self.process.wait()


def main():
    if sys.argv[1:2] == ["--measure"]:
        return measure_torch(float(sys.argv[2]))
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("--batches", type=int, nargs="+", default=[256, 1024])
    parser.add_argument("--modes", nargs="*",
                        default=["eager", "reduce-overhead", "max-autotune", "compile", "autocast"])
    parser.add_argument("--seconds", type=float, default=1.5)
    parser.add_argument("--limit", type=float, default=60)
    parser.add_argument("--budget", type=float, default=150)
    options = parser.parse_args()
    own, own_bytes = {}, {}
    for batch in options.batches if options.program != "-" else []:
        own[batch], own_bytes[batch] = nibble_step(options.program, batch)
        print(f"batch {batch}: nibble int8 exact {1e6 * own[batch]:.0f} us, {batch / own[batch]:,.0f} images/s", flush=True)
    peer = TorchProcess(options.seconds, options.limit, options.budget)
    for batch in options.batches:
        peer_bytes = peer.figure("memory", batch)
        if peer_bytes is None:
            continue
        print(f"batch {batch}: a step of PyTorch in fp32 takes {peer_bytes / 2**20:.0f} MiB", flush=True)
        if batch in own_bytes:
            print(f"batch {batch}: memory {own_bytes[batch] / 2**20:.0f} MiB, "
                  f"{100 * own_bytes[batch] / peer_bytes:.0f} % of it", flush=True)
    best = {}
    for mode in options.modes:
        for batch in options.batches:
            seconds = peer.figure(mode, batch)
            if seconds is None:
                print(f"batch {batch}: torch bf16 {mode} failed, or not ended in time", flush=True)
                continue
            best[batch] = min(best.get(batch, seconds), seconds)
            print(f"batch {batch}: torch bf16 {mode} {1e6 * seconds:.0f} us, {batch / seconds:,.0f} images/s", flush=True)
    for batch in sorted(best.keys() & own.keys()):
        print(f"batch {batch}: {best[batch] / own[batch]:.2f} times the best of PyTorch", flush=True)
    peer.end()


if __name__ == "__main__":
    main()
