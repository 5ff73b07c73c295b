# SPDX-License-Identifier: Apache-2.0
"""The forward and the backward pass of an offloaded layer, as autograd calls them.

Python that runs once a layer runs from cold caches, between products that fill them, at ten times its usual cost: where numbers
cross as they are, little of it is run.
"""

from __future__ import annotations

import contextlib
import functools
from typing import Any, Callable, ContextManager, List, Optional, Sequence, Tuple

import torch
from torch.autograd.function import once_differentiable

from ...errors import StateError
from .. import ops
from ..autocasting import autocast_type, is_autocasting
from .backend import Backend
from .products import Gradients, Product
from .site import Made, Site
from .wire import Wire, scaled

EXACT = Wire("fp64")  # no type is wider: biases and gradients of weights, which are few, cross as they are
OF_INPUT = (True, False, False)  # of the three gradients


def _without_autocast() -> ContextManager[Any]:
    """Inside a pass types are ours; `Site.type_of_products` has heard of autocast by the type of x."""
    stack = contextlib.ExitStack()
    for device in ("cpu", "cuda"):
        if is_autocasting(device):
            stack.enter_context(torch.autocast(device, enabled=False))
    return stack


def _backward(run: Callable[..., Tuple[Any, ...]]) -> Any:
    """A backward pass, which refuses to be differentiated; what guards it is taken only where it has something to do."""
    once = once_differentiable(run)

    def guarded(ctx: Any, error: torch.Tensor) -> Tuple[Any, ...]:
        chosen = once if torch.is_grad_enabled() else run
        if is_autocasting("cpu") or is_autocasting("cuda"):
            with _without_autocast():
                return chosen(ctx, error)
        return chosen(ctx, error)

    return staticmethod(guarded)


def _gradients(
    begin: Callable[..., Callable[[], Sequence[Any]]], make: Callable[..., Any], mask: Tuple[bool, ...], runs_ahead: bool
) -> Sequence[Any]:
    """What `make` gives for a mask, on the host; that of the input by itself where its way back can run beside the rest."""
    if runs_ahead and mask[0] and any(mask[1:]):
        wait, wait_for_rest = (begin(functools.partial(make, part)) for part in (OF_INPUT, (False, *mask[1:])))
        return wait()[0], *wait_for_rest()[1:]
    return begin(functools.partial(make, mask))()


class _PlainPass(torch.autograd.Function):
    """Numbers cross as they are and are what products take."""

    @staticmethod
    def forward(
        ctx: Any, x: torch.Tensor, weight: torch.Tensor, bias: Optional[torch.Tensor], site: Site, product: Product
    ) -> torch.Tensor:
        backend = site.backend
        there = backend.send(x.detach())
        kernel = site.parameter("weight", weight, site.wire).payload
        shift = None if bias is None else site.parameter("bias", bias, EXACT).payload

        def make() -> Tuple[torch.Tensor]:
            with backend.computing(site.compute):
                return (backend.forward(product, there, kernel, shift),)

        ctx.site, ctx.product, ctx.backend = site, product, backend
        ctx.save_for_backward(there, kernel)
        found = site.fetch_as_is(make, there, kernel, shift)()
        site.count(x, found)
        return found[0]

    @_backward
    def backward(ctx: Any, error: torch.Tensor) -> Tuple[Any, ...]:
        site, product, backend = ctx.site, ctx.product, ctx.backend
        there, kernel = ctx.saved_tensors
        arrived = backend.send(error.detach())

        def make(part: Tuple[bool, ...]) -> Gradients:
            with backend.computing(site.compute, has_weights=part[1]):
                return backend.backward(product, arrived, there, kernel, part)

        begin = lambda make: site.fetch_as_is(make, arrived)
        found = _gradients(begin, make, ctx.needs_input_grad[:3], backend.runs_ahead)
        site.count(error, found)
        return (*found, None, None)


class _PackedPass(torch.autograd.Function):
    """By any wire to products of any type."""

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
            return site.fetch(make, there.payload, kernel.payload, shift)()[0]

    @_backward
    def backward(ctx: Any, error: torch.Tensor) -> Tuple[Any, ...]:
        site, product = ctx.site, ctx.product
        backend, saved = site.backend, ctx.saved_tensors
        there, kernel = ctx.there._replace(payload=saved[0]), ctx.kernel._replace(payload=saved[1])
        key = site.draws.next(site.wire.name == "int8")
        arrived = site.send(error, site.wire, key)
        parcels = arrived, there, kernel
        operands = backend.ask(lambda: [parcel.operand(ctx.dtype) for parcel in parcels], arrived.payload)

        def make(part: Tuple[bool, ...]) -> List[Optional[Made]]:
            values, scales = zip(*operands())
            ways = (site.wire, key, scales[2]), (EXACT, None, scales[1]), (EXACT, None, None)
            with backend.computing(site.compute, has_weights=part[1]):
                gradients = backend.backward(product, *values, part)
            return [
                Made(gradient, wire, dtype, own_key, (scales[0], factor)) if is_asked else None
                for gradient, (wire, own_key, factor), dtype, is_asked in zip(gradients, ways, ctx.types, part)
            ]

        found = _gradients(site.fetch, make, ctx.needs_input_grad[:3], backend.runs_ahead)
        return (*found, None, None)


@ops.untraced
def _far_pass(
    function: Any, x: torch.Tensor, weight: torch.Tensor, bias: Optional[torch.Tensor], site: Site, product: Product
) -> torch.Tensor:
    try:
        return function.apply(x, weight, bias, site, product)
    except Exception:
        site.residents.forget()  # one of them may have been lost on its way
        raise


def run_pass(
    site: Site, product: Product, x: torch.Tensor, weight: torch.Tensor, bias: Optional[torch.Tensor]
) -> torch.Tensor:
    backend = site.backend
    host = backend.host
    if x.device.type != host:
        raise StateError(f"offload: got an input on {x.device}, expected one on {host}, where the model stays")
    function: Any = _PackedPass
    cast = autocast_type(host) if is_autocasting(host) else None
    if site.keeps_numbers(x, weight, bias, cast):
        if type(backend) is Backend:
            return product.forward(x, weight, bias)  # nothing has to cross either: the layer is torch's own
        if not (is_autocasting("cpu") or is_autocasting("cuda")):
            function = _PlainPass
    if cast is not None and x.dtype == torch.float32:
        x = x.to(cast)
    return _far_pass(function, x, weight, bias, site, product)
