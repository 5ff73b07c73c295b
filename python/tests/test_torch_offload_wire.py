# SPDX-License-Identifier: Apache-2.0
"""What crosses between host and accelerator: the bytes of narrow wires, packed here and there."""

import pytest

torch = pytest.importorskip("torch")

import nibble
from nibble.torch.draws import Key
from nibble.torch.offloading.wire import Wire, pack_bytes_there, pack_halves_there
from torch_devices import DEVICES


@pytest.mark.parametrize("size", [1.0, 2.0**-130, 2.0**-60, 2.0**120, 0.0], ids=str)
def test_bytes_are_those_of_the_format(size):
    torch.manual_seed(4)
    edges = torch.tensor([1.0, -1.0, 0.999, 127.5 / 128, -0.5, 2.0**-7, 0.0])
    for x in (torch.randn(3, 5, 7) * size, torch.randn(5, 40).t() * size, edges * size, -edges[:1] * size):
        for key, rounding in ((None, {}), (Key(7, 3), dict(rounding="stochastic", seed=7, step=3, stream=5))):
            coded, parcel = nibble.encode(x, "bfp(8)", **rounding), Wire("int8").pack(x, key, 5)
            assert torch.equal(parcel.payload, coded.codes.view(torch.int8).reshape(x.shape))
            assert size == 0 or parcel.scale == 2 * float(coded.scales)


def here(parcel):
    return parcel.arrived(parcel.payload.cpu(), None if parcel.peak is None else parcel.peak.cpu())


@pytest.mark.parametrize("shape", [(7,), (3, 5, 2)])
@pytest.mark.parametrize("device", DEVICES)
def test_int8_is_bfp8(shape, device):
    x = torch.randn(shape, device=device)
    parcel = here(Wire("int8").pack(x))
    assert parcel.nbytes == x.numel() + 4
    assert torch.equal(parcel.unpacked(torch.float32), nibble.quantize(x, "bfp(8)").cpu())
    for dtype in (torch.float16, torch.bfloat16, torch.float32):
        values, scale = parcel.operand(dtype)
        assert torch.equal(values.float() * scale, parcel.unpacked(torch.float32))
    drawn = here(Wire("int8").pack(x, Key(7, 3), 5)).unpacked(torch.float32)
    assert torch.equal(drawn, nibble.quantize(x, "bfp(8)", rounding="stochastic", seed=7, step=3, stream=5).cpu())


@pytest.mark.parametrize("size", [1e-30, 1e-7, 1.0, 1e9, 0.0])
def test_fp16_keeps_its_bits_at_any_size(size):
    x = torch.randn(1000) * size
    found = Wire("fp16").pack(x).unpacked(torch.float32)
    assert ((found - x).abs() <= 2**-11 * x.abs() + 2**-24 * x.abs().max()).all()


@pytest.mark.parametrize("size", [2.0**-149, 2.0**-130, 2.0**-60, 1.0, 2.0**120, 2.0**127, 0.0], ids=str)
@pytest.mark.parametrize("device", DEVICES)
def test_devices_pack_as_the_host_does(size, device):
    """The functions of devices, which CPUs have too."""
    torch.manual_seed(4)
    edges = torch.tensor([1.0, -1.0, 0.999, 127.5 / 128, -0.5, 2.0**-7, 0.0])
    for x in (torch.randn(3, 5, 7) * min(size, 2.0**120), edges * size, -edges[:1] * size):
        for wire, packed in (("fp16", pack_halves_there(x.to(device))), ("int8", pack_bytes_there(x.to(device), {}))):
            found, expected = here(packed), Wire(wire).pack(x)
            assert found.scale == expected.scale
            assert size == 0 or torch.equal(found.payload, expected.payload)
            assert torch.equal(found.unpacked(torch.float32), expected.unpacked(torch.float32))


@pytest.mark.parametrize("bad", [float("inf"), -float("inf"), float("nan")])
@pytest.mark.parametrize("device", DEVICES)
def test_devices_pack_what_is_not_finite_as_nan(bad, device):
    x = torch.ones(1000, device=device)
    x[7] = bad
    parcels = [pack_halves_there(x)]
    if device != "cpu" or not x.isnan().any():  # the CPU's own encode refuses a NaN
        parcels.append(pack_bytes_there(x, {}))
    assert all(torch.isnan(here(parcel).unpacked(torch.float32)).all() for parcel in parcels)
