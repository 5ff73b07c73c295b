# SPDX-License-Identifier: Apache-2.0
"""Which layers a word of `lower` stands for. A subclass belongs to the group of its class."""

from __future__ import annotations

from types import ModuleType
from typing import Dict, Iterable, List, Optional, Tuple, Union

import torch
from torch import nn
from torch.nn.modules import activation, batchnorm, conv, dropout, instancenorm, loss, padding, pooling, rnn

from ..errors import ArgumentTypeError, UsageError


def _classes_of(module: ModuleType, *without: type) -> Tuple[type, ...]:
    """The layers that a file of torch defines."""
    found = [
        c
        for c in vars(module).values()
        if isinstance(c, type) and issubclass(c, nn.Module) and c.__module__ == module.__name__
    ]
    return tuple(c for c in found if c not in without)


GROUPS: Dict[str, Tuple[type, ...]] = {
    "linear": (nn.Linear, nn.Bilinear),
    "conv": (conv._ConvNd, nn.Unfold, nn.Fold),
    "recurrent": (rnn.RNNBase, rnn.RNNCellBase),
    "attention": (nn.MultiheadAttention,),
    "embedding": (nn.Embedding, nn.EmbeddingBag),
    "normalization": (batchnorm._NormBase, instancenorm._InstanceNorm, nn.GroupNorm, nn.LayerNorm, nn.LocalResponseNorm)
    + ((nn.RMSNorm,) if hasattr(nn, "RMSNorm") else ()),
    "activation": _classes_of(activation, nn.MultiheadAttention),
    "pool": _classes_of(pooling),
    "pad": _classes_of(padding),
    "dropout": _classes_of(dropout),
    "loss": _classes_of(loss),
}

# Layers that compute numbers; the others select, move or reduce to one.
USUAL = ("linear", "conv", "recurrent", "attention", "embedding", "normalization", "activation", "pool")

Types = Union[str, type, Iterable[Union[str, type]], None]


def layer_classes(types: Types = None, where: str = "types") -> Tuple[type, ...]:
    """Words of GROUPS and classes of layers, as one tuple for isinstance."""
    if types is None:
        types = USUAL
    if isinstance(types, (str, type)):
        types = (types,)
    classes: List[type] = []
    for one in types:
        if isinstance(one, str):
            if one not in GROUPS:
                raise UsageError(f"{where}: got {one!r}, expected one of {', '.join(GROUPS)} or a class of layers")
            classes.extend(GROUPS[one])
        elif isinstance(one, type) and issubclass(one, torch.nn.Module):
            classes.append(one)
        else:
            raise ArgumentTypeError(f"{where}: got {one!r}, expected the name of a group or a class of layers")
    return tuple(classes)


def group_of(layer: nn.Module) -> Optional[str]:
    return next((name for name, classes in GROUPS.items() if isinstance(layer, classes)), None)
