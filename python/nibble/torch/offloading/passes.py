# SPDX-License-Identifier: Apache-2.0
"""The forward and the backward pass of an offloaded layer, as autograd calls them."""

from __future__ import annotations

import contextlib
import functools
from typing import Any, ContextManager, List, Optional, Tuple

import torch
from torch.autograd.function import once_differentiable

from ...errors import StateError
from .. import ops
from .products import Product
from .site import Made, Site
from .wire import Wire, scaled

EXACT = Wire("fp64")  # no type is wider: biases and gradients of weights, which are few, cross as they are


def _is_autocasting(device: str) -> bool:
    if hasattr(torch, "get_autocast_dtype"):  # torch 2.4 has one function for all devices
        return torch.is_autocast_enabled(device)
    return torch.is_autocast_cpu_enabled() if device == "cpu" else torch.is_autocast_enabled()


def _autocast_type(device: str) -> torch.dtype:
    if hasattr(torch, "get_autocast_dtype"):
        return torch.get_autocast_dtype(device)
    return torch.get_autocast_cpu_dtype() if device == "cpu" else torch.get_autocast_gpu_dtype()


def _without_autocast() -> ContextManager[Any]:
    """Inside a pass types are ours; `Site.type_of_products` has heard of autocast by the type of x."""
    stack = contextlib.ExitStack()
    for device in ("cpu", "cuda"):
        if _is_autocasting(device):
            stack.enter_context(torch.autocast(device, enabled=False))
    return stack


class _Pass(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, x: torch.Tensor, weight: torch.Tensor, bias: Optional[torch.Tensor], site: Site, product: Product
    ) -> torch.Tensor:
        backend, dtype = site.backend, site.type_of_products(x)
        with _without_autocast():
            there = site.send(x, site.wire)
            kernel = site.parameter("weight", weight, site.wire)
            shift = None if bias is None else site.parameter("bias", bias, EXACT).payload

            def make() -> List[Made]:
                (values, scale), (weights, weight_scale) = there.operand(dtype), kernel.operand(dtype)
                scales = scale, weight_scale
                is_plain = scales == (None, None)
                fused = shift.to(dtype) if is_plain and shift is not None else None
                with backend.computing(site.compute):
                    result = backend.forward(product, values, weights, fused)
                if not is_plain and shift is not None:
                    result, scales = product.add_bias(scaled(result, *scales), shift), (None, None)
                return [Made(result, site.wire, x.dtype, scales=scales)]

            ctx.site, ctx.product, ctx.dtype = site, product, dtype
            ctx.there, ctx.kernel = there._replace(payload=None), kernel._replace(payload=None)
            ctx.types = x.dtype, weight.dtype, None if bias is None else bias.dtype
            ctx.save_for_backward(there.payload, kernel.payload)
            return site.fetch(make)()[0]

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, error: torch.Tensor) -> Tuple[Any, ...]:
        site, product = ctx.site, ctx.product
        backend, saved = site.backend, ctx.saved_tensors
        there, kernel = ctx.there._replace(payload=saved[0]), ctx.kernel._replace(payload=saved[1])
        mask = ctx.needs_input_grad[:3]
        key = site.draws.next(site.wire.name == "int8")
        with _without_autocast():
            arrived = site.send(error, site.wire, key)
            operands = backend.ask(lambda: [parcel.operand(ctx.dtype) for parcel in (arrived, there, kernel)])

            def make(part: Tuple[bool, ...]) -> List[Made]:
                values, scales = zip(*operands())
                ways = (site.wire, key, scales[2]), (EXACT, None, scales[1]), (EXACT, None, None)
                with backend.computing(site.compute, has_weights=part[1]):
                    gradients = backend.backward(product, *values, part)
                return [
                    Made(gradient, wire, dtype, own_key, (scales[0], factor))
                    for gradient, (wire, own_key, factor), dtype, is_asked in zip(gradients, ways, ctx.types, part)
                    if is_asked
                ]

            # The gradient of the input first and by itself where its way back can run beside the rest.
            waits = [site.fetch(functools.partial(make, part)) for part in _parts(mask, backend.runs_ahead)]
            found = iter([gradient for wait in waits for gradient in wait()])
            return (*(next(found) if is_asked else None for is_asked in mask), None, None)


def _parts(mask: Tuple[bool, ...], is_split: bool) -> Tuple[Tuple[bool, ...], ...]:
    if not is_split or not mask[0] or not any(mask[1:]):
        return (mask,)
    return (True, False, False), (False, *mask[1:])


def _far_pass(*arguments: Any) -> torch.Tensor:
    return _Pass.apply(*arguments)


if ops.HAS_OPS:
    _far_pass = torch.compiler.disable(_far_pass)  # torch.compile leaves it between two graphs


def run_pass(
    site: Site, product: Product, x: torch.Tensor, weight: torch.Tensor, bias: Optional[torch.Tensor]
) -> torch.Tensor:
    host = site.backend.host
    if x.device.type != host:
        raise StateError(f"offload: got an input on {x.device}, expected one on {host}, where the model stays")
    if _is_autocasting(host) and x.dtype == torch.float32:
        x = x.to(_autocast_type(host))
    if site.is_here(x, weight):
        return product.forward(x, weight, bias)
    return _far_pass(x, weight, bias, site, product)
