#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Trains a recipe's network on CIFAR-10 in floats with PyTorch on a GPU: the float twin of a course in integers.

  bench/float_twin.py cifar10-resnet20-int8 --epochs 150 --out runs/twin     (nibble report runs/* lays it over others)
  bench/float_twin.py cifar10-resnet26-fp32 --out runs/r26 --weights r26.npz
  nibble convert r26.npz r26.nib --network resnet26-32x32                    (the same network for all other verbs)

Network, batch, rate, momentum (Nesterov's or not), decay, smoothing, augmentation and the pictures' mean and deviation are the
recipe's, the schedule is one cycle, its own where it has one; where courses in integers by a rate take the mean of their weights,
so does this one. A recipe by NITI's rule has no rate of its own: 0.05, 0.9 and 5e-4 are then usual, and there is no mean, though
the course in integers has one. Weights begin as He et al. have them; all parameters decay, as is PyTorch's way; batch norms answer
by running statistics, those of a mean by statistics of 8,192 augmented pictures. Products are tf32 (--bf16: bf16, with sums and
batch norms in fp32). The last batch of an epoch has what is left, as in integers. A loss that is no number ends the run with
status 1. It needs PyTorch with CUDA, and CIFAR-10 in $NIBBLE_DATA or ~/.cache/nibble, where `nibble data get cifar10` brings it.
"""

import argparse
import json
import math
import os
import re
import sys
import time
import tomllib
from pathlib import Path

try:
    import numpy as np
    import torch
    from torch import nn
    from torch.nn import functional as F
except ModuleNotFoundError as missing:
    sys.exit(f"float_twin: got no module {missing.name}, expected NumPy and PyTorch with CUDA: pip install torch numpy")

ROOT = Path(__file__).resolve().parent.parent
MEAN, DEVIATION = (0.4914, 0.4822, 0.4465), (0.2470, 0.2435, 0.2616)
CIFAR10 = [*(f"data_batch_{i}.bin" for i in range(1, 6)), "test_batch.bin"]
CYCLE = (0.3, 0.04, 4e-6)
USUAL = {"rate": 0.05, "momentum": 0.9, "weight_decay": 5e-4}  # where a recipe has none


class Network(nn.Module):
    """A network of networks/*.toml."""

    def __init__(self, description):
        super().__init__()
        self.layers, self.parts, self.names = [], nn.ModuleDict(), {}
        channels, before = {"input": description["input"][2]}, "input"
        extent = {"input": description["input"][0]}
        for index, layer in enumerate(description["layers"][:-1]):
            name = layer.get("name", str(index)).replace(".", "_")  # parts of modules have no dots
            self.names[name] = layer.get("name", str(index))
            inputs = layer.get("from", before)
            inputs = [each.replace(".", "_") for each in ([inputs] if isinstance(inputs, str) else inputs)]
            width, side = channels[inputs[0]], extent[inputs[0]]
            if layer["op"] == "conv2d":
                stride, padding = layer.get("stride", 1), layer.get("padding", 0)
                conv = nn.Conv2d(width, layer["channels"], layer["kernel"], stride, padding, bias=layer.get("bias", False))
                nn.init.kaiming_normal_(conv.weight, mode="fan_out")
                self.parts[name], width = conv, layer["channels"]
                side = (side + 2 * padding - layer["kernel"]) // stride + 1
            elif layer["op"] == "batch_norm":
                self.parts[name] = nn.BatchNorm2d(width)
            elif layer["op"] == "linear":
                self.parts[name] = nn.Linear(width * side * side, layer["features"], bias=layer.get("bias", False))
            elif layer["op"] == "max_pool":
                side = (side + 2 * layer.get("padding", 0) - layer["kernel"]) // layer.get("stride", layer["kernel"]) + 1
            elif layer["op"] == "slice":
                side = -(-side // layer["step"][0])
            elif layer["op"] == "pad":
                width += layer["before"][2] + layer["after"][2]
            elif layer["op"] == "global_average_pool":
                side = 1
            self.layers.append((layer, name, inputs))
            channels[name], extent[name], before = width, side, name

    def forward(self, x):
        values = {"input": x}
        for layer, name, inputs in self.layers:
            x, op = values[inputs[0]], layer["op"]
            if name in self.parts:
                x = self.parts[name](x.flatten(1) if op == "linear" else x)
            elif op == "relu":
                x = F.relu(x)
            elif op == "add":
                x = x + values[inputs[1]]
            elif op == "dropout":
                x = F.dropout(x, layer["share"], self.training)
            elif op == "max_pool":
                x = F.max_pool2d(x, layer["kernel"], layer.get("stride"), layer.get("padding", 0))
            elif op == "slice":
                x = x[:, :, ::layer["step"][0], ::layer["step"][1]]
            elif op == "pad":
                x = F.pad(x, (0, 0, 0, 0, layer["before"][2], layer["after"][2]))
            elif op == "global_average_pool":
                x = x.mean((2, 3), keepdim=True)
            elif op != "flatten":
                raise SystemExit(f"float_twin: layer {name}: got {op}, expected an operation of the CIFAR-10 networks")
            values[name] = x
        return x

    def arrays(self):
        """Weights and statistics by the names of the network's layers, as `nibble convert` takes them."""
        return {f"{self.names[name]}.{key}": value.float().cpu().numpy()
                for name, part in self.parts.items() for key, value in part.state_dict().items()
                if key != "num_batches_tracked"}


def folder_of_cifar10():
    """The first place that has all files, as docs/data.md says."""
    places = [Path(os.environ["NIBBLE_DATA"])] if os.environ.get("NIBBLE_DATA") else []
    folders = [place / "cifar10" for place in (*places, Path.home() / ".cache" / "nibble")]
    for folder in (each / below for each in folders for below in (".", "cifar-10-batches-bin")):
        if all((folder / name).is_file() for name in CIFAR10):
            return folder
    sys.exit(f"float_twin: got no {CIFAR10[0]} … {CIFAR10[-1]} in {' or '.join(map(str, folders))}, expected CIFAR-10: "
             "nibble data get cifar10")


def images_of(files):
    rows = np.concatenate([np.fromfile(file, np.uint8).reshape(-1, 3073) for file in files])
    pictures = torch.from_numpy(rows[:, 1:].reshape(-1, 3, 32, 32).copy()).cuda()
    return pictures, torch.from_numpy(rows[:, 0].astype(np.int64)).cuda()


def augmented(images, labels, crop, flip):
    """A whole epoch in a new order: crops out of a black border, half of them mirrored."""
    order, side = torch.randperm(len(images), device="cuda"), torch.arange(32, device="cuda")
    out = torch.empty_like(images)
    for begin in range(0, len(images), 5000):
        part = F.pad(images[order[begin:begin + 5000]], (crop,) * 4)
        count = len(part)
        rows = torch.randint(0, 2 * crop + 1, (count, 1), device="cuda") + side
        mirrored = torch.rand(count, 1, device="cuda") < (0.5 if flip else 0)
        columns = torch.randint(0, 2 * crop + 1, (count, 1), device="cuda") + torch.where(mirrored, side.flip(0), side)
        which = torch.arange(count, device="cuda")[:, None, None]
        out[begin:begin + 5000] = part[which, :, rows[:, :, None], columns[:, None, :]].permute(0, 3, 1, 2)
    return out, labels[order]


def cycle_of(schedule):
    """(peak, start, floor) of `onecycle` or `onecycle(peak,start,floor)`."""
    given = re.fullmatch(r"onecycle(?:\(([\d.e,-]+)\))?", schedule.replace(" ", ""))
    numbers = [float(each) for each in given[1].split(",")] if given and given[1] else []
    if not given or len(numbers) > len(CYCLE):
        sys.exit(f"float_twin: got the schedule {schedule}, expected onecycle or onecycle(0.3,0.04,4e-6)")
    return (*numbers, *CYCLE[len(numbers):])


def settings_of(recipe, arguments):
    """What the command says, else the recipe, else what is usual: of a course in integers that has a rate, so not by NITI's
    rule, the mean of the last quarter's weights, too."""
    epochs = arguments.epochs or recipe["epochs"]
    has_mean = recipe.get("arith") == "int8" and "rate" in recipe
    last_quarter = epochs - epochs // 4 + 1 if epochs >= 4 else 0
    usual = {**USUAL, "nesterov": False, "schedule": "onecycle", "average_from": last_quarter if has_mean else 0}
    told = {name: getattr(arguments, name) for name in (*usual, "batch")}
    own = {name: value for name, value in recipe.items() if name != "schedule" or value.startswith("onecycle")}
    if own.get("average_from", 0) > epochs:
        own["average_from"] = last_quarter
    return {**usual, **own, **{name: value for name, value in told.items() if value is not None}, "epochs": epochs}


def rate_at(share, top, peak, start, floor):
    if share < peak:
        return top * (start + (1 - start) * (1 - math.cos(math.pi * share / peak)) / 2)
    return top * (floor + (1 - floor) * (1 + math.cos(math.pi * (share - peak) / (1 - peak))) / 2)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("recipe")
    parser.add_argument("--epochs", type=int)
    parser.add_argument("--batch", type=int)
    parser.add_argument("--seed", type=int, default=1)
    for name, usual in USUAL.items():
        parser.add_argument("--" + name.replace("_", "-"), type=float, help=f"instead of the recipe's, or of {usual}")
    parser.add_argument("--schedule", help="onecycle(peak,start,floor) in place of the recipe's one cycle")
    parser.add_argument("--nesterov", action="store_true", default=None, help="though the recipe has plain momentum")
    parser.add_argument("--average-from", type=int, help="epoch, from 1, whose weights are the first of the mean (the recipe's; 0: none)")
    parser.add_argument("--bf16", action="store_true")
    parser.add_argument("--weights", type=Path, help="an .npz that the trained weights are written to")
    parser.add_argument("--out", type=Path, required=True, help="folder of the run: settings.json, epochs.csv, summary.json")
    arguments = parser.parse_args()
    text = ROOT / "recipes" / f"{arguments.recipe}.toml"
    if not text.is_file():
        sys.exit(f"float_twin: got {arguments.recipe}, expected a recipe of recipes/, as cifar10-resnet20-int8")
    recipe = tomllib.loads(text.read_text())
    network = tomllib.loads((ROOT / "networks" / f"{recipe['network']}.toml").read_text())
    recipe = settings_of(recipe, arguments)
    epochs, batch, average_from = (recipe[name] for name in ("epochs", "batch", "average_from"))
    cycle = cycle_of(recipe["schedule"])
    torch.manual_seed(arguments.seed)
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = torch.backends.cudnn.benchmark = True

    files = [folder_of_cifar10() / name for name in CIFAR10]
    if not torch.cuda.is_available():
        sys.exit("float_twin: got no CUDA device, expected a GPU and a build of PyTorch for it")
    train, test = images_of(files[:-1]), images_of(files[-1:])
    mean, deviation = (torch.tensor(each, device="cuda").view(1, 3, 1, 1)
                       for each in (recipe.get("mean", MEAN), recipe.get("deviation", DEVIATION)))
    model = Network(network).cuda().to(memory_format=torch.channels_last)
    parameters = list(model.parameters())
    momenta = [torch.zeros_like(each) for each in parameters]
    rate, sums = torch.zeros((), device="cuda"), torch.zeros(2, device="cuda")

    def answer(images):
        x = ((images.float() / 255 - mean) / deviation).contiguous(memory_format=torch.channels_last)
        with torch.autocast("cuda", torch.bfloat16, enabled=arguments.bf16, cache_enabled=False):
            return model(x).float()

    def step(pictures, labels):
        answers = answer(pictures)
        loss = F.cross_entropy(answers, labels, label_smoothing=recipe.get("smoothing", 0.0))
        gradients = torch.autograd.grad(loss, parameters)
        with torch.no_grad():
            sums.add_(torch.stack((loss * len(labels), (answers.argmax(1) == labels).float().sum())))
            gradients = torch._foreach_add(gradients, parameters, alpha=recipe["weight_decay"])
            added = torch._foreach_mul(gradients, rate)
            torch._foreach_mul_(momenta, recipe["momentum"])
            torch._foreach_add_(momenta, added)
            if recipe["nesterov"]:
                torch._foreach_add_(added, momenta, alpha=recipe["momentum"])
                torch._foreach_sub_(parameters, added)
            else:
                torch._foreach_sub_(parameters, momenta)

    @torch.no_grad()
    def take_mean(images):
        """The mean of weights, with batch norms by the statistics of these pictures as they are trained on."""
        torch._foreach_copy_(parameters, torch._foreach_div(totals, float(averaged)))
        for part in model.modules():
            if isinstance(part, nn.BatchNorm2d):
                part.reset_running_stats()
                part.momentum = None  # the mean of all batches
        for part in images.split(256):
            answer(part)

    @torch.no_grad()
    def evaluated():
        model.eval()
        answers = torch.cat([answer(part) for part in test[0].split(1000)])
        model.train()
        return float(F.cross_entropy(answers, test[1])), float((answers.argmax(1) == test[1]).float().mean())

    def captured(size):
        """(pictures, labels, graph): a step on so many images that are copied there."""
        taken = torch.zeros_like(train[0][:size]), torch.zeros_like(train[1][:size])
        stream = torch.cuda.Stream()
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):  # by a rate of 0
            for _ in range(3):
                step(*taken)
        torch.cuda.current_stream().wait_stream(stream)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            step(*taken)
        return *taken, graph

    totals, averaged = [torch.zeros_like(each) for each in parameters], 0
    graphs = {size: captured(size) for size in {batch, len(train[0]) % batch} - {0}}
    for each in momenta:
        each.zero_()
    for part in model.modules():
        if isinstance(part, nn.BatchNorm2d):
            part.reset_running_stats()

    arguments.out.mkdir(parents=True, exist_ok=True)
    settings = {"command": " ".join(sys.argv), "machine": {"gpu": torch.cuda.get_device_name(), "torch": torch.__version__},
                "arithmetic": "bf16" if arguments.bf16 else "tf32",
                **{key: value for key, value in recipe.items() if key not in ("summary", "follows", "arith")},
                "recipe": f"{arguments.recipe}, in floats", "seed": arguments.seed}
    (arguments.out / "settings.json").write_text(json.dumps(settings, indent=2) + "\n")
    rows = ["epoch,step,learning_rate,train_loss,train_top1,test_loss,test_top1,seconds"]
    steps, started = -(-len(train[0]) // batch), time.time()
    for epoch in range(epochs):
        begin = time.time()
        images, classes = augmented(*train, recipe.get("crop", 0), recipe.get("flip", False))
        sums.zero_()
        for i in range(steps):
            rate.fill_(rate_at((epoch * steps + i) / (epochs * steps), recipe["rate"], *cycle))
            part = slice(i * batch, (i + 1) * batch)
            pictures, labels, graph = graphs[len(classes[part])]
            pictures.copy_(images[part])
            labels.copy_(classes[part])
            graph.replay()
            if 0 < average_from <= epoch + 1:
                torch._foreach_add_(totals, parameters)
                averaged += 1
        loss, right = (sums / len(classes)).tolist()
        if not math.isfinite(loss):
            raise SystemExit(f"float_twin: epoch {epoch + 1}: the loss is {loss}; try a lower --rate")
        seconds = time.time() - begin
        test_loss, top1 = evaluated()
        rows.append(f"{epoch + 1},{(epoch + 1) * steps},{float(rate):.6g},{loss:.5f},{right:.5f},{test_loss:.5f},{top1:.4f},"
                    f"{seconds:.3f}")
        (arguments.out / "epochs.csv").write_text("\n".join(rows) + "\n")
        if epoch % 10 == 9 or epoch + 1 == epochs:
            print(rows[-1], flush=True)
    unaveraged = top1
    if averaged:
        take_mean(augmented(*train, recipe.get("crop", 0), recipe.get("flip", False))[0][:8192])
        test_loss, top1 = evaluated()
        print(f"the mean of {averaged} steps: {top1:.4f}, loss {test_loss:.5f}", flush=True)
    if arguments.weights:
        np.savez(arguments.weights, **model.arrays())
    summary = {"epochs": epochs, "steps": epochs * steps, "seconds": time.time() - started,
               **({"unaveraged": unaveraged} if averaged else {}),
               "test": {"images": len(test[0]), "correct": round(top1 * len(test[0])), "top1": top1, "loss": test_loss}}
    (arguments.out / "summary.json").write_text(json.dumps(summary) + "\n")


if __name__ == "__main__":
    main()
