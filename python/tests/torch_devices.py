# SPDX-License-Identifier: Apache-2.0
"""What the torch tests share: the devices of this machine and comparison by bits."""

import torch

import nibble

DEVICES = ["cpu"] + (["cuda"] if torch.cuda.is_available() and nibble.has_cuda else [])
BITS = {torch.float32: torch.int32, torch.float16: torch.int16, torch.bfloat16: torch.int16}


def same_bits(a, b):
    """Equal bit by bit; any NaN equals any other."""
    a, b = a.detach().cpu().contiguous(), b.detach().cpu().contiguous()
    if a.dtype != b.dtype or a.shape != b.shape:
        return False
    equal = (a.view(BITS[a.dtype]) == b.view(BITS[b.dtype])) | (torch.isnan(a) & torch.isnan(b))
    return bool(equal.all())


def mixed_values(count=4096, seed=1):
    """Any bit pattern, and normal numbers of many sizes."""
    generator = torch.Generator().manual_seed(seed)
    patterns = torch.randint(-(2**31), 2**31 - 1, (count,), generator=generator).to(torch.int32).view(torch.float32)
    sizes = torch.exp2(torch.randint(-12, 8, (count,), generator=generator).float())
    return torch.cat([patterns, torch.randn(count, generator=generator) * sizes])
