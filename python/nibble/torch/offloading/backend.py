# SPDX-License-Identifier: Apache-2.0
"""A back end: an accelerator as offloaded layers see it. The CPU is one, so that all of it works without another."""

from __future__ import annotations

import contextlib
import threading
from typing import Any, Callable, ContextManager, Dict, List, Optional, Tuple, Union

import torch

from ...errors import StateError, UsageError
from .products import Convolution, Gradients, Mask, Product

# Names of `compute`: the type of products.
COMPUTES: Dict[str, torch.dtype] = {
    "fp64": torch.float64,
    "fp32": torch.float32,
    "tf32": torch.float32,
    "fp16": torch.float16,
    "bf16": torch.bfloat16,
}
NOTHING_AROUND = contextlib.nullcontext()
MOST_TAPS = 1 << 28  # inputs below elements of a weight that are written out, 1 GiB in fp32


class Backend:
    """The CPU itself: nothing is copied. For another device override `send` and `fetch`, the products where torch
    has none for it, and `ask` where torch's calls wait for what they compute, though the device need not be waited for.
    """

    host = "cpu"  # the kind of device that the model is on
    device = torch.device("cpu")
    runs_ahead = False  # whether calls return before the work is done, so that it pays to start copies early

    def send(self, tensor: torch.Tensor) -> torch.Tensor:
        """The tensor on the device; what follows on the device may rely on it."""
        return tensor

    def memory(self, shape: torch.Size, dtype: torch.dtype) -> torch.Tensor:
        """New memory of the host, of the kind that `send` is quickest with."""
        return torch.empty(shape, dtype=dtype)

    def ask(self, work: Callable[[], Any], *sent: Optional[torch.Tensor]) -> Callable[[], Any]:
        """Has `work` done, which computes with the device's tensors: all that does runs in such calls, one after the
        other, and so does `fetch`. The result gives what `work` gave, or raises what went wrong there or on the way of
        those tensors that were `sent` for it.
        """
        done = work()
        return lambda: done

    def fetch(self, *tensors: Optional[torch.Tensor]) -> Callable[[], Tuple[Any, ...]]:
        """Begins to bring tensors to the host; the result waits for them and gives them. None stays None."""
        return lambda: tensors

    def forward(
        self, product: Product, x: torch.Tensor, weight: torch.Tensor, bias: Optional[torch.Tensor]
    ) -> torch.Tensor:
        """The product of tensors of the device, with a bias where there is one."""
        return product.forward(x, weight, bias)

    def backward(
        self, product: Product, error: torch.Tensor, x: torch.Tensor, weight: torch.Tensor, mask: Mask
    ) -> Gradients:
        """Gradients of the input, the weight and the bias, those that the mask asks for; None in place of others."""
        return product.backward(error, x, weight, mask)

    def computing(self, compute: Optional[str], has_weights: bool = False) -> ContextManager[Any]:
        """Around products, one with the gradient of weights among them or not: fp32 is not to be less."""
        return NOTHING_AROUND

    def __deepcopy__(self, memo: Any) -> Backend:
        return self  # copies of a layer use the same device

    def __repr__(self) -> str:
        return f"{type(self).__name__}({str(self.device)!r})"


class CudaBackend(Backend):
    """A GPU of this machine. Copies go through page-locked memory, which torch keeps for the next ones."""

    runs_ahead = True

    def __init__(self, device: str = "cuda") -> None:
        if not torch.cuda.is_available():
            raise StateError(f"offload: got device {device!r}, but torch finds no GPU here; 'cpu' works anywhere")
        index = torch.device(device).index
        self.device = torch.device("cuda", torch.cuda.current_device() if index is None else index)
        self._outward = torch.cuda.Stream(self.device)  # fetches run beside the products that follow

    def send(self, tensor: torch.Tensor) -> torch.Tensor:
        tensor = tensor.contiguous()
        if not tensor.is_pinned():
            tensor = tensor.pin_memory()
        return tensor.to(self.device, non_blocking=True)

    def memory(self, shape: torch.Size, dtype: torch.dtype) -> torch.Tensor:
        return torch.empty(shape, dtype=dtype, pin_memory=True)

    def fetch(self, *tensors: Optional[torch.Tensor]) -> Callable[[], Tuple[Any, ...]]:
        made = torch.cuda.current_stream(self.device).record_event()
        found: List[Optional[torch.Tensor]] = []
        with torch.cuda.stream(self._outward):
            self._outward.wait_event(made)
            for tensor in tensors:
                if tensor is None:
                    found.append(None)
                    continue
                here = self.memory(tensor.shape, tensor.dtype)
                found.append(here.copy_(tensor, non_blocking=True))
            arrived = self._outward.record_event()

        def wait() -> Tuple[Any, ...]:
            arrived.synchronize()
            del tensors_held[:]
            return tuple(found)

        tensors_held = list(tensors)  # the device's memory is not to be used again before
        return wait

    def backward(
        self, product: Product, error: torch.Tensor, x: torch.Tensor, weight: torch.Tensor, mask: Mask
    ) -> Gradients:
        """Without cuDNN torch takes long for the gradient of a convolution's weight."""
        has_cudnn = torch.backends.cudnn.enabled
        if not has_cudnn and not mask[0] and isinstance(product, Convolution) and product.groups == 1:
            if error[:, 0].numel() * weight[0].numel() <= MOST_TAPS:
                return product.gradients_by_matrices(error, x, weight, mask)
        return super().backward(product, error, x, weight, mask)

    def computing(self, compute: Optional[str], has_weights: bool = False) -> ContextManager[Any]:
        if compute not in ("fp32", "tf32"):
            return NOTHING_AROUND
        # cuDNN's gradients of weights were off by 1.3e-5 of the largest where others are by 3e-7.
        return _float_products(compute == "tf32", may_be_cudnns=compute == "tf32" or not has_weights)


_switching = threading.Lock()  # torch's switches are those of the process


@contextlib.contextmanager
def _float_products(may_round: bool, may_be_cudnns: bool) -> Any:
    matrices, cudnn = torch.backends.cuda.matmul, torch.backends.cudnn
    convolutions: Any = cudnn
    name: str = "allow_tf32"
    wanted: Any = may_round
    if hasattr(matrices, "fp32_precision"):  # torch 2.9
        convolutions, name, wanted = cudnn.conv, "fp32_precision", "tf32" if may_round else "ieee"
    with _switching:
        kept = getattr(matrices, name), getattr(convolutions, name), cudnn.enabled
        setattr(matrices, name, wanted)
        setattr(convolutions, name, wanted)
        cudnn.enabled = kept[2] and may_be_cudnns
        try:
            yield
        finally:
            setattr(matrices, name, kept[0])
            setattr(convolutions, name, kept[1])
            cudnn.enabled = kept[2]


AnyBackend = Union[str, Backend]
_makers: Dict[str, Callable[[str], Backend]] = {"cpu": lambda device: Backend(), "cuda": CudaBackend}
_made: Dict[str, Backend] = {}


def register_backend(kind: str, maker: Callable[[str], Backend]) -> None:
    """From now on `device="kind"` or `"kind:1"` is what `maker` makes of that text, once.

    >>> nt.register_backend("another", lambda device: nt.Backend())
    >>> nt.offload(torch.nn.Linear(4, 8), device="another:1")(torch.ones(2, 4)).shape
    torch.Size([2, 8])
    """
    _makers[kind] = maker
    for device in [device for device in _made if device.split(":")[0] == kind]:
        del _made[device]


def backend_of(device: AnyBackend) -> Backend:
    if isinstance(device, Backend):
        return device
    device = str(device)
    found = _made.get(device)
    if found is not None:
        return found
    kind = device.split(":")[0]
    if kind not in _makers:
        raise UsageError(f"device: got {device!r}, expected one of {', '.join(map(repr, _makers))} or a Backend")
    if device not in _made:
        _made[device] = _makers[kind](device)
    return _made[device]
