# SPDX-License-Identifier: Apache-2.0
"""Float models as integer training begins with them: without steps, batch norms and dropouts (docs/integer-training.md).

A model is a list of nodes, as a .nib file has them, and its tensors by name."""

import re

import numpy as np
from laws import to_nearest


def f32(x):
    return np.float32(x)


def without(nodes, substitutes):
    """Without the nodes in whose place their readers take another one, an earlier one."""
    places, kept = [], []
    for index, node in enumerate(nodes):
        if index in substitutes:
            places.append(places[substitutes[index]])
        else:
            places.append(len(kept))
            kept.append({**node, "inputs": [places[i] for i in node["inputs"]]})
    return kept


def readers_of(nodes):
    return [[index for index, node in enumerate(nodes) if i in node["inputs"]] for i in range(len(nodes))]


def grid_of(text):
    """The ends of a format such as int4, uint8(scale=…,zero=3) or int8(symmetric)."""
    sign, bits = re.match(r"(u?)int(\d+)", text).groups()
    zero = int((re.search(r"zero=(\d+)", text) or [0, 0])[1])
    if sign:
        return -zero, 2 ** int(bits) - 1 - zero
    most = 2 ** (int(bits) - 1) - 1
    return -most - ("symmetric" not in text), most


def unfaked(nodes, tensors):
    """With weights as a fake-quantized network rounds them, and without its steps."""
    nodes, tensors = [dict(node) for node in nodes], dict(tensors)
    for node in nodes:
        if node.pop("weight_steps", 0):
            key, step = f"{node['name']}.weight", tensors.pop(f"{node['name']}.step")
            step = step.reshape(-1, *[1] * (tensors[key].ndim - 1))
            quotients = to_nearest(np.float64(tensors[key] / step))  # in fp32
            tensors[key] = step * f32(np.clip(quotients, *grid_of(node["weight"]["format"])))
    return without(nodes, {i: node["inputs"][0] for i, node in enumerate(nodes) if node["op"] == "fake_quantize"}), tensors


def line_of(node, tensors):
    """(a, b) of the a x + b, channel by channel in f64, that a batch norm or a bias is."""
    values = {kind: np.float64(tensors[f"{node['name']}.{kind}"]) for kind in ("scale", "shift", "mean", "variance", "bias")
              if f"{node['name']}.{kind}" in tensors}
    if node["op"] == "bias":
        return np.ones_like(values["bias"]), values["bias"]
    a = values["scale"] / np.sqrt(values["variance"] + np.float64(f32(node["epsilon"])))
    return a, values["shift"] - values["mean"] * a


def folded(nodes, tensors):
    """Without batch norms and dropouts, where there is a batch norm."""
    if all(node["op"] != "batch_norm" for node in nodes):
        return nodes, tensors
    nodes = without(nodes, {i: node["inputs"][0] for i, node in enumerate(nodes) if node["op"] == "dropout"})
    tensors, readers, substitutes = dict(tensors), readers_of(nodes), {}
    for index, node in enumerate(nodes):
        if node["op"] not in ("batch_norm", "bias"):
            continue
        before = node["inputs"][0]
        product = nodes[substitutes.get(before, before)]
        a, b = line_of(node, tensors)
        if product["op"] in ("conv2d", "linear") and len(readers[before]) == 1:
            weight = tensors[f"{product['name']}.weight"]
            bias = np.float64(tensors.get(f"{product['name']}.bias", np.zeros(len(weight), np.float32)))
            tensors[f"{product['name']}.weight"] = f32(weight * a.reshape(-1, *[1] * (weight.ndim - 1)))
            tensors[f"{product['name']}.bias"] = f32(bias * a + b)
            product["bias"] = True
            substitutes[index] = substitutes.get(before, before)
        elif node["op"] == "batch_norm" and {nodes[i]["op"] for i in readers[index]} == {"linear"}:
            for linear in (nodes[i] for i in readers[index]):
                weight = tensors[f"{linear['name']}.weight"]
                total = np.float64(tensors.get(f"{linear['name']}.bias", np.zeros(len(weight), np.float32)))
                for feature in range(weight.shape[1]):
                    total = total + np.float64(weight[:, feature]) * b[feature]
                tensors[f"{linear['name']}.weight"], tensors[f"{linear['name']}.bias"] = f32(weight * a), f32(total)
                linear["bias"] = True
            substitutes[index] = substitutes.get(before, before)
        elif node["op"] == "batch_norm":
            one = {"kernel": [1, 1], "stride": [1, 1], "padding": [0, 0], "dilation": [1, 1]}
            nodes[index] = {"name": node["name"], "op": "conv2d", "inputs": node["inputs"], "channels": len(a), **one,
                            "groups": len(a), "bias": True}
            tensors[f"{node['name']}.weight"], tensors[f"{node['name']}.bias"] = f32(a).reshape(-1, 1, 1, 1), f32(b)
    return without(nodes, substitutes), {name: x for name, x in tensors.items() if name.endswith((".weight", ".bias"))}
