# SPDX-License-Identifier: Apache-2.0
"""QPyTorch's automatic lowering."""

from .auto_low import lower, sequential_lower

__all__ = ["lower", "sequential_lower"]
