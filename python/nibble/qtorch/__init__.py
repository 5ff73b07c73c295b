# SPDX-License-Identifier: Apache-2.0
"""QPyTorch's names and signatures, those of its posit fork too, on Nibble's arithmetic.

    import nibble.qtorch as qtorch                    # or nibble.qtorch.install(), then import qtorch
    from nibble.qtorch.quant import float_quantize

Stochastic rounding follows torch.manual_seed, or `seed=` where it is given. `set_compat` chooses whose arithmetic
runs. docs/from-qpytorch.md lists the calls and what differs.
"""

from . import auto_low, optim, quant
from .compat import compat, get_compat, set_compat
from .install import install
from .number import BlockFloatingPoint, FixedPoint, FloatingPoint, Number, Posit, Positbf
from .posit_activation import PositTanhModule, PositTanhModuleEnhanced, RefTanhModule

__all__ = [
    "BlockFloatingPoint",
    "FixedPoint",
    "FloatingPoint",
    "Number",
    "Posit",
    "PositTanhModule",
    "PositTanhModuleEnhanced",
    "Positbf",
    "RefTanhModule",
    "auto_low",
    "compat",
    "get_compat",
    "install",
    "optim",
    "quant",
    "set_compat",
]
