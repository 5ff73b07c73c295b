# SPDX-License-Identifier: Apache-2.0
"""The float model that a quantized one stands for (docs/integer-training.md): integers times the units that they count in."""

import re

import numpy as np
from folded import f32, grid_of

MOVES = ("relu", "max_pool", "bias", "add", "slice", "pad")  # one unit before and after


def integers_of(node, tensor):
    """A weight, packed or not: of b bits, least significant bit first, in two's complement."""
    bits = int(re.match(r"u?int(\d+)|", node["weight"]["format"])[1] or 8)
    if tensor.dtype != np.uint8 or bits == 8:
        return tensor.astype(np.int64).ravel()
    stream = np.unpackbits(tensor, bitorder="little")
    stream = stream[:len(stream) // bits * bits].reshape(-1, bits).astype(np.int64)
    numbers = stream @ (1 << np.arange(bits))
    return numbers if node["weight"]["format"].startswith("u") else np.where(numbers >> (bits - 1), numbers - (1 << bits), numbers)


def scale_of(node):
    found = re.search(r"scale=([^,)]+)", node["value"]["format"])
    return np.array([np.float64(f32(found[1]))]) if found else None


class Units:
    """Of every node's value: an array of one unit, or of one a channel."""

    def __init__(self, nodes, tensors):
        self.nodes, self.tensors, self.units = nodes, tensors, []
        for node in nodes:
            scale = scale_of(node)
            self.units.append(self.onward(node) if scale is None and node["inputs"] else scale)
        for index in reversed(range(len(nodes))):  # the last reader says it
            for i in nodes[index]["inputs"]:
                if self.units[i] is None and self.units[index] is not None:
                    self.units[i] = self.back(nodes[index], self.units[index], i)

    def factor(self, node):
        return np.ldexp(self.tensors[f"{node['name']}.multiplier"].astype(np.float64), -node["shift"])

    def divisor(self, pool):
        bits = pool.get("mean_bits", 0)
        return 2.0**bits if bits else float(np.prod(pool["kernel"]))

    def channels(self, index):
        node = self.nodes[index]
        if node["op"] in ("conv2d", "linear"):
            return node["channels" if node["op"] == "conv2d" else "features"]
        if node["op"] == "input":
            return node["shape"][-1]
        return sum(map(self.channels, node["inputs"])) if node["op"] == "concat" else self.channels(node["inputs"][0])

    def onward(self, node):
        known = [self.units[i] for i in node["inputs"]]
        if node["op"] in MOVES:
            return next((unit for unit in known if unit is not None), None)
        if any(unit is None for unit in known):
            return None
        if node["op"] == "rescale":
            return known[0] / self.factor(node)
        if node["op"] == "sum_pool":
            return known[0] / self.divisor(node)
        if node["op"] == "flatten":
            assert len(known[0]) == 1
            return known[0]
        if node["op"] == "concat":
            all_units = np.concatenate([np.broadcast_to(u, self.channels(i)) for u, i in zip(known, node["inputs"])])
            return all_units[:1] if (all_units == all_units[0]).all() else all_units
        return None

    def back(self, node, unit, i):
        if node["op"] == "rescale":
            return self.factor(node) * unit
        if node["op"] == "sum_pool":
            return unit * self.divisor(node)
        if node["op"] == "concat" and len(unit) > 1:
            first = sum(self.channels(k) for k in node["inputs"][:node["inputs"].index(i)])
            return unit[first:first + self.channels(i)]
        return unit if node["op"] in (*MOVES, "flatten", "concat") else None


def dequantized(nodes, tensors):
    """(nodes, tensors) in floats."""
    units = Units(nodes, tensors).units
    places, kept, positive, floats = [], [], [], {}
    for index, node in enumerate(nodes):
        op, name = node["op"], node["name"]
        is_positive = bool(node["inputs"]) and all(positive[i] for i in node["inputs"])
        real = {"name": name, "op": op, "inputs": [places[i] for i in node["inputs"]],
                **{key: value for key, value in node.items() if key not in ("name", "op", "inputs", "value", "weight", "bias_value")}}
        if op == "rescale":
            if node["low"] < 0 or is_positive:
                places.append(places[node["inputs"][0]])
                positive.append(is_positive)
                if kept[places[-1]]["name"] == f"{name}.sum":
                    kept[places[-1]]["name"] = name
                continue
            is_cut = "int" in node["value"]["format"] and node["high"] < grid_of(node["value"]["format"])[1]
            real = {"name": name, "inputs": real["inputs"], "op": "relu6" if is_cut else "relu"}
        elif op == "sum_pool":
            real["op"], real["counts_padding"] = "average_pool", real.pop("mean_bits", 0) == 0
        for kind in ("weight", "bias"):
            if f"{name}.{kind}" not in tensors:
                continue
            tensor, of_sums = tensors[f"{name}.{kind}"], units[index]
            if kind == "weight":
                entering = units[node["inputs"][0]]
                assert len(entering) == 1
                outputs = node.get("channels", node.get("features"))
                integers = integers_of(node, tensor)
                integers = integers[:integers.size // outputs * outputs]  # what fills the last byte is no output
                floats[index, kind] = f32(integers.reshape(outputs, -1) * np.broadcast_to(of_sums / entering, outputs)[:, None])
            else:
                floats[index, kind] = f32(tensor.astype(np.int64) * of_sums)
        places.append(len(kept))
        kept.append(real)
        positive.append(real["op"] in ("relu", "relu6") or is_positive and op in
                        ("max_pool", "add", "concat", "slice", "pad", "flatten", "sum_pool"))
    return kept, {f"{kept[places[index]]['name']}.{kind}": tensor for (index, kind), tensor in floats.items()}
