# SPDX-License-Identifier: Apache-2.0
"""Products of int8 arrays with exact int32 sums: matrices and convolutions, forward and both gradients.

NumPy arrays and torch tensors, on the CPU and on GPUs; the same integers everywhere. This is what a step of
integer training is made of; what comes out is rounded back to int8 by a shift (docs/integer-arithmetic.md).
A sum that leaves int32 is refused: up to `SAFE_DEPTH` products never do, more are summed in parts of so many, and these
in int64, for a look at which the host waits for the GPU.
"""

from __future__ import annotations

import sys
from typing import Any, Sequence, Tuple, TypeVar, Union

import numpy as np

from nibble import _core
from nibble.errors import ArgumentTypeError, UsageError

ArrayT = TypeVar("ArrayT")
Pair = Union[int, Sequence[int]]
SAFE_DEPTH = 131071  # so many products of any int8 values stay within int32: ⌊(2^31 - 1) / 128²⌋


class _Numpy:
    """What products need of NumPy; torch tensors on the CPU are seen as NumPy arrays."""

    def __init__(self, example: Any) -> None:
        self.gives_torch = not isinstance(example, np.ndarray)

    def take(self, array: Any) -> Any:
        return array.detach().numpy() if self.gives_torch else array

    def give(self, array: Any) -> Any:
        array = np.ascontiguousarray(array)
        return sys.modules["torch"].from_numpy(array) if self.gives_torch else array

    def zeros(self, shape: Tuple[int, ...], depth: int) -> Any:
        return np.zeros(shape, np.int32 if depth <= SAFE_DEPTH else np.int64)

    def narrow(self, sums: Any) -> Any:
        return sums.astype(np.int32)

    def pad(self, x: Any, rows: int, columns: int) -> Any:
        return np.pad(x, ((0, 0), (0, 0), (rows, rows), (columns, columns)))

    def windows(self, x: Any, extents: Tuple[int, int]) -> Any:
        return np.lib.stride_tricks.sliding_window_view(x, extents, (2, 3))

    def permute(self, x: Any, *axes: int) -> Any:
        return x.transpose(axes)

    def product(self, a: Any, b: Any) -> Any:
        out = np.empty((a.shape[0], b.shape[1]), np.int32)
        _core.int8_matmul(np.ascontiguousarray(a), np.ascontiguousarray(b), out)
        return out


class _Torch:
    """What products need of torch, on a GPU."""

    def __init__(self, example: Any) -> None:
        self.torch = sys.modules["torch"]
        self.device = example.device

    def take(self, array: Any) -> Any:
        return array.detach()

    def give(self, array: Any) -> Any:
        return array.contiguous()

    def zeros(self, shape: Tuple[int, ...], depth: int) -> Any:
        dtype = self.torch.int32 if depth <= SAFE_DEPTH else self.torch.int64
        return self.torch.zeros(shape, dtype=dtype, device=self.device)

    def narrow(self, sums: Any) -> Any:
        return sums.to(self.torch.int32)

    def pad(self, x: Any, rows: int, columns: int) -> Any:
        return self.torch.nn.functional.pad(x, (columns, columns, rows, rows))

    def windows(self, x: Any, extents: Tuple[int, int]) -> Any:
        return x.unfold(2, extents[0], 1).unfold(3, extents[1], 1)

    def permute(self, x: Any, *axes: int) -> Any:
        return x.permute(axes)

    def product(self, a: Any, b: Any) -> Any:
        """cuBLAS wants more than 16 rows and multiples of 8, so zeros fill up. Where it has no kernel, as for 131,080
        columns of depth 16 on an H200, doubles sum as exactly."""
        (rows, depth), columns = a.shape, b.shape[1]
        if 0 in (rows, depth, columns):
            return self.zeros((rows, columns), depth)
        pad = self.torch.nn.functional.pad
        a = pad(a, (0, -depth % 8, 0, max(0, 32 - rows) if rows < 32 else -rows % 8))
        b = pad(b, (0, -columns % 8, 0, -depth % 8))
        try:
            sums = self.torch._int_mm(a.contiguous(), b.t().contiguous().t())
        except RuntimeError as error:
            if "CUBLAS_STATUS_NOT_SUPPORTED" not in str(error):
                raise
            sums = (a.double() @ b.double()).to(self.torch.int32)
        return sums[:rows, :columns]


def _package(where: str, *arrays: Any) -> Any:
    """The package of arrays that have all to be int8 and in one place."""
    torch = sys.modules.get("torch")
    first = arrays[0]
    is_torch = torch is not None and isinstance(first, torch.Tensor)
    for array in arrays:
        if not isinstance(array, (np.ndarray, torch.Tensor) if torch is not None else np.ndarray):
            kind = type(array).__name__
            raise ArgumentTypeError(f"[{where}] operand: got {kind}, expected int8 arrays of NumPy or torch")
        if str(array.dtype).replace("torch.", "") != "int8":
            raise ArgumentTypeError(f"[{where}] operand's dtype: got {array.dtype}, expected int8")
        if type(array) is not type(first) or (is_torch and array.device != first.device):
            raise UsageError(f"[{where}] operands: got arrays of two kinds or devices, expected one")
    return _Torch(first) if is_torch and first.device.type != "cpu" else _Numpy(first)


def _product(package: Any, a: Any, b: Any) -> Any:
    """The sums in int32, or in int64 where they might leave it."""
    depth = a.shape[1]
    if depth <= SAFE_DEPTH:
        return package.product(a, b)
    sums = package.zeros((a.shape[0], b.shape[1]), depth)
    for begin in range(0, depth, SAFE_DEPTH):
        part = slice(begin, begin + SAFE_DEPTH)
        sums += package.product(a[:, part], b[part])
    return sums


def _give(where: str, package: Any, sums: Any, depth: int) -> Any:
    """The sums of so many products, in int32."""
    if depth > SAFE_DEPTH:
        narrow = package.narrow(sums)
        if (narrow != sums).any():
            place = tuple(map(int, np.unravel_index(int(abs(sums - narrow).argmax()), tuple(sums.shape))))
            raise UsageError(
                f"[{where}] sum of {depth} products at {place}: got {int(sums[place])}, expected one within int32"
            )
        sums = narrow
    return package.give(sums)


def matmul(a: ArrayT, b: Any) -> ArrayT:
    """The int32 product of two int8 matrices. Its gradients are `matmul(error, b.T)` and `matmul(a.T, error)`.

    >>> import numpy as np
    >>> matmul(np.full((1, 1000), 127, np.int8), np.full((1000, 1), -128, np.int8))
    array([[-16256000]], dtype=int32)
    """
    package = _package("integers.matmul", a, b)
    left, right = package.take(a), package.take(b)
    if len(left.shape) != 2 or len(right.shape) != 2 or left.shape[1] != right.shape[0]:
        raise UsageError(
            f"[integers.matmul] shapes: got {tuple(left.shape)} and {tuple(right.shape)}, expected (m, k) and (k, n)"
        )
    result: ArrayT = _give("integers.matmul", package, _product(package, left, right), left.shape[1])
    return result


class _Geometry:
    """A convolution's numbers: images, channels and pixels in and out, and the kernel between them."""

    def __init__(
        self,
        where: str,
        x: Sequence[int],
        weight: Sequence[int],
        stride: Pair,
        padding: Pair,
        dilation: Pair,
        groups: int,
    ) -> None:
        self.stride, self.padding, self.dilation = _pair(stride), _pair(padding), _pair(dilation)
        if len(x) != 4 or len(weight) != 4 or groups < 1 or weight[0] % groups or x[1] != weight[1] * groups:
            raise UsageError(
                f"[{where}] shapes: got {tuple(x)} and a weight of {tuple(weight)} in {groups} groups, "
                "expected (images, channels, rows, columns) and (features, channels / groups, rows, columns)"
            )
        if min(self.stride) < 1 or min(self.dilation) < 1 or min(self.padding) < 0:
            raise UsageError(f"[{where}] stride, padding or dilation: got a number that is too small")
        self.groups, self.kernel = groups, (weight[2], weight[3])
        self.extents = tuple(d * (k - 1) + 1 for d, k in zip(self.dilation, self.kernel))
        self.padded = tuple(size + 2 * p for size, p in zip(x[2:], self.padding))
        if any(size < extent for size, extent in zip(self.padded, self.extents)):
            raise UsageError(f"[{where}] shapes: got a kernel larger than the picture, expected a smaller one")
        self.size = tuple((size - e) // s + 1 for size, e, s in zip(self.padded, self.extents, self.stride))
        self.images, self.features, self.channels = x[0], weight[0] // groups, weight[1]  # those of a group
        self.places = self.images * self.size[0] * self.size[1]
        self.depth = self.channels * self.kernel[0] * self.kernel[1]

    def patches(self, package: Any, x: Any) -> Any:
        """(groups, places, depth) of a picture."""
        (down, across), (apart_down, apart_across) = self.stride, self.dilation
        seen = package.windows(package.pad(x, *self.padding), self.extents)
        seen = seen[:, :, ::down, ::across, ::apart_down, ::apart_across]
        seen = seen.reshape(self.images, self.groups, self.channels, *self.size, *self.kernel)
        return package.permute(seen, 1, 0, 3, 4, 2, 5, 6).reshape(self.groups, self.places, self.depth)

    def errors(self, package: Any, error: Any) -> Any:
        """(groups, places, features) of an error."""
        split = error.reshape(self.images, self.groups, self.features, *self.size)
        return package.permute(split, 1, 0, 3, 4, 2).reshape(self.groups, self.places, self.features)

    def check_error(self, where: str, error: Any) -> None:
        expected = (self.images, self.groups * self.features, *self.size)
        if tuple(error.shape) != expected:
            raise UsageError(f"[{where}] error's shape: got {tuple(error.shape)}, expected {expected}")


def conv2d(x: ArrayT, weight: Any, stride: Pair = 1, padding: Pair = 0, dilation: Pair = 1, groups: int = 1) -> ArrayT:
    """int32 sums of a convolution of int8: x (images, channels, rows, columns), weight as torch has it.

    >>> from nibble import integers
    >>> picture = np.arange(9, dtype=np.int8).reshape(1, 1, 3, 3)
    >>> integers.conv2d(picture, np.ones((1, 1, 2, 2), np.int8)).tolist()
    [[[[8, 12], [20, 24]]]]
    """
    package = _package("integers.conv2d", x, weight)
    x_, kernel = package.take(x), package.take(weight)
    g = _Geometry("integers.conv2d", x_.shape, kernel.shape, stride, padding, dilation, groups)
    patches, kernels = g.patches(package, x_), kernel.reshape(groups, g.features, g.depth)
    out = package.zeros((g.images, groups, g.features, *g.size), g.depth)
    for i in range(groups):
        sums = _product(package, patches[i], kernels[i].T).reshape(g.images, *g.size, g.features)
        out[:, i] = package.permute(sums, 0, 3, 1, 2)
    result: ArrayT = _give("integers.conv2d", package, out.reshape(g.images, groups * g.features, *g.size), g.depth)
    return result


def conv2d_input_gradient(
    error: ArrayT,
    weight: Any,
    shape: Sequence[int],
    stride: Pair = 1,
    padding: Pair = 0,
    dilation: Pair = 1,
    groups: int = 1,
) -> ArrayT:
    """int32 sums of the gradient of x, whose shape is given.

    >>> from nibble import integers
    >>> errors, weight = np.int8([[[[1, 0], [0, 2]]]]), np.int8([[[[5, 0], [0, -3]]]])
    >>> integers.conv2d_input_gradient(errors, weight, (1, 1, 3, 3)).tolist()
    [[[[5, 0, 0], [0, 7, 0], [0, 0, -6]]]]
    """
    where = "integers.conv2d_input_gradient"
    package = _package(where, error, weight)
    error_, kernel = package.take(error), package.take(weight)
    g = _Geometry(where, shape, kernel.shape, stride, padding, dilation, groups)
    g.check_error(where, error_)
    depth = g.features * g.kernel[0] * g.kernel[1]
    errors, kernels = g.errors(package, error_), kernel.reshape(groups, g.features, g.depth)
    padded = package.zeros((g.images, groups, g.channels, *g.padded), depth)
    (down, across), (apart_down, apart_across) = g.stride, g.dilation
    for i in range(groups):
        columns = _product(package, errors[i], kernels[i]).reshape(g.images, *g.size, g.channels, *g.kernel)
        columns = package.permute(columns, 0, 3, 1, 2, 4, 5)
        for row in range(g.kernel[0]):  # every tap adds to the pixels that it had read
            for column in range(g.kernel[1]):
                top, left = row * apart_down, column * apart_across
                bottom, right = top + (g.size[0] - 1) * down + 1, left + (g.size[1] - 1) * across + 1
                padded[:, i, :, top:bottom:down, left:right:across] += columns[..., row, column]
    rows, cols = g.padding
    inner = padded[:, :, :, rows : g.padded[0] - rows, cols : g.padded[1] - cols]
    result: ArrayT = _give(where, package, inner.reshape(shape), depth)
    return result


def conv2d_weight_gradient(
    error: ArrayT,
    x: Any,
    shape: Sequence[int],
    stride: Pair = 1,
    padding: Pair = 0,
    dilation: Pair = 1,
    groups: int = 1,
) -> ArrayT:
    """int32 sums of the gradient of the weight, whose shape is given.

    dW[p] = Σ error[o] · x[stride·o + dilation·p - padding]

    >>> from nibble import integers
    >>> picture = np.arange(9, dtype=np.int8).reshape(1, 1, 3, 3)
    >>> integers.conv2d_weight_gradient(np.int8([[[[1, 0], [0, 2]]]]), picture, (1, 1, 2, 2)).tolist()
    [[[[8, 11], [17, 20]]]]
    """
    where = "integers.conv2d_weight_gradient"
    package = _package(where, error, x)
    error_, x_ = package.take(error), package.take(x)
    g = _Geometry(where, x_.shape, shape, stride, padding, dilation, groups)
    g.check_error(where, error_)
    depth = g.images * g.size[0] * g.size[1]
    errors, patches = g.errors(package, error_), g.patches(package, x_)
    out = package.zeros((groups, g.features, g.depth), depth)
    for i in range(groups):
        out[i] = _product(package, errors[i].T, patches[i])
    result: ArrayT = _give(where, package, out.reshape(shape), depth)
    return result


def _pair(value: Pair) -> Tuple[int, int]:
    return (int(value[0]), int(value[1])) if isinstance(value, Sequence) else (int(value), int(value))
