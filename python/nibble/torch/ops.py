# SPDX-License-Identifier: Apache-2.0
"""Nibble's operations as torch.library knows them, so that torch.compile and torch.export put them into their graphs.

Code that is not traced calls `nibble` itself, which is quicker. Before torch 2.5 nothing is registered.

While torch traces, the key of draws is not two numbers but one tensor of two int64, a seed and a step, on the CPU: it
is made by `next_key` inside the graph, so that a compiled model counts its steps as the module does.
"""

from __future__ import annotations

import functools
from typing import Any, Optional, Tuple

import torch

import nibble

from .functions import each_member

HAS_OPS = hasattr(torch.library, "register_vmap")
_SIGN = 1 << 63
# A CUDA graph keeps the numbers of a key and draws the same at every replay: what draws stays out of it.
UNCAPTURED = (torch.Tag.cudagraph_unsafe,) if HAS_OPS and hasattr(torch.Tag, "cudagraph_unsafe") else ()


def is_tracing() -> bool:
    """Whether torch.compile or torch.export looks at what is called."""
    return HAS_OPS and torch.compiler.is_compiling()


def untraced(function: Any) -> Any:
    """torch.compile leaves it between two graphs."""
    return torch.compiler.disable(function) if HAS_OPS else function


def as_int64(seed: int) -> int:
    """64 bits of a seed in the type that torch has for them."""
    return seed - (1 << 64) if seed >= _SIGN else seed


def key_of(rounding: str, seed: int, step: Any) -> Optional[torch.Tensor]:
    """That of a module, which is one already, or of numbers that a caller has given."""
    if not _draws(rounding):
        return None
    return torch.tensor([as_int64(seed), step], dtype=torch.int64, device="cpu") if isinstance(step, int) else step


def _numbers(key: Optional[torch.Tensor]) -> Tuple[int, int]:
    if key is None:
        return 0, 0
    seed, step = key.tolist()
    return seed % (1 << 64), step % (1 << 32)


def _quantize(
    x: torch.Tensor, format: str, rounding: str, overflow: str, compat: str, key: Optional[torch.Tensor], stream: int
) -> torch.Tensor:
    seed, step = _numbers(key)
    return nibble.quantize(
        x, format, rounding=rounding, overflow=overflow, compat=compat, seed=seed, step=step, stream=stream
    )


def _draws(rounding: str) -> bool:
    return rounding.startswith("stochastic")


def quantized(x: torch.Tensor, format: str, rounding: str, *rest: Any) -> torch.Tensor:
    """`nibble.quantize` inside a graph; then overflow, compat, key and stream."""
    operation = torch.ops.nibble.quantize_by_draws if _draws(rounding) else torch.ops.nibble.quantize
    return operation(x, format, rounding, *rest)


def _matmul(
    a: torch.Tensor,
    b: torch.Tensor,
    format: str,
    product: str,
    rounding: str,
    overflow: str,
    method: str,
    order: str,
    chunk: int,
    key: Optional[torch.Tensor],
    stream: int,
) -> torch.Tensor:
    seed, step = _numbers(key)
    rules = nibble.Accumulator(format, product or None, rounding, overflow, method, order, chunk)
    return nibble.matmul(a, b, accumulator=rules, seed=seed, step=step, stream=stream).contiguous()


def accumulated(a: torch.Tensor, b: torch.Tensor, accumulator: Any, seed: int, step: Any, stream: int) -> torch.Tensor:
    """`nibble.matmul` inside a graph."""
    rules = accumulator if isinstance(accumulator, nibble.Accumulator) else nibble.Accumulator(accumulator)
    words = (rules.rounding, rules.overflow, rules.method, rules.order, rules.chunk)
    key = key_of(rules.rounding, seed, step)
    return _multiplied(a, b, _text(rules.format), _text(rules.product), *words, key, stream)


def _multiplied(a: torch.Tensor, b: torch.Tensor, format: str, product: str, rounding: str, *rest: Any) -> torch.Tensor:
    operation = torch.ops.nibble.matmul_by_draws if _draws(rounding) else torch.ops.nibble.matmul
    return operation(a, b, format, product, rounding, *rest)


def _text(format: Any) -> str:
    return "" if format is None else str(format)


def _next_key(counter: torch.Tensor, seed: Optional[int]) -> torch.Tensor:
    """Without a seed, one of torch's generator, as `draws.seed_of_torch` takes it; counting keeps such calls apart."""
    drawn = int(torch.empty((), dtype=torch.int64, device="cpu").random_()) if seed is None else seed
    key = torch.tensor([drawn, 0 if seed is None else int(counter)], dtype=torch.int64, device="cpu")
    counter.add_(1)
    return key


def traced_key(counter: torch.Tensor, seed: Optional[int]) -> torch.Tensor:
    """The next key inside a graph. An exported program has no state: every run of it draws from one step."""
    counted = counter if torch.compiler.is_dynamo_compiling() else counter.clone()
    return torch.ops.nibble.next_key(counted, None if seed is None else as_int64(seed))


def _straight_through(ctx: Any, gradient: torch.Tensor) -> Tuple[Any, ...]:
    return (gradient, *[None] * 6)


def _over_a_batch(info: Any, in_dims: Tuple[Any, ...], x: torch.Tensor, *rest: Any) -> Tuple[torch.Tensor, int]:
    """vmap: one call where elements do not hang together and nothing is drawn, else one a member of the batch."""
    format, rounding = rest[:2]
    if not nibble.Format(format).is_scaled and not _draws(rounding):
        return quantized(x, *rest), in_dims[0]
    return each_member(quantized, info, in_dims, x, *rest)


def _keep_factors(ctx: Any, inputs: Tuple[Any, ...], output: torch.Tensor) -> None:
    a, b, *ctx.words, ctx.key, ctx.stream = inputs
    ctx.save_for_backward(a, b)


def _product_gradients(ctx: Any, gradient: torch.Tensor) -> Tuple[Any, ...]:
    """Products by the same rules, each with draws of its own, as `nibble.torch.matmul` takes them."""
    a, b = ctx.saved_tensors

    def product(left: torch.Tensor, right: torch.Tensor, place: int, dtype: torch.dtype) -> torch.Tensor:
        return _multiplied(left, right, *ctx.words, ctx.key, ctx.stream + place).to(dtype)

    of_a = product(gradient, b.t(), 1, a.dtype) if ctx.needs_input_grad[0] else None
    of_b = product(a.t(), gradient, 2, b.dtype) if ctx.needs_input_grad[1] else None
    return (of_a, of_b, *[None] * 9)


if HAS_OPS:
    for suffix, tags in (("", {}), ("_by_draws", {"tags": UNCAPTURED} if UNCAPTURED else {})):
        quantize = torch.library.custom_op(f"nibble::quantize{suffix}", _quantize, mutates_args=(), **tags)
        quantize.register_fake(lambda x, *rest: torch.empty_like(x))
        quantize.register_autograd(_straight_through)
        quantize.register_vmap(_over_a_batch)

        matmul = torch.library.custom_op(f"nibble::matmul{suffix}", _matmul, mutates_args=(), **tags)
        matmul.register_fake(lambda a, b, *rest: a.new_empty((a.shape[0], b.shape[1]), dtype=torch.float32))
        matmul.register_autograd(_product_gradients, setup_context=_keep_factors)
        matmul.register_vmap(functools.partial(each_member, _multiplied))

    next_key = torch.library.custom_op("nibble::next_key", _next_key, mutates_args={"counter"})
    next_key.register_fake(lambda counter, seed: torch.empty(2, dtype=torch.int64, device="cpu"))
