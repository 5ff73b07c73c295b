// SPDX-License-Identifier: Apache-2.0
// How a call runs on a GPU: which kernels, and what lies where in its workspace.
#pragma once

#include <memory>

#include "kernels/quantize/cuda/define.h"
#include "nibble/kernels/device_quantize.h"

namespace nibble::inline kernels {

// Pieces of the workspace, each aligned to 16 bytes.
class WorkspaceLayout {
 public:
  // Where the next `bytes` bytes begin.
  std::size_t add(std::size_t bytes) {
    const std::size_t at = bytes_;
    bytes_ += (bytes + 15) / 16 * 16;
    return at;
  }
  std::size_t bytes() const { return bytes_; }

 private:
  std::size_t bytes_ = 0;
};

template <class T>
T* piece_of(void* workspace, std::size_t at) {
  return reinterpret_cast<T*>(static_cast<std::byte*>(workspace) + at);
}

struct DeviceLayout {
  Grouping grouping;
  std::int64_t groups = 1;
  std::shared_ptr<const RoundProgram> program;  // null: the definition runs
  cuda::ScaleSource source = cuda::ScaleSource::none;
  bool is_short = true;
  bool scans_data = false;            // scales from the data, but for those of blocks
  bool scans_tensor = false;          // two_level: for the scale of the tensor
  bool uploads_tensor_scale = false;  // two_level: given, and wanted in the workspace
  bool has_large_table = false;
  bool packs_after = false;  // codes go to the workspace first
  std::size_t ranges = 0, scales = 0, zeros = 0;
  std::size_t tensor_range = 0, tensor_scale = 0;
  std::size_t table = 0;
  std::size_t codes = 0;
  std::size_t bytes = 0;
};

enum class DeviceCall : std::uint8_t { quantize, encode, encode_packed };

DeviceLayout layout_of(const Shape& shape, const Format& format, const QuantizeOptions& options,
                       DeviceCall call);

cuda::DeviceElement device_element(const Element& element);

bool is_aligned_to(const void* data, std::size_t bytes);

// Queues what finds or brings the scales; where they are afterwards.
cuda::ScaleJob prepare_scales(const DeviceLayout& layout, DeviceArray input, const Shape& shape,
                              const Format& format, const QuantizeOptions& options,
                              const DeviceEncoded& stored, void* workspace,
                              const cuda::Place& place);

// Queues the rounding of all elements.
void round_on_device(const DeviceLayout& layout, DeviceArray input, DeviceArray output,
                     const cuda::CodeJob& codes, const cuda::ScaleJob& scales, const Shape& shape,
                     const Format& format, const QuantizeOptions& options, void* workspace,
                     const cuda::Place& place);

}  // namespace nibble::inline kernels
