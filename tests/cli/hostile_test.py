# SPDX-License-Identifier: Apache-2.0
"""Small files that ask for absurd amounts of time or memory: each ends in one line, at once."""

import gzip
import io
import json
import os
import resource
import shutil
import struct
import subprocess
import tempfile
import time
import unittest
import zipfile
from pathlib import Path

import numpy as np

from case import NIBBLE, Case, npy, run

IS_SANITIZED = os.environ.get("NIBBLE_SANITIZED") == "1"
SECONDS = 60 if IS_SANITIZED else 3.0
MEBIBYTES = 4096 if IS_SANITIZED else 256
LAYERS = 8191 if IS_SANITIZED else 65535
MANY_SECONDS = 120 if IS_SANITIZED else 50.0  # for files of many megabytes
NO_WEIGHTS = "2d06800538d394c2"  # weights_hash of a network without any
PLAIN = {"format": "fp32", "rounding": "nearest-even", "overflow": "native"}
INT8 = {"format": "int8", "rounding": "nearest-even", "overflow": "native"}


def node(name, op, inputs, value=PLAIN, **numbers):
    return {"name": name, "op": op, "inputs": inputs, "value": value, "weight": PLAIN, **numbers}


def picture(*shape):
    return node("input", "input", [], INT8, shape=list(shape), mean=[], deviation=[])


def nib(*nodes, name="x"):
    """The bytes of a model without weights."""
    network = {"name": name, "class_names": [], "nodes": nodes}
    metadata = {"nibble_format": "1", "network": json.dumps(network), "origin": "{}", "weights_hash": NO_WEIGHTS}
    header = json.dumps({"__metadata__": metadata}).encode()
    header += b" " * (-len(header) % 8)
    return struct.pack("<Q", len(header)) + header


def varint(number):
    text = b""
    while number > 127:
        text += bytes([number & 127 | 128])
        number >>= 7
    return text + bytes([number])


def field(number, value):
    """A field of a protobuf message: an integer, or bytes with their length."""
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    data = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(data)) + data


def onnx_integers(name, *numbers):
    return field(5, field(1, name) + b"".join(field(8, n) for n in numbers) + field(20, 7))


def onnx_value(name, *extents):
    dims = b"".join(field(1, field(1, extent)) for extent in extents)
    return field(1, name) + field(2, field(1, field(1, 1) + field(2, dims)))


def onnx_model(nodes, input_shape, output_shape, initializers=b""):
    graph = nodes + initializers + field(11, onnx_value("x", *input_shape)) + field(12, onnx_value("y", *output_shape))
    return field(1, 8) + field(7, graph) + field(8, field(1, "") + field(2, 13))


class Hostile(Case):
    def write(self, name, data):
        path = self.folder / name
        path.write_bytes(data)
        return path

    def ends(self, *arguments, seconds=SECONDS, mebibytes=MEBIBYTES, code=1, **variables):
        """What the command says on standard error, having used no more than it may."""
        return self.ends_after(*arguments, seconds=seconds, mebibytes=mebibytes, code=code, **variables)[0]

    def ends_after(self, *arguments, seconds, mebibytes, code, **variables):
        """The same, and the seconds of the processor that it took."""
        environment = {k: v for k, v in os.environ.items() if k not in ("NIBBLE_ISA", "NIBBLE_DATA")} | variables
        most = None if IS_SANITIZED else (lambda: resource.setrlimit(resource.RLIMIT_CPU, (60, 60)))
        with tempfile.TemporaryFile() as errors:
            before = time.monotonic()
            process = subprocess.Popen([NIBBLE, *map(str, arguments)], stdin=subprocess.DEVNULL,
                                       stdout=subprocess.DEVNULL, stderr=errors, env=environment, preexec_fn=most)
            _, status, usage = os.wait4(process.pid, 0)
            spent = usage.ru_utime + usage.ru_stime  # of other work beside the tests nothing is counted
            process.returncode = os.waitstatus_to_exitcode(status)
            errors.seek(0)
            text = errors.read().decode()
        about = f"{arguments}: {text}"
        self.assertEqual(process.returncode, code, about)
        self.assertLess(spent, seconds, about)
        self.assertLess(time.monotonic() - before, 60 + seconds, about)
        self.assertLess(usage.ru_maxrss / 1024, mebibytes, about)
        if code != 0:
            self.assertRegex(text, r"^nibble: [^\n]*\n$", about)
        return text, spent

    def all_verbs(self, model, words, **more):
        """A .nib through every verb that takes one."""
        for arguments in (("describe", model), ("describe", model, "--json"), ("run", model, "--input", self.input),
                          ("bench", model, "--threads", 1), ("tune", model), ("emit", model, "-o", self.folder / "c"),
                          ("convert", model, self.folder / "y.onnx"), ("eval", model, "--data", "digits"),
                          ("compare", model, model, "--data", "digits"),
                          ("quantize", model, "-o", self.folder / "q.nib", "--calib", "digits"),
                          ("train", "mlp-64-32-10", "--from", model, "--data", "digits", "--out", self.folder / "r"),
                          ("loadgen", model, "--data", "digits", "--out", self.folder / "l")):
            with self.subTest(verb=arguments[0]):
                text = self.ends(*arguments, **more)
                if "no LoadGen" not in text:
                    self.assertIn(words, text)

    def test_windows_of_two_billion_are_refused(self):
        most = 2147483647
        self.all_verbs(
            self.write("hang.nib", nib(picture(8, 8, 1), node("s", "sum_pool", [0], kernel=[most, 4], stride=[most, 1],
                                                             padding=[most - 1, 0], mean_bits=0))),
            "kernel y: got 2147483647, expected at most 65536 (limit 'geometry': --limits geometry=… raises it)")

    def test_values_of_two_billion_are_refused(self):
        self.all_verbs(self.write("alloc.nib", nib(picture(2147483647), node("r", "relu", [0]))),
                       "value: got 2147483647 numbers, expected at most 268435456 (limit 'values'")

    def test_hours_of_work_are_refused(self):
        nodes = [picture(16384, 16384, 1)]
        for i in range(1, 40):
            nodes.append(node(f"n{i}", "max_pool", [i - 1], kernel=[301, 301], stride=[1, 1], padding=[150, 150]))
        self.all_verbs(self.write("work.nib", nib(*nodes)), "(limit 'macs'")

    def test_large_values_that_are_allowed_cost_no_memory_to_describe(self):
        nodes = [picture(2**27)]
        for i in range(1, 20):
            nodes.append(node(f"n{i}", "relu", [i - 1]))
        nodes.append(node("both", "concat", [0, 19]))
        self.ends("describe", self.write("large.nib", nib(*nodes)), code=0)

    def test_many_layers_take_time_by_their_number(self):
        window = {"kernel": [1, 1], "stride": [1, 1], "padding": [0, 0]}
        x = self.save("one.npy", np.ones((1, 1, 1, 1), np.int8))
        model = self.folder / "many.nib"
        for op, numbers, verbs in (("max_pool", window, (("bench", model, "--threads", 1, "--seconds", 0.1),)),
                                   ("relu", {}, (("describe", model), ("run", model, "--input", x),
                                                 ("bench", model, "--threads", 1, "--seconds", 0.1),
                                                 ("emit", model, "-o", self.folder / "c")))):
            spent = {}
            for layers in (LAYERS // 8, LAYERS):
                nodes = [picture(1, 1, 1)]
                for i in range(1, layers + 1):
                    nodes.append(node(f"n{i}", op, [i - 1], **numbers))
                model.write_bytes(nib(*nodes))
                for arguments in verbs:
                    shutil.rmtree(self.folder / "c", ignore_errors=True)
                    with self.subTest(op=op, verb=arguments[0], layers=layers):
                        _, seconds = self.ends_after(*arguments, seconds=MANY_SECONDS, mebibytes=4 * MEBIBYTES, code=0)
                        # 8 times by their number, 64 by its square, on a machine of any speed.
                        self.assertLess(seconds, 24 * spent.setdefault(arguments[0], seconds))
        self.assertIn(f"nodes: got {LAYERS + 1}, expected at most {LAYERS} (limit 'nodes'",
                      self.ends("describe", model, "--limits", f"nodes={LAYERS}", seconds=MANY_SECONDS,
                                mebibytes=4 * MEBIBYTES))

    def test_long_names_are_refused(self):
        self.assertIn("expected at most 240 (limit 'name'",
                      self.ends("describe", self.write("name.nib", nib(picture(8), node("n" * 257, "relu", [0])))))
        self.assertIn("expected at most 240 (limit 'name'",
                      self.ends("describe", self.write("name.nib", nib(picture(8), node("n", "relu", [0]),
                                                                       name="n" * 257))))

    def test_networks_in_text_have_the_same_limits(self):
        for layers, words in (("{ op = 'max_pool', kernel = 65537, stride = 1, padding = 65536 }", "limit 'geometry'"),
                              ("{ op = 'conv2d', channels = 2000000, kernel = 1 }", "limit 'values'"),
                              ("{ op = 'flatten' }, { op = 'linear', features = 200000000 }", "limit 'memory'")):
            path = self.write("x.toml", f"name = 'x'\ninput = [16, 16, 1]\nlayers = [{layers}]\n".encode())
            self.assertIn(words, self.ends("describe", path))
            self.assertIn(words, self.ends("train", path, "--data", "digits", "--out", self.folder / "run"))

    def test_limits_can_be_raised_and_lowered(self):
        model = self.write("pool.nib", nib(picture(4, 4, 1), node("s", "max_pool", [0], kernel=[70001, 70001],
                                                                 stride=[70000, 1], padding=[70000, 0 + 70000])))
        self.assertIn("limit 'geometry'", self.ends("describe", model))
        self.ends("describe", model, "--limits", "geometry=70001", code=0)
        self.assertIn("limit 'values'", self.ends("describe", model, "--limits", "geometry=70001,values=1K"))
        for wrong in ("geometry", "geometry=0", "speed=3", "geometry=1,geometry=x"):
            text = run("describe", model, "--limits", wrong)
            self.assertEqual(text.returncode, 2, text.stderr)
            self.assertIn(b"--limits", text.stderr)

    def test_an_onnx_window_is_found_without_a_search(self):
        most = 2147483647
        pool = field(1, "x") + field(2, "y") + field(4, "MaxPool") + onnx_integers("kernel_shape", most, most) + \
            onnx_integers("pads", 0, 0, most - 1, most - 1) + onnx_integers("strides", 1, 1)
        model = self.write("slow.onnx", onnx_model(field(1, pool), (1, 1, 8, 8), (1, 1, 8, 8)))
        text = self.ends("convert", model, self.folder / "y.nib")
        if "no libonnx" not in text:
            self.assertIn("limit 'geometry'", text)

    def test_an_onnx_file_cannot_name_one_file_again_and_again(self):
        big = self.folder / "big.bin"
        with big.open("wb") as out:
            out.truncate(64 << 20)
        side = 4096  # of fp32: 64 MiB
        tensors, nodes = b"", b""
        for i in range(40):
            place = field(1, "location") + field(2, "big.bin")
            tensors += field(5, field(1, side) + field(1, side) + field(2, 1) + field(8, f"w{i}") +
                             field(13, place) + field(14, 1))
            nodes += field(1, field(1, "x" if i == 0 else f"v{i}") + field(1, f"w{i}") +
                           field(2, "y" if i == 39 else f"v{i + 1}") + field(4, "MatMul"))
        text = self.ends("convert", self.write("forty.onnx", onnx_model(nodes, (1, side), (1, side), tensors)),
                         self.folder / "y.nib", mebibytes=2 * MEBIBYTES)
        if "no libonnx" not in text:
            self.assertIn("bytes of all tensors in 'big.bin': got 134217728, expected at most 67108864", text)

    def test_packed_data_do_not_grow_without_end(self):
        extents = (4000, 280, 280)
        packed = io.BytesIO()
        with gzip.GzipFile(fileobj=packed, mode="wb", compresslevel=9) as out:
            out.write(struct.pack(">4B3I", 0, 0, 8, 3, *extents))
            for _ in range(100):
                out.write(bytes(extents[0] // 100 * extents[1] * extents[2]))
        data = self.folder / "data" / "mnist"
        data.mkdir(parents=True)
        for split in ("train", "t10k"):
            (data / f"{split}-images-idx3-ubyte.gz").write_bytes(packed.getvalue())
            (data / f"{split}-labels-idx1-ubyte").write_bytes(struct.pack(">4BI", 0, 0, 8, 1, extents[0]) +
                                                              bytes(extents[0]))
        self.assertIn("(limit 'inflation'", self.ends("train", "lenet", "--data", "mnist", "--out", self.folder / "r",
                                                      NIBBLE_DATA=str(self.folder / "data")))

    def test_archives_do_not_grow_without_end(self):
        weights = self.folder / "weights.npz"
        zeros = npy(np.zeros(1 << 23, np.float32))
        with zipfile.ZipFile(weights, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as out:
            for i in range(3):
                out.writestr(f"w{i}.npy", zeros)
        self.assertLess(weights.stat().st_size, 2 << 20)
        self.assertIn("(limit 'inflation'", self.ends("convert", weights, self.folder / "y.nib", "--network", "lenet"))

    def test_the_files_that_did_harm(self):
        folder = Path(os.environ.get("NIBBLE_DATA", "/nowhere")) / "hostile"
        if not folder.exists():
            self.skipTest("no hostile in NIBBLE_DATA")
        bounds = {"seconds": 1.0, "mebibytes": 256}  # with sanitizers, too
        for name, words in (("overflow.nib", "limit '"), ("hang.nib", "limit '"), ("alloc.nib", "limit '"),
                            ("inject.nib", "expected UTF-8 without control characters")):
            self.all_verbs(folder / name, words, **bounds)
        self.ends("convert", folder / "slow.onnx", self.folder / "y.nib", **bounds)
        self.assertEqual([path.name for path in self.folder.iterdir()], ["in.npy"])


if __name__ == "__main__":
    unittest.main()
