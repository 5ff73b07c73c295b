// SPDX-License-Identifier: Apache-2.0
// Convolutions and linear layers on a GPU: gathered windows times packed weights, or a kernel of
// their own for groups of channels and for sums beyond 32 bits.
#include <algorithm>

#include "core/checked.h"
#include "engine/cuda/product_parts.h"
#include "engine/cuda/window_jobs.h"

namespace nibble::inline engine {
namespace {

constexpr std::uint32_t kLeastDepths = 2;  // of 128 bytes, that are worth a block
constexpr std::size_t kLargestTile = std::size_t{256} * 128;

cuda::DeviceWindow device_window(const Conv2d& conv) {
  const auto two = [](const Extent2& extent, std::int32_t(&to)[2]) {
    to[0] = static_cast<std::int32_t>(extent.y);
    to[1] = static_cast<std::int32_t>(extent.x);
  };
  cuda::DeviceWindow window{};
  two(conv.kernel, window.kernel);
  two(conv.stride, window.stride);
  two(conv.padding, window.padding);
  two(conv.dilation, window.dilation);
  return window;
}

// [pixel of the result][tap] is a pixel of the input, the one behind the picture, or -1.
std::vector<std::int32_t> window_table(const ProductParts& parts) {
  const Conv2d& window = parts.window;
  const Picture& in = parts.in.picture;
  const Picture& out = parts.out.picture;
  const std::int64_t outside = parts.in.has_border ? in.pixels() : -1;
  std::vector<std::int32_t> table;
  table.reserve(static_cast<std::size_t>(checked_product(out.pixels(), parts.taps())));
  for (std::int64_t y = 0; y < out.height; ++y) {
    for (std::int64_t x = 0; x < out.width; ++x) {
      for (std::int64_t ky = 0; ky < window.kernel.y; ++ky) {
        for (std::int64_t kx = 0; kx < window.kernel.x; ++kx) {
          const std::int64_t iy = y * window.stride.y - window.padding.y + ky * window.dilation.y;
          const std::int64_t ix = x * window.stride.x - window.padding.x + kx * window.dilation.x;
          const bool is_there = iy >= 0 && iy < in.height && ix >= 0 && ix < in.width;
          table.push_back(static_cast<std::int32_t>(is_there ? iy * in.width + ix : outside));
        }
      }
    }
  }
  return table;
}

// Into how many parts the depth of a product is cut: a few tiles would leave most of a GPU idle, as
// those of single pictures do.
std::uint32_t parts_of_depth(const cuda::DeviceQueue& queue, cuda::ProductPath path,
                             const cuda::ProductShape& shape) {
  const std::uint32_t tiles = cuda::tiles_of(path, shape);
  const std::uint32_t most = cuda::depths_of(shape) / kLeastDepths;
  if (2 * tiles > queue.multiprocessors()) return 1;
  return std::max(std::min(most, queue.multiprocessors() / tiles), 1U);
}

// Whether values are 0 to 15 and weights -8 to 7.
bool has_halves(const ProductParts& parts) {
  return parts.in.base == 0 && parts.in_range.low >= 0 && parts.in_range.high <= 15 &&
         std::ranges::all_of(parts.weights, [](std::int8_t w) { return w >= -8 && w <= 7; });
}

DeviceWork gathered_work(const ProductParts& parts, const DeviceParts& with) {
  DeviceConstants& constants = with.constants;
  const cuda::ProductPath path = with.path;
  const bool is_small = with.multiplies_halves && has_halves(parts);
  cuda::ProductShape shape{};
  shape.a = {.data = nullptr,
             .table = constants.keep(window_table(parts)),
             .q_stride = parts.in.image_bytes(),
             .p_stride = 0,
             .table_q = 0,
             .table_p = static_cast<std::int32_t>(parts.taps()),
             .table_s = 1,
             .rows = 0,
             .divisor = Divisor::of(static_cast<std::uint32_t>(parts.out.picture.pixels())),
             .place_bytes = static_cast<std::uint32_t>(parts.in.filled_channels())};
  shape.b = constants.keep(parts.packed_weights(1));
  shape.columns = static_cast<std::uint32_t>(parts.window.channels);
  shape.segments = static_cast<std::uint32_t>(parts.taps());
  shape.segment_chunks = Divisor::of(static_cast<std::uint32_t>(parts.in.chunks()));
  const DeviceFinish finish = parts.finish(parts.bias_of_bytes(), constants);
  return [shape, finish, path, is_small, in = parts.in, out = parts.out](const DeviceRun& run) {
    cuda::FinishedProduct job{.shape = shape,
                              .finish = finish.in(run.arena),
                              .shared = {},
                              .copies = {},
                              .added = {},
                              .tile_rows = 0,
                              .tile_columns = 0,
                              .planes = 1,
                              .has_halves = is_small ? 1U : 0U};
    job.shape.a.data = in.data(run.arena);
    job.shape.a.rows = run.images * shape.a.divisor.divisor;
    const std::uint32_t depth_parts = parts_of_depth(run.queue, path, job.shape);
    if (depth_parts == 1) return queue(run.queue, path, job);
    queue(run.queue, path,
          cuda::SummedProduct{.shape = job.shape,
                              .sums = run.sums,
                              .row_step = out.filled_channels(),
                              .column_step = 1,
                              .copies = {}},
          false, depth_parts);
    queue(run.queue,
          cuda::SharedSumsJob{.sums = run.sums,
                              .order = cuda::ChunkOrder::of(out.in(run.arena), run.images),
                              .finish = job.finish});
  };
}

// (four taps, filled channels, tap of the four)
std::vector<std::int8_t> depthwise_weights(const ProductParts& parts) {
  const std::int64_t filled = parts.in.filled_channels();
  std::vector<std::int8_t> packed(static_cast<std::size_t>((parts.taps() + 3) / 4 * 4 * filled));
  for (std::int64_t tap = 0; tap < parts.taps(); ++tap) {
    for (std::int64_t o = 0; o < parts.window.channels; ++o)
      packed[static_cast<std::size_t>((tap / 4 * filled + o) * 4 + tap % 4)] =
          parts.weight(o, tap, 0);
  }
  return packed;
}

// (out, tap, depth), depths filled up to a multiple of 4
std::vector<std::int8_t> grouped_weights(const ProductParts& parts) {
  const std::int64_t filled = (parts.depth() + 3) / 4 * 4;
  std::vector<std::int8_t> packed;
  for (std::int64_t o = 0; o < parts.window.channels; ++o) {
    for (std::int64_t tap = 0; tap < parts.taps(); ++tap) {
      for (std::int64_t k = 0; k < filled; ++k)
        packed.push_back(k < parts.depth() ? parts.weight(o, tap, k) : std::int8_t{0});
    }
  }
  return packed;
}

Divisor outputs_of_group(const Conv2d& window) {
  return Divisor::of(static_cast<std::uint32_t>(window.channels / window.groups));
}

DeviceWork grouped_work(const ProductParts& parts, DeviceConstants& constants) {
  const bool is_depthwise = parts.law.is_depthwise;
  const std::int8_t* weights =
      constants.keep(is_depthwise ? depthwise_weights(parts) : grouped_weights(parts));
  const DeviceFinish finish = parts.finish(parts.bias_of_bytes(), constants);
  return [=, in = parts.in, out = parts.out, window = parts.window,
          depth = parts.depth()](const DeviceRun& run) {
    const cuda::GroupedJob job{.in = in.in(run.arena),
                               .weights = weights,
                               .window = device_window(window),
                               .order = cuda::ChunkOrder::of(out.in(run.arena), run.images),
                               .depth = static_cast<std::uint32_t>(depth),
                               .outputs = outputs_of_group(window),
                               .finish = finish.in(run.arena)};
    is_depthwise ? queue_depthwise(run.queue, job) : queue_grouped(run.queue, job);
  };
}

DeviceWork wide_work(const ProductParts& parts, DeviceConstants& constants) {
  const std::int8_t* weights = constants.keep(parts.weights);
  std::vector<std::int64_t> bias(static_cast<std::size_t>(parts.window.channels));
  const std::vector<std::int64_t>& own = parts.law.finish.bias;
  for (std::size_t o = 0; o < bias.size(); ++o)
    bias[o] = own.empty() ? 0 : own[own.size() == 1 ? 0 : o];
  const std::int64_t* kept = constants.keep(bias);
  const DeviceFinish finish = parts.finish({0}, constants);
  return [=, in = parts.in, out = parts.out, window = parts.window,
          depth = parts.depth()](const DeviceRun& run) {
    queue(run.queue,
          cuda::WideProductJob{.in = in.in(run.arena),
                               .weights = weights,
                               .bias = kept,
                               .window = device_window(window),
                               .order = cuda::ChunkOrder::of(out.in(run.arena), run.images),
                               .channels = static_cast<std::uint32_t>(window.channels),
                               .depth = static_cast<std::uint32_t>(depth),
                               .outputs = outputs_of_group(window),
                               .unused = 0,
                               .finish = finish.in(run.arena)});
  };
}

}  // namespace

std::size_t shared_sum_bytes(int device) {
  const auto tiles = static_cast<std::size_t>(cuda::multiprocessors(device) / 2);
  return std::max<std::size_t>(tiles, 1) * kLargestTile * sizeof(std::int32_t);
}

std::size_t shared_tiles(int device) {
  return static_cast<std::size_t>(cuda::multiprocessors(device));
}

DeviceWork product_work(const DeviceParts& parts, const ProgramStep& step, const ProductLaw& law,
                        std::string& shape) {
  const ValueInfo& input = parts.program.values[step.inputs[0]].info;
  ProductParts product{
      {parts.places, step, law}, {input.low, input.high}, parts.program.weights_of(law)};
  const auto* conv = std::get_if<Conv2d>(&law.op);
  if (conv != nullptr && step.inputs[0] == 0)
    product.weights = parts.places.entry().weights(*conv, product.weights);
  const bool is_wide = law.finish.has_wide_sums || product.in.has_words;
  const bool is_copied = parts.path == cuda::ProductPath::wgmma && can_be_copied(product);
  DeviceWork work = is_wide                     ? wide_work(product, parts.constants)
                    : product.window.groups > 1 ? grouped_work(product, parts.constants)
                    : is_copied                 ? copied_work(product, parts, shape)
                                                : gathered_work(product, parts);
  if (!law.largest) return work;
  return [work = std::move(work),
          pool = largest_work(law.largest->pool, product.out, parts.places[step.output])](
             const DeviceRun& run) {
    work(run);
    pool(run);
  };
}

}  // namespace nibble::inline engine
