# SPDX-License-Identifier: Apache-2.0
"""QPyTorch's optimizer wrapper."""

from .optim_low import OptimLP

__all__ = ["OptimLP"]
