// SPDX-License-Identifier: Apache-2.0
// The engine's kernel on AMX: a matrix of pixels by a panel of weights, two tiles of 16 pixels by
// two of 16 outputs at a time. What has no matrix runs on VNNI.
#include <immintrin.h>

#include <algorithm>
#include <utility>

#include "kernels/engine/x86_avx512_rescale.h"
#include "kernels/engine/x86_avx512vnni.h"
#include "kernels/integer_paths.h"
#include "kernels/products/tile_shape.h"

namespace nibble::inline kernels::amx {
namespace {

constexpr int kHalf = 16;  // pixels of a tile register
constexpr int kStrip = 2 * kHalf;

// Registers 0 to 3 are sums, 4 and 5 values of the halves, 6 and 7 weights. Setting shapes is slow,
// and others in this thread may set theirs: the processor says what they are.
void shape_tiles(std::int64_t pixels) {
  TileShapes wanted;
  for (int tile = 0; tile < 6; ++tile) wanted.set(tile, pixels, 64);
  for (int tile = 6; tile < 8; ++tile) wanted.set(tile, kFilterRun / 4, 64);
  TileShapes current;
  current.store();
  const __mmask8 differs =
      _mm512_cmpneq_epi64_mask(_mm512_load_si512(&current), _mm512_load_si512(&wanted));
  if (differs != 0) wanted.load();
}

// GCC does not know that tiles read and write memory.
void end_of_memory_use() {
  __asm__ volatile("" : : : "memory");
}

// Fetches what is needed after this panel, some lines with every step.
class Ahead {
 public:
  Ahead(std::span<const std::uint8_t> bytes, std::int64_t steps)
      : line_(bytes.data()),
        end_(bytes.data() + bytes.size()),
        step_((static_cast<std::int64_t>(bytes.size()) / kLine + steps - 1) / steps * kLine) {}

  void fetch() {
    const std::uint8_t* end = line_ + std::min(step_, end_ - line_);
    for (; line_ < end; line_ += kLine) _mm_prefetch(line_, _MM_HINT_T1);
  }

 private:
  static constexpr std::int64_t kLine = 64;
  const std::uint8_t* line_;
  const std::uint8_t* end_;
  std::int64_t step_;
};

// Up to 32 pixels that follow one another. Tiles are whole: the second half ends with the last
// pixel, and begins among those of the first.
struct Strip {
  std::int64_t first = 0;
  std::int64_t second = 0;  // of the second half; of a strip of one half: not used
  std::int64_t end = 0;
};

// The sums of a strip wait in memory, and are rescaled some pixels at a time between the products
// of the next: a processor does not look far enough ahead to do both at once by itself.
class Waiting {
 public:
  explicit Waiting(const RescaleTile& rescale) : window_(rescale.window), rescale_(rescale) {}

  // Of pixels `begin` to `end` of the matrix, to be rescaled within so many steps.
  void put(const std::int32_t* sums, std::int64_t begin, std::int64_t end, std::int64_t steps) {
    sums_ = sums;
    next_ = begin / window_;
    end_ = end / window_;
    share_ = (end_ - next_ + steps - 1) / steps;
  }

  void step() {
    const std::int64_t end = std::min(next_ + share_, end_);
    if (next_ == end) return;
    rescale_(sums_, next_, end);
    sums_ += (end - next_) * window_ * kFilterColumns;
    next_ = end;
  }

 private:
  int window_;
  RescaleInParts rescale_;
  const std::int32_t* sums_ = nullptr;
  std::int64_t next_ = 0;
  std::int64_t end_ = 0;
  std::int64_t share_ = 0;
};

class Panel {
 public:
  Panel(const FilterMatrix& matrix, const FilterTile& tile)
      : matrix_(matrix),
        tile_(tile),
        steps_(row_bytes(tile.taps, tile.depth) / kFilterRun),
        ahead_(tile.ahead, steps_of(kStrip) * ((matrix.pixels + kStrip - 1) / kStrip)) {}

  std::int64_t steps_of(std::int64_t pixels) const {
    return steps_ * (pixels > kHalf && tile_.blocks > 2 ? 2 : 1);
  }

  // Sums of pixel first + p go to sums[p].
  void multiply(const Strip& strip, std::int32_t* sums, Waiting& waiting) {
    if (strip.end - strip.first > kHalf) {
      if (tile_.blocks == 1) return pass<2, 1>(strip, sums, 0, waiting);
      pass<2, 2>(strip, sums, 0, waiting);
      if (tile_.blocks == 3) pass<2, 1>(strip, sums, 2, waiting);
      if (tile_.blocks == 4) pass<2, 2>(strip, sums, 2, waiting);
      return;
    }
    if (tile_.blocks == 1) pass<1, 1>(strip, sums, 0, waiting);
    if (tile_.blocks == 2) pass<1, 2>(strip, sums, 0, waiting);
    if (tile_.blocks == 3) pass<1, 3>(strip, sums, 0, waiting);
    if (tile_.blocks == 4) pass<1, 4>(strip, sums, 0, waiting);
  }

 private:
  // The sums of up to four tiles over all steps, from `block` on.
  template <int Halves, int Blocks>
  void pass(const Strip& strip, std::int32_t* sums, int block, Waiting& waiting) {
    constexpr std::int64_t kStride = kFilterColumns * 4;
    const std::int32_t* bias = tile_.bias + block * kFilterOutputs;
    _tile_loadd(0, bias, 0);
    if constexpr (Blocks > 1) _tile_loadd(1, bias + 16, 0);
    if constexpr (Halves == 2) _tile_loadd(2, bias, 0);
    if constexpr (Halves == 1 && Blocks > 2) _tile_loadd(2, bias + 32, 0);
    if constexpr (Halves == 2 && Blocks > 1) _tile_loadd(3, bias + 16, 0);
    if constexpr (Halves == 1 && Blocks > 3) _tile_loadd(3, bias + 48, 0);
    const std::uint8_t* first = matrix_.values + strip.first * matrix_.stride;
    const std::uint8_t* second = matrix_.values + strip.second * matrix_.stride;
    const std::int8_t* weights = tile_.weights + block * 64;
    const std::int64_t across = tile_.blocks * 64;
    for (std::int64_t i = 0; i < steps_; ++i) {
      add<Halves, Blocks>(first, second, weights, across);
      ahead_.fetch();
      waiting.step();
      first += kFilterRun;
      second += kFilterRun;
      weights += kFilterRun / 4 * across;
    }
    sums += block * kFilterOutputs;
    _tile_stored(0, sums, kStride);
    if constexpr (Blocks > 1) _tile_stored(1, sums + 16, kStride);
    if constexpr (Halves == 1 && Blocks > 2) _tile_stored(2, sums + 32, kStride);
    if constexpr (Halves == 1 && Blocks > 3) _tile_stored(3, sums + 48, kStride);
    sums += (strip.second - strip.first) * kFilterColumns;
    if constexpr (Halves == 2) _tile_stored(2, sums, kStride);
    if constexpr (Halves == 2 && Blocks > 1) _tile_stored(3, sums + 16, kStride);
    end_of_memory_use();
  }

  template <int Halves, int Blocks>
  void add(const std::uint8_t* first, const std::uint8_t* second, const std::int8_t* weights,
           std::int64_t across) const {
    _tile_loadd(4, first, matrix_.stride);
    _tile_loadd(6, weights, across);
    _tile_dpbusd(0, 4, 6);
    if constexpr (Blocks > 1) {
      _tile_loadd(7, weights + 64, across);
      _tile_dpbusd(1, 4, 7);
    }
    if constexpr (Halves == 2) {
      _tile_loadd(5, second, matrix_.stride);
      _tile_dpbusd(2, 5, 6);
      if constexpr (Blocks > 1) _tile_dpbusd(3, 5, 7);
    } else {
      if constexpr (Blocks > 2) {
        _tile_loadd(6, weights + 128, across);
        _tile_dpbusd(2, 4, 6);
      }
      if constexpr (Blocks > 3) {
        _tile_loadd(7, weights + 192, across);
        _tile_dpbusd(3, 4, 7);
      }
    }
  }

  const FilterMatrix& matrix_;
  const FilterTile& tile_;
  std::int64_t steps_;
  Ahead ahead_;
};

void multiply_matrix(const FilterMatrix& matrix, const FilterTile& tile,
                     const RescaleTile& rescale) {
  alignas(64) std::int32_t sums[2][kStrip * kFilterColumns];
  const std::int64_t whole = std::min<std::int64_t>(matrix.pixels, kHalf);
  const std::int64_t most = kStrip / rescale.window * rescale.window;
  shape_tiles(whole);
  end_of_memory_use();
  Panel panel(matrix, tile);
  Waiting waiting(rescale);
  std::int32_t* now = sums[0];
  std::int32_t* other = sums[1];
  for (std::int64_t begin = 0; begin < matrix.pixels; begin += most) {
    const std::int64_t end = std::min(begin + most, matrix.pixels);
    const Strip strip{.first = std::min(begin, end - whole), .second = end - whole, .end = end};
    panel.multiply(strip, now, waiting);
    const std::int64_t next = std::min(end + most, matrix.pixels);  // where the next strip ends
    const std::int64_t steps = next == end ? 1 : panel.steps_of(next - end);
    waiting.put(now + (begin - strip.first) * kFilterColumns, begin, end, steps);
    std::swap(now, other);
  }
  waiting.step();
}

void copy_rows(const std::uint8_t* from, std::int64_t from_stride, std::uint8_t* to,
               std::int64_t to_stride, std::int64_t count, std::int64_t bytes) {
  const std::int64_t whole = bytes / 64 * 64;
  const __mmask64 rest = first_bytes(bytes - whole);
  for (std::int64_t r = 0; r < count; ++r, from += from_stride, to += to_stride) {
    for (std::int64_t i = 0; i < whole; i += 64)
      _mm512_storeu_si512(to + i, _mm512_loadu_si512(from + i));
    if (rest != 0)
      _mm512_mask_storeu_epi8(to + whole, rest, _mm512_maskz_loadu_epi8(rest, from + whole));
  }
}

}  // namespace

constinit const EngineKernels kEngineKernels = {
    .multiply = avx512vnni::multiply,
    .rescale = avx512vnni::rescale,
    .multiply_rescale = avx512vnni::multiply_rescale,
    .multiply_matrix = multiply_matrix,
    .copy_rows = copy_rows,
    .depthwise = avx512vnni::depthwise,
    .depthwise_rescale = avx512vnni::depthwise_rescale,
    .expand_s4 = avx512vnni::expand_s4,
    .expand_u4 = avx512vnni::expand_u4,
    .largest_u8 = avx512vnni::largest_u8,
    .largest_u4 = avx512vnni::largest_u4,
    .add_u8 = avx512vnni::add_u8,
    .add_terms = avx512vnni::add_terms,
    .pixels = {0, avx512vnni::kPixels[1], avx512vnni::kPixels[2], avx512vnni::kPixels[3],
               avx512vnni::kPixels[4]}};

}  // namespace nibble::inline kernels::amx
