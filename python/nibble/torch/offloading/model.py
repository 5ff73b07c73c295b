# SPDX-License-Identifier: Apache-2.0
"""Offloads the layers of a model."""

from __future__ import annotations

import copy
from fnmatch import fnmatchcase
from typing import Any, Dict, Iterable, List, Optional, Tuple, Union

from torch import nn

from ...errors import ArgumentTypeError, UsageError
from .backend import AnyBackend, backend_of
from .layers import OffloadConv2d, OffloadLinear
from .site import Site, Traffic

OFFLOADED: Dict[Any, Any] = {nn.Conv2d: OffloadConv2d, nn.Linear: OffloadLinear}
ORIGINAL = {offloaded: plain for plain, offloaded in OFFLOADED.items()}
Layers = Union[str, type, Iterable[Union[str, type]], None]


def offload(
    model: nn.Module,
    device: AnyBackend = "cuda",
    layers: Layers = None,
    wire: str = "fp16",
    compute: Optional[str] = None,
    *,
    seed: Optional[int] = 0,
    in_place: bool = False,
) -> nn.Module:
    """Returns the model with the passes of its Conv2d and Linear layers on an accelerator: a copy, or itself.

    The model stays on the CPU: parameters, results and gradients are the CPU's, optimizers and state_dict as before.

    device   "cuda", "cuda:1", "cpu", "pool", "pool:4", what `register_backend` knows, or a Backend
    layers   patterns such as "layer3.*" of names, and the classes nn.Conv2d and nn.Linear; None: all of both
    wire     how values and errors cross: "int8" (with one exponent a tensor, errors rounded stochastically),
             "fp16" (with one exponent a tensor) or "fp32"; biases and gradients of weights cross as they are
    compute  the products: "fp32", "tf32", "fp16", "bf16", "fp64"; None: the type of the layer's input
    seed     of stochastic rounding; each layer draws from streams of its own

    `onload` undoes; `traffic` counts what has crossed. Offload first, then `lower`.

    >>> model = nt.offload(torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU()), device="cpu", wire="fp32")
    >>> type(model[0]).__name__, model(torch.ones(2, 4)).device
    ('OffloadLinear', device(type='cpu'))
    """
    if not isinstance(model, nn.Module):
        raise ArgumentTypeError(f"offload: got {type(model).__name__}, expected a module")
    backend_of(device)
    classes, patterns = _chosen(layers)
    model = model if in_place else copy.deepcopy(model)
    for stream, (name, layer) in enumerate(model.named_modules()):
        plain: Any = ORIGINAL.get(type(layer), type(layer))
        if plain in classes or any(fnmatchcase(name, pattern) for pattern in patterns):
            if plain in OFFLOADED:
                layer.site = Site(device, wire, compute, seed, stream)
                layer.__class__ = OFFLOADED[plain]
    if patterns and not any(isinstance(layer, tuple(ORIGINAL)) for layer in model.modules()):
        raise UsageError(f"layers: got {', '.join(patterns)}, which names no layer of class Conv2d or Linear")
    return model


def onload(model: nn.Module) -> nn.Module:
    """Takes all layers of a model back to the CPU, in place, and returns it.

    >>> nt.onload(nt.offload(torch.nn.Linear(4, 8), device="cpu"))
    Linear(in_features=4, out_features=8, bias=True)
    """
    for layer in model.modules():
        plain: Any = ORIGINAL.get(type(layer))
        if plain is not None:
            del layer.site
            layer.__class__ = plain
    return model


def traffic(model: nn.Module) -> Traffic:
    """What the layers of a model have sent and fetched so far; each has its own in `layer.site.traffic`.

    >>> model = nt.offload(torch.nn.Linear(4, 8), device="cpu", wire="int8")
    >>> _ = model(torch.ones(2, 4))
    >>> nt.traffic(model).bytes > 0
    True
    """
    return sum((layer.site.traffic for layer in _offloaded(model)), Traffic())


def _offloaded(model: nn.Module) -> List[Any]:
    return [layer for layer in model.modules() if isinstance(layer, tuple(ORIGINAL))]


def _chosen(layers: Layers) -> Tuple[Tuple[type, ...], Tuple[str, ...]]:
    if layers is None:
        return tuple(OFFLOADED), ()
    given = (layers,) if isinstance(layers, (str, type)) else tuple(layers)
    for one in given:
        if not isinstance(one, str) and one not in OFFLOADED:
            raise ArgumentTypeError(f"layers: got {one!r}, expected patterns of names, nn.Conv2d or nn.Linear")
    return tuple(one for one in given if isinstance(one, type)), tuple(one for one in given if isinstance(one, str))
