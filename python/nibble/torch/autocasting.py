# SPDX-License-Identifier: Apache-2.0
"""What torch.autocast is doing, asked alike of every version of torch."""

from __future__ import annotations

import torch

if hasattr(torch, "get_autocast_dtype"):  # torch 2.4 has one function for all devices
    is_autocasting, autocast_type = torch.is_autocast_enabled, torch.get_autocast_dtype
else:

    def is_autocasting(device: str) -> bool:
        return torch.is_autocast_cpu_enabled() if device == "cpu" else torch.is_autocast_enabled()

    def autocast_type(device: str) -> torch.dtype:
        return torch.get_autocast_cpu_dtype() if device == "cpu" else torch.get_autocast_gpu_dtype()
