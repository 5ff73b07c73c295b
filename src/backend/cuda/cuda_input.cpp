// SPDX-License-Identifier: Apache-2.0
// What enters a step: numbers of the host, and images of data sets that are held or streamed.
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <vector>

#include "backend/cuda/cuda_backend.h"
#include "backend/cuda/plain_kernels.h"
#include "nibble/core/error.h"

namespace nibble::inline backend {

void* CudaBackend::bring(Inlet& inlet, const void* bytes, std::size_t size) {
  void* to = nullptr;
  if (inbox_used_ + size <= kInbox) {
    to = inbox_.as<std::byte>() + inbox_used_;
    inbox_used_ += (size + kInboxStep - 1) / kInboxStep * kInboxStep;
  } else {
    if (inlet.is_used) queue().flush();
    inlet.is_used = true;
    if (inlet.memory.size() < size) inlet.memory = lasting_.take(size);
    to = inlet.memory.as<void>();
  }
  queue().put(to, bytes, size);
  return to;
}

const std::int8_t* CudaBackend::bring_tables(std::span<const std::int8_t> tables) {
  if (!std::ranges::equal(tables, told_tables_)) {
    queue().flush();  // who reads the old ones comes first
    told_tables_.assign(tables.begin(), tables.end());
    tables_ = lasting_.take(tables.size());
    queue().put(tables_.as<void>(), tables.data(), tables.size());
  }
  return tables_.as<std::int8_t>();
}

void CudaBackend::spread(const void* bytes, const std::int8_t* tables, std::int64_t table_channels,
                         int exponent, const Values& to) {
  cuda::queue(queue(), cuda::SpreadJob{.from = static_cast<const std::uint8_t*>(bytes),
                                       .tables = tables,
                                       .sent_exponent = nullptr,
                                       .to = target(to),
                                       .table_channels =
                                           Divisor::of(static_cast<std::uint32_t>(table_channels)),
                                       .exponent = exponent});
}

void CudaBackend::load(std::span<const std::int8_t> mantissas, int exponent, const Values& to) {
  spread(bring(input_, mantissas.data(), mantissas.size()), nullptr, 1, exponent, to);
}

void CudaBackend::load_bytes(std::span<const std::uint8_t> bytes,
                             std::span<const std::int8_t> tables, int exponent, const Values& to) {
  const std::int8_t* told = bring_tables(tables);
  spread(bring(input_, bytes.data(), bytes.size()), told,
         static_cast<std::int64_t>(tables.size()) / 256, exponent, to);
}

// The whole data set, brought here once; null where it does not fit.
const std::uint8_t* CudaBackend::held_images(ConstTensorView images) {
  constexpr std::size_t kPiece = std::size_t{1} << 24;
  const auto [place, is_new] = data_sets_.try_emplace(images.data());
  const char* asked = std::getenv("NIBBLE_CUDA_DATA");
  const bool is_streamed = asked != nullptr && std::string_view(asked) == "stream";
  if (is_new && !is_streamed) {
    const auto bytes = static_cast<std::size_t>(images.elements());
    try {
      place->second = lasting_.take(bytes);
    } catch (const Error&) {  // batches come one by one then
      return nullptr;
    }
    const auto* from = reinterpret_cast<const std::uint8_t*>(images.data());
    for (std::size_t done = 0; done < bytes; done += kPiece)
      queue().put(place->second.as<std::uint8_t>() + done, from + done,
                  std::min(kPiece, bytes - done));
  }
  return place->second.as<std::uint8_t>();
}

void CudaBackend::load_images(const ImageSelection& images, std::span<const std::int8_t> tables,
                              int exponent, const Values& to) {
  const std::uint8_t* held = held_images(images.images);
  const Shape& all = images.images.shape();
  if (held == nullptr) {
    const Shape shape{static_cast<std::int64_t>(images.indices.size()), all[1], all[2], all[3]};
    const std::int8_t* told = bring_tables(tables);
    cuda::UpPlace& batch = lanes().next(static_cast<std::size_t>(shape.elements()));
    gather_images(images.images, images.indices, images.augment, images.key,
                  TensorView(lanes().room(batch).data(), DType::u8, shape));
    lanes().send(batch);
    return spread(lanes().use(batch), told, all[3], exponent, to);
  }
  std::vector<std::byte> selected(sizeof(cuda::SelectedImages) + images.indices.size_bytes());
  const cuda::SelectedImages head{images.key.seed, images.key.epoch, 0};
  std::memcpy(selected.data(), &head, sizeof head);
  std::memcpy(selected.data() + sizeof head, images.indices.data(), images.indices.size_bytes());
  const std::int8_t* told = bring_tables(tables);
  const void* brought = bring(input_, selected.data(), selected.size());
  cuda::queue(queue(),
              cuda::GatherJob{.images = held,
                              .selected = static_cast<const cuda::SelectedImages*>(brought),
                              .tables = told,
                              .to = target(to),
                              .line = Divisor::of(static_cast<std::uint32_t>(all[2] * all[3])),
                              .channels = Divisor::of(static_cast<std::uint32_t>(all[3])),
                              .height = static_cast<std::int32_t>(all[1]),
                              .width = static_cast<std::int32_t>(all[2]),
                              .padding = images.augment.padding,
                              .cutout = images.augment.cutout,
                              .has_flip = images.augment.has_flip ? 1 : 0,
                              .fill = images.augment.fill,
                              .exponent = exponent,
                              .unused = 0});
}

}  // namespace nibble::inline backend
