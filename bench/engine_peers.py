#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Int8 inference of ONNX Runtime, of OpenVINO and of any command, on the same cores, in turns.

A network gets fixed random weights in PyTorch, goes to ONNX (batch norm folded) and is quantized once: u8
activations, s8 weights a channel, Q/DQ pairs, ranges seen on random images. Both peers read that file and
the same float images, so a time holds the quantization of the images; with --bytes it does not: the file's
first QuantizeLinear is left out, and images come as the bytes that it would give.

The peers' logits of 64 images are compared first: most images must get the same class, and what an image
adds to the mean logits must correlate ("corr"; images in the wrong order would have about 0). "diff" is the
largest difference by the range of the logits. ResNet-50 agrees least: OpenVINO leaves out a rounding before
every residual addition, and random weights amplify it. Where --answers names a command, the logits of ours for
the same images must agree with ONNX Runtime's in the same way.

Every round gives each engine a turn: one call unmeasured, then calls for --seconds. Times are the median of
the turns' medians and, in brackets, the least of all calls. "ours by peer" is the time of the faster peer
by ours, the median of the rounds' ratios: above one we are faster.

With --requests as many batches are on their way at a time, a thread each: ONNX Runtime is called from so many
threads, OpenVINO is in its throughput mode, a command says throughput.from_host. A turn is one time then: that of
the turn by its batches.

Needs onnxruntime, openvino and onnx; and torch, torchvision to make files that --work does not have yet.
"""

import argparse
import concurrent.futures
import json
import logging
import os
import statistics
import subprocess
import sys
import tempfile
import time
import tomllib
import warnings
from collections import Counter
from pathlib import Path

import numpy as np

SEED = 1
CHECKED = 64  # images, or one batch if that is more
PAUSE = 0.1  # seconds between turns: threads of ONNX Runtime spin for 40 ms after their last call
DEFINITIONS = Path(__file__).resolve().parent.parent / "networks"
# Sizes of an image (channels, height, width) and the batches of a full run.
CASES = {
    "resnet50": ((3, 224, 224), [1, 16]),
    "mobilenet-v2": ((3, 224, 224), [1, 16]),
    "vgg-small-7": ((3, 32, 32), [1, 16, 64]),
    "lenet": ((1, 28, 28), [1, 16, 64]),
}


def random_images(network, count, seed):
    """Unit normal in blocks of a seventh of a side: images of fine noise look all the same to a deep network."""
    channels, height, width = CASES[network][0]
    side = height // 7
    blocks = np.random.default_rng(seed).standard_normal((count, channels, height // side, width // side))
    return np.kron(blocks, np.ones((1, 1, side, side))).astype(np.float32)


def chain_from_toml(nn, network):
    """The layers of networks/NAME.toml, one after the other; what only training needs is left out."""
    makers = {
        "conv2d": lambda f: nn.LazyConv2d(
            f["channels"], f["kernel"], f.get("stride", 1), f.get("padding", 0), bias=False),
        "linear": lambda f: nn.LazyLinear(f["features"], bias=False),
        "max_pool": lambda f: nn.MaxPool2d(f["kernel"], f.get("stride"), f.get("padding", 0)),
        "relu": lambda f: nn.ReLU(),
        "flatten": lambda f: nn.Flatten(),
    }
    layers = tomllib.loads((DEFINITIONS / f"{network}.toml").read_text())["layers"]
    return nn.Sequential(*(makers[f["op"]](f) for f in layers if f["op"] not in ("dropout", "softmax_cross_entropy")))


def from_torchvision(network):
    """Batch norms take the statistics of the next batch, so that folding them does something; ResNet-50 is 1.5."""
    import torch
    import torchvision

    model = getattr(torchvision.models, network.replace("-", "_"))(weights=None)
    for module in model.modules():
        if isinstance(module, torch.nn.BatchNorm2d):
            module.momentum = 1.0
    return model


def export_float(network, path):
    """ONNX in floats with a free batch; the exporter folds batch norm into the convolutions."""
    import torch

    warnings.filterwarnings("ignore", message="Lazy modules")
    torch.manual_seed(SEED)
    images = torch.from_numpy(random_images(network, 8, SEED))
    is_chain = (DEFINITIONS / f"{network}.toml").exists() and network != "resnet50"
    model = chain_from_toml(torch.nn, network) if is_chain else from_torchvision(network)
    with torch.no_grad():
        model.train()(images)  # sizes of the lazy layers, statistics of batch norm
    names = {"images": {0: "batch"}, "logits": {0: "batch"}}
    torch.onnx.export(model.eval(), images, str(path), opset_version=13, input_names=["images"],
                      output_names=["logits"], dynamic_axes=names)


def quantize(network, source, path):
    from onnxruntime import quantization

    class Images(quantization.CalibrationDataReader):
        def __init__(self):
            self.left = [random_images(network, 8, SEED + 1 + i) for i in range(4)]

        def get_next(self):
            return {"images": self.left.pop()} if self.left else None

    logging.getLogger().setLevel(logging.ERROR)  # it advises a preparation that the exporter has done
    quantization.quantize_static(
        str(source), str(path), Images(), quant_format=quantization.QuantFormat.QDQ, per_channel=True,
        reduce_range=False, activation_type=quantization.QuantType.QUInt8, weight_type=quantization.QuantType.QInt8)


def first_rounding(graph):
    """The node that makes bytes of the images, its scale and its zero point."""
    import onnx

    node = next(n for n in graph.node if n.op_type == "QuantizeLinear" and n.input[0] == "images")
    constants = {each.name: onnx.numpy_helper.to_array(each) for each in graph.initializer}
    return node, constants[node.input[1]], constants[node.input[2]]


def fix_batch(source, path, batch, takes_bytes):
    import onnx
    from onnxruntime.tools import onnx_model_utils

    model = onnx.load(source)
    del model.graph.value_info[:]
    onnx_model_utils.make_dim_param_fixed(model.graph, "batch", batch)
    if takes_bytes:
        rounding, _, _ = first_rounding(model.graph)
        model.graph.node.remove(rounding)
        for node in model.graph.node:
            node.input[:] = ["images" if name == rounding.output[0] else name for name in node.input]
        model.graph.input[0].type.tensor_type.elem_type = onnx.TensorProto.UINT8
    onnx.save(model, path)


def as_bytes(codes, images):
    """What the first QuantizeLinear of the quantized file gives."""
    import onnx

    _, scale, zero = first_rounding(onnx.load(codes).graph)
    return np.clip(np.rint(images / scale) + zero, 0, 255).astype(np.uint8)


def cached(path, make):
    """`path`, made now if it is not there; a broken run leaves no half file."""
    if not path.exists():
        part = path.with_suffix(".part.onnx")
        make(part)
        os.replace(part, path)
    return path


def quantized_files(folder, network, batch, takes_bytes):
    """One set of codes a network, and a file of them for a batch."""
    folder.mkdir(parents=True, exist_ok=True)
    floats = folder / f"{network}-float.onnx"
    codes = folder / f"{network}-int8.onnx"
    if not codes.exists():
        cached(floats, lambda path: export_float(network, path))
    cached(codes, lambda path: quantize(network, floats, path))
    name = f"{network}-int8-{'bytes-' if takes_bytes else ''}b{batch}.onnx"
    return codes, cached(folder / name, lambda path: fix_batch(codes, path, batch, takes_bytes))


class Peer:
    """A library: `call` infers the batch that it was made with, `logits` any other."""

    def turn(self, seconds):
        """Milliseconds of a batch: the median and the least."""
        self.call()
        times = []
        end = time.perf_counter() + seconds
        while len(times) < 3 or time.perf_counter() < end:
            start = time.perf_counter()
            self.call()
            times.append(1e3 * (time.perf_counter() - start))
        return statistics.median(times), min(times)


def all_of_turn(start, batches):
    """What a turn says that measures all of its batches at once."""
    each = 1e3 * (time.perf_counter() - start) / batches
    return each, each


class OnnxRuntime(Peer):
    def __init__(self, file, images, threads, requests):
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        options.inter_op_num_threads = 1
        options.log_severity_level = 3  # it warns of constants that nothing uses
        options.execution_mode = onnxruntime.ExecutionMode.ORT_SEQUENTIAL
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL
        session = onnxruntime.InferenceSession(str(file), options, providers=["CPUExecutionProvider"])
        binding = session.io_binding()
        binding.bind_cpu_input("images", images)
        binding.bind_output("logits")
        self.call = lambda: session.run_with_iobinding(binding)
        self.logits = lambda batch: session.run(None, {"images": batch})[0]
        if requests > 1:
            self.turn = lambda seconds: self.many(lambda: session.run(None, {"images": images}), requests, seconds)

    @staticmethod
    def many(call, requests, seconds):
        with concurrent.futures.ThreadPoolExecutor(requests) as threads:
            start = time.perf_counter()

            def calls(_):
                count = 0
                while count < 3 or time.perf_counter() < start + seconds:
                    call()
                    count += 1
                return count

            return all_of_turn(start, sum(threads.map(calls, range(requests))))


class OpenVino(Peer):
    def __init__(self, file, images, threads, requests):
        import openvino

        one = {"INFERENCE_NUM_THREADS": threads, "PERFORMANCE_HINT": "LATENCY", "NUM_STREAMS": 1}
        several = {"INFERENCE_NUM_THREADS": threads * requests, "PERFORMANCE_HINT": "THROUGHPUT"}
        self.model = openvino.Core().compile_model(str(file), "CPU", several if requests > 1 else one)
        tensor = openvino.Tensor(images, shared_memory=True)
        request = self.model.create_infer_request()
        request.set_input_tensor(tensor)
        self.call = request.infer
        self.logits = lambda batch: self.model(batch)[0].copy()
        if requests > 1:
            queue = openvino.AsyncInferQueue(self.model)  # as many jobs as OpenVINO finds best
            for each in queue:
                each.set_input_tensor(tensor)
            self.turn = lambda seconds: self.many(queue, seconds)

    @staticmethod
    def many(queue, seconds):
        start = time.perf_counter()
        count = 0
        while count < 3 * len(queue) or time.perf_counter() < start + seconds:
            queue.start_async()
            count += 1
        queue.wait_all()
        return all_of_turn(start, count)

    def kernels(self):
        """The kernels of convolutions and linear layers with their counts; the type comes last in a name."""
        infos = [op.get_rt_info() for op in self.model.get_runtime_model().get_ops()]
        heavy = [i for i in infos if i["layerType"].astype(str) in ("Convolution", "FullyConnected", "MatMul")]
        return dict(Counter(i["primitiveType"].astype(str) for i in heavy))


def output_of(text, **names):
    """What a command says, with values in the place of {names}."""
    for name, value in names.items():
        text = text.replace("{" + name + "}", str(value))
    done = subprocess.run(text, shell=True, stdout=subprocess.PIPE, text=True)
    if done.returncode:
        sys.exit(f"engine_peers: exit code {done.returncode} of: {text}")
    return done.stdout


class Command:
    """An engine of ours: a command that measures itself."""

    def __init__(self, text, network, batch, threads, requests):
        self.text = text
        self.names = {"network": network, "batch": batch, "threads": threads, "requests": requests}

    def turn(self, seconds):
        said = json.loads(output_of(self.text, **self.names))
        if self.names["requests"] > 1:
            each = 1e3 * self.names["batch"] / said["throughput"]["from_host"]
            return each, each
        return said["median_ms"], said.get("least_ms", said["median_ms"])


def answers_of(text, network, images):
    """The logits that a command of ours writes."""
    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder) / "images.npy", Path(folder) / "logits.npy"
        np.save(source, images)
        output_of(text, network=network, input=source, output=target)
        return np.load(target)


def compare_logits(network, batch, a, b):
    """How far two agree; the end of the program where they do not."""
    agreement = {
        "same_class": float(np.mean(a.argmax(1) == b.argmax(1))),
        "difference": float(np.abs(a - b).max() / np.ptp(a)),
        "correlation": float(np.corrcoef((a - a.mean(0)).ravel(), (b - b.mean(0)).ravel())[0, 1]),
    }
    if not (agreement["same_class"] > 0.5 and agreement["correlation"] > 0.6):
        sys.exit(f"{network}, batch {batch}: logits disagree: {agreement}")
    return agreement


def measure(flags, network, batch, threads):
    """One row: the peers agree first, then all engines in turns."""
    codes, file = quantized_files(flags.work, network, batch, flags.bytes)
    entering = (lambda images: as_bytes(codes, images)) if flags.bytes else (lambda images: images)
    images = entering(random_images(network, batch, SEED + 100))
    peers = {"ort": OnnxRuntime(file, images, threads, flags.requests),
             "openvino": OpenVino(file, images, threads, flags.requests)}
    checked = [random_images(network, batch, SEED + 200 + i) for i in range(-(-CHECKED // batch))]
    logits = [np.concatenate([peer.logits(entering(each)) for each in checked]) for peer in peers.values()]
    agreement = compare_logits(network, batch, *logits)
    for name, text in flags.answers:
        ours = compare_logits(network, batch, logits[0], answers_of(text, network, np.concatenate(checked)))
        print(f"{name} and ort: same {ours['same_class']:.0%}, corr {ours['correlation']:.4f}")
    engines = peers | {name: Command(text, network, batch, threads, flags.requests) for name, text in flags.ours}
    turns = {name: [] for name in engines}
    for _ in range(flags.rounds):
        for name, engine in engines.items():
            time.sleep(PAUSE)
            turns[name].append(engine.turn(flags.seconds))

    row = {"network": network, "batch": batch, "threads": threads, "requests": flags.requests}
    row |= agreement | {"openvino_kernels": peers["openvino"].kernels()}
    for name, pairs in turns.items():
        row[name] = {"median_ms": statistics.median(median for median, _ in pairs),
                     "least_ms": min(least for _, least in pairs)}
        row[name]["images_per_s"] = 1e3 * batch / row[name]["median_ms"]
    faster = min(peers, key=lambda name: row[name]["median_ms"])
    for name, _ in flags.ours:
        row[name]["by_faster_peer"] = statistics.median(p / o for (p, _), (o, _) in zip(turns[faster], turns[name]))
    return row


def text_of(row, names):
    cells = f"{row['network']:<12} {row['batch']:>5} {row['threads']:>7}"
    for name in names:
        times = f"{row[name]['median_ms']:.3f} ({row[name]['least_ms']:.3f})"
        cells += f" | {times:>20} {row[name]['images_per_s']:>9.1f}"
        if "by_faster_peer" in row[name]:
            cells += f" {row[name]['by_faster_peer']:>11.2f}x"
    return cells + f" | {row['same_class']:>5.0%} {row['difference']:>6.2%} {row['correlation']:>6.4f}"


def title_of(names, ours):
    cells = f"{'network':<12} {'batch':>5} {'threads':>7}"
    for name in names:
        cells += f" | {name + ' ms (least)':>20} {'images/s':>9}" + (" ours by peer" if name in ours else "")
    return cells + " |  same   diff   corr"


def named_command(text):
    name, equals, command = text.partition("=")
    if not (name and equals and command) or name in ("ort", "openvino"):
        raise argparse.ArgumentTypeError(f"got {text!r}, expected NAME=COMMAND")
    return name, command


def read_flags():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", type=Path, required=True, metavar="DIR", help="keeps the ONNX files between runs")
    parser.add_argument("--networks", nargs="+", choices=CASES, default=list(CASES), help="all, if not given")
    parser.add_argument("--bytes", action="store_true", help="peers get images as bytes")
    parser.add_argument("--batches", nargs="+", type=int, help="1 and 16, small networks 64 too, if not given")
    parser.add_argument("--threads", nargs="+", type=int, default=[1, 2], help="of one call (%(default)s)")
    parser.add_argument("--requests", type=int, default=1, help="batches on their way at a time (%(default)s)")
    parser.add_argument("--rounds", type=int, default=5, help="turns of each engine (%(default)s)")
    parser.add_argument("--seconds", type=float, default=0.5,
                        help="of a peer's turn, which has at least three calls (%(default)s)")
    parser.add_argument("--ours", type=named_command, action="append", default=[], metavar="NAME=COMMAND",
                        help="one more engine: a shell command that measures itself and prints JSON with median_ms "
                        "(and least_ms, if it likes) for one batch; {network}, {batch}, {threads} and "
                        "{requests} are replaced; may be repeated")
    parser.add_argument("--answers", type=named_command, action="append", default=[], metavar="NAME=COMMAND",
                        help="a shell command that reads images from the file {input} (.npy, floats) and writes logits "
                        "or their codes to {output}, which are compared before anything is measured")
    parser.add_argument("--json", metavar="FILE", help="writes the rows, with the kernels that OpenVINO took")
    return parser.parse_args()


def main():
    flags = read_flags()
    import onnxruntime
    import openvino

    versions = {"onnxruntime": onnxruntime.__version__, "openvino": openvino.__version__}
    names = ["ort", "openvino", *(name for name, _ in flags.ours)]
    print(", ".join(f"{name} {version}" for name, version in versions.items()))
    print(title_of(names, dict(flags.ours)), flush=True)
    rows = []
    for network in flags.networks:
        for batch in flags.batches or CASES[network][1]:
            for threads in flags.threads:
                rows.append(measure(flags, network, batch, threads))
                print(text_of(rows[-1], names), flush=True)
    if flags.json:
        Path(flags.json).write_text(json.dumps({"versions": versions, "rows": rows}, indent=2) + "\n")


if __name__ == "__main__":
    main()
