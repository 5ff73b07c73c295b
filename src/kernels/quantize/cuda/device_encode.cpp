// SPDX-License-Identifier: Apache-2.0
// encode and decode on a GPU.
#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <string>

#include "cuda/upload.h"
#include "kernels/quantize/check_call.h"
#include "kernels/quantize/codes.h"
#include "kernels/quantize/cuda/decode.h"
#include "kernels/quantize/cuda/device_layout.h"
#include "kernels/quantize/cuda/pack.h"
#include "nibble/core/error.h"
#include "numerics/float_codes.h"

namespace nibble::inline kernels {
namespace {

cuda::CodeJob code_job(const Format& format, void* codes, bool packs_nibbles) {
  cuda::CodeJob job;
  const ElementInfo info = describe(format.element);
  job.codes = codes;
  job.bits = info.code_bits;
  job.type = packs_nibbles ? DType::u8 : code_type(info.code_bits);
  job.packs_nibbles = packs_nibbles;
  job.is_aligned = is_aligned_to(codes, packs_nibbles ? 2 : 4 * size_of(job.type));
  if (info.has_nan) {
    job.nan_code = encode_value(format.element, std::numeric_limits<double>::quiet_NaN());
  }
  if (const auto* f = std::get_if<FloatElement>(&format.element)) {
    const int magnitude_bits = f->exponent_bits + f->mantissa_bits;
    job.rebias = static_cast<std::uint32_t>(127 - f->bias) << f->mantissa_bits;
    job.unit = std::ldexp(1.0F, f->bias - 127);
    job.largest =
        info.has_infinity ? float_codes::infinity_magnitude(*f) : float_codes::max_magnitude(*f);
    job.sign_shift = 31 - magnitude_bits;
    job.sign_bit = f->is_signed ? std::uint32_t{1} << magnitude_bits : 0;
    job.has_minus_zero = info.has_negative_zero;
  }
  return job;
}

void check_codes(const char* op, const DeviceEncoded& encoded, const Format& format) {
  const DType expected = encoded.packed ? DType::u8 : code_type(describe(format.element).code_bits);
  if (encoded.codes.dtype != expected) {
    throw Error(op, "type of the codes", name_of(encoded.codes.dtype), name_of(expected));
  }
  // Packed codes of 16 and 32 bits lie as their own type does.
  const int bits = describe(format.element).code_bits;
  const auto bytes = static_cast<std::size_t>(bits / 8);
  if (encoded.packed && (bits == 16 || bits == 32) && !is_aligned_to(encoded.codes.data, bytes)) {
    throw Error(op, "address of packed codes of " + std::to_string(bits) + " bits",
                "one between them", "a multiple of " + std::to_string(bytes));
  }
}

DeviceCall call_of(bool packed) {
  return packed ? DeviceCall::encode_packed : DeviceCall::encode;
}

// Where decode's own scales come from.
cuda::ScaleJob stored_scales(const DeviceEncoded& encoded, const Shape& shape,
                             const Format& format) {
  const Scaling& scaling = format.scaling;
  cuda::ScaleJob job;
  if (scaling.kind == ScaleKind::none) return job;
  job.grouping = grouping_of(shape, scaling);
  job.is_short = shape.elements() < (std::int64_t{1} << 31);
  job.scales = encoded.scales;
  job.zeros = has_zeros(format) ? encoded.zeros : nullptr;
  job.zero = scaling.zero;
  if (scaling.kind == ScaleKind::two_level) {
    job.tensor_scale = encoded.tensor_scale;
    if (scaling.tensor_scale != 0) job.blocks.tensor_scale = scaling.tensor_scale;
  }
  const Grouping& g = job.grouping;
  job.source =
      g.granularity == Granularity::tensor ? cuda::ScaleSource::tensor : cuda::ScaleSource::groups;
  if (g.granularity == Granularity::block && g.inner == 1 &&
      (g.length % g.block == 0 || g.outer == 1) && g.block >= 4 &&
      std::has_single_bit(static_cast<std::uint64_t>(g.block)) && job.zeros == nullptr &&
      g.block <= cuda::kDecodedBlock) {
    job.source = cuda::ScaleSource::blocks;
    job.block_bits = std::countr_zero(static_cast<std::uint64_t>(g.block));
  }
  return job;
}

}  // namespace

std::size_t device_encode_workspace(const Shape& shape, const Format& format, bool packed,
                                    const QuantizeOptions& options) {
  return layout_of(shape, format, options, call_of(packed)).bytes;
}

void device_encode(DeviceArray input, const DeviceEncoded& encoded, const Shape& shape,
                   const Format& format, const QuantizeOptions& options, void* workspace,
                   const cuda::Place& place) {
  check_encodable(format, options);
  check_value_types(input.dtype, input.dtype);
  check_codes("encode", encoded, format);
  const cuda::DeviceGuard guard(place);
  const DeviceLayout layout = layout_of(shape, format, options, call_of(encoded.packed));
  const cuda::ScaleJob scales =
      prepare_scales(layout, input, shape, format, options, encoded, workspace, place);
  if (shape.elements() == 0) return;
  void* codes =
      layout.packs_after ? piece_of<std::byte>(workspace, layout.codes) : encoded.codes.data;
  const int bits = describe(format.element).code_bits;
  const bool packs_nibbles = encoded.packed && !layout.packs_after && bits == 4;
  const cuda::CodeJob job = code_job(format, codes, packs_nibbles);
  round_on_device(layout, input, {}, job, scales, shape, format, options, workspace, place);
  if (layout.packs_after) {
    cuda::pack_codes(codes, job.type, bits, shape.elements(), encoded.codes.data, place);
  }
}

std::size_t device_decode_workspace(const Shape& shape, const Format& format, bool packed) {
  WorkspaceLayout workspace;
  const int bits = describe(format.element).code_bits;
  if (const auto* table = std::get_if<CodebookElement>(&format.element);
      table != nullptr && bits > 8) {
    workspace.add(table->values.size() * sizeof(float));
  }
  if (packed && bits != 4 && bits != 8 && bits != 16 && bits != 32) {
    workspace.add(static_cast<std::size_t>(shape.elements()) * size_of(code_type(bits)));
  }
  return workspace.bytes();
}

void device_decode(const DeviceEncoded& encoded, DeviceArray output, const Shape& shape,
                   const Format& format, void* workspace, const cuda::Place& place) {
  const ElementInfo info = describe(format.element);
  const DType expected = info.decodes_to_fp32 ? DType::f32 : DType::f64;
  check_codes("decode", encoded, format);
  if (output.dtype != expected) {
    throw Error("decode", "type of the output", name_of(output.dtype), name_of(expected));
  }
  const cuda::DeviceGuard guard(place);
  if (shape.elements() == 0) return;
  WorkspaceLayout pieces;
  const int bits = info.code_bits;
  const bool packs_nibbles = encoded.packed && bits == 4;
  cuda::DecodeJob job;
  job.codes = code_job(format, encoded.codes.data, packs_nibbles);
  job.count = shape.elements();
  job.output = output.data;
  job.to_double = expected == DType::f64;
  job.is_aligned = is_aligned_to(output.data, 16);
  job.kind = format.scaling.kind;
  job.scales = stored_scales(encoded, shape, format);
  job.element = device_element(format.element);
  if (const auto* table = std::get_if<CodebookElement>(&format.element);
      table != nullptr && bits > 8) {
    const std::size_t bytes = table->values.size() * sizeof(float);
    auto* to = piece_of<float>(workspace, pieces.add(bytes));
    cuda::upload(to, table->values.data(), bytes, place);
    job.element.table = to;
  }
  if (encoded.packed && bits != 4 && bits != 8 && bits != 16 && bits != 32) {
    void* codes = piece_of<std::byte>(
        workspace, pieces.add(static_cast<std::size_t>(job.count) * size_of(job.codes.type)));
    cuda::unpack_codes(encoded.codes.data, bits, job.count, codes, job.codes.type, place);
    job.codes.codes = codes;
    job.codes.is_aligned = true;
  }
  if (bits <= 16) {
    const cuda::KnownDecoding& known = cuda::known_decoding(format.element);
    job.decoding = known.decoding;
    job.has_nan = known.has_nan;
    std::ranges::copy(known.values, job.values);
  }
  cuda::decode_elements(job, place);
}

}  // namespace nibble::inline kernels
