// SPDX-License-Identifier: Apache-2.0
// What is done to every number: rectifiers, dropout, sums, boxes that are moved.
#include <algorithm>
#include <cstring>

#include "backend/cpu/cpu_backend.h"
#include "backend/cpu/round_pixels.h"
#include "kernels/integer_loops/integer_loops.h"
#include "laws/block_exponent.h"
#include "laws/integer_laws.h"
#include "nibble/core/parallel.h"

namespace nibble::inline backend {
namespace {

constexpr std::size_t kByteGrain = 65536;

// 127·Σ factors must stay below 2^31.
constexpr std::int64_t kNarrowFactors = std::int64_t{1} << 24;

template <class Body>
void in_chunks(const BlockTensor& tensor, const Body& body) {
  parallel_for(static_cast<std::size_t>(tensor.bytes()), kByteGrain, body);
}

class Pointwise {
 public:
  Pointwise(CpuBackend& backend, std::span<const Values> from, const Values& to)
      : backend_(backend), to_(to), result_(backend.block(to)) {
    for (const Values& each : from) operands_.push_back(backend.block(each));
  }

  void operator()(const Rectify& rectify) {
    keep_exponent();
    const std::int8_t cut = rectify.has_cut ? relu6_cut(first().exponent) : std::int8_t{127};
    in_chunks(result_, [&](std::size_t begin, std::size_t end) {
      copy_chunk(begin, end);
      integer_loops().relu(result_.data + begin, end - begin);
      if (cut == 127) return;  // nothing reaches 6
      for (std::size_t i = begin; i < end; ++i) result_.data[i] = std::min(result_.data[i], cut);
    });
  }

  void operator()(const RectifyError& rectify) {
    keep_exponent();
    const BlockTensor& passed = operands_[1];
    const std::int8_t cut = rectify.has_cut ? relu6_cut(passed.exponent) : std::int8_t{127};
    in_chunks(result_, [&](std::size_t begin, std::size_t end) {
      copy_chunk(begin, end);
      integer_loops().zero_where_not_positive(result_.data + begin, passed.data + begin,
                                              end - begin);
      if (cut == 127) return;
      for (std::size_t i = begin; i < end; ++i) {
        if (passed.data[i] == cut) result_.data[i] = 0;
      }
    });
  }

  void operator()(const Drop& drop) {
    backend_.set_exponent(to_, first().exponent + drop.halvings);
    const std::vector<std::uint8_t> mask = mask_of(drop);
    parallel_for(static_cast<std::size_t>(result_.groups()), 1,
                 [&](std::size_t begin, std::size_t end) {
                   for (std::size_t group = begin; group < end; ++group) {
                     const auto at = static_cast<std::int64_t>(group);
                     if (first().data != result_.data)
                       std::memcpy(result_.at(at, 0), first().at(at, 0), mask.size());
                     integer_loops().multiply_mask(result_.at(at, 0), mask.data(), mask.size());
                   }
                 });
  }

  void operator()(const AddValues& add) {
    const Alignment common = aligned();
    std::int64_t factors = 0;
    for (const std::int64_t each : common.factor) factors += each;
    const std::int64_t count = result_.picture.pixel_bytes();
    if (factors <= kNarrowFactors) {
      return round<std::int32_t>(add.point, common.exponent,
                                 [&](std::int64_t group, std::int64_t pixel, std::int32_t* sums) {
                                   for (std::size_t k = 0; k < operands_.size(); ++k) {
                                     integer_loops().add_scaled(
                                         sums, operands_[k].at(group, pixel),
                                         static_cast<std::int32_t>(common.factor[k]),
                                         static_cast<std::size_t>(count));
                                   }
                                 });
    }
    round<std::int64_t>(add.point, common.exponent,
                        [&](std::int64_t group, std::int64_t pixel, std::int64_t* sums) {
                          for (std::size_t k = 0; k < operands_.size(); ++k) {
                            const std::int8_t* from = operands_[k].at(group, pixel);
                            for (std::int64_t i = 0; i < count; ++i)
                              sums[i] += from[i] * common.factor[k];
                          }
                        });
  }

  void operator()(const AddBias& add) {
    const auto& weights = cpu_weights(*add.bias);
    const int exponents[] = {first().exponent, weights.exponent()};
    const Alignment common = align(exponents);
    const auto bias = weights.mantissas();
    const std::int64_t stride = result_.picture.stride();
    round<std::int64_t>(add.point, common.exponent,
                        [&](std::int64_t group, std::int64_t pixel, std::int64_t* sums) {
                          const std::int8_t* from = first().at(group, pixel);
                          for (std::int64_t r = 0; r < kGroup; ++r) {
                            for (std::int64_t c = 0; c < result_.picture.channels; ++c) {
                              sums[r * stride + c] =
                                  from[r * stride + c] * common.factor[0] +
                                  bias[static_cast<std::size_t>(c)] * common.factor[1];
                            }
                          }
                        });
  }

  void operator()(const ConcatValues& concat) {
    const Alignment common = aligned();
    const std::int64_t stride = result_.picture.stride();
    round<std::int64_t>(concat.point, common.exponent,
                        [&](std::int64_t group, std::int64_t pixel, std::int64_t* sums) {
                          for (std::size_t k = 0; k < operands_.size(); ++k) {
                            const BlockTensor& input = operands_[k];
                            const std::int8_t* from = input.at(group, pixel);
                            for (std::int64_t r = 0; r < kGroup; ++r) {
                              for (std::int64_t c = 0; c < input.picture.channels; ++c) {
                                sums[r * stride + c] =
                                    from[r * input.picture.stride() + c] * common.factor[k];
                              }
                            }
                            sums += input.picture.channels;
                          }
                        });
  }

  // From large to small, or back with zeros around.
  void operator()(const MoveBox& box) {
    keep_exponent();
    const BlockTensor& from = first();
    const BlockPicture& small = box.to_small ? result_.picture : from.picture;
    const BlockPicture& large = box.to_small ? from.picture : result_.picture;
    if (!box.to_small) std::memset(result_.data, 0, static_cast<std::size_t>(result_.bytes()));
    const auto move_pixel = [&](std::int64_t group, std::int64_t pixel) {
      const std::int64_t y = box.begin[0] + pixel / small.width * box.step[0];
      const std::int64_t x = box.begin[1] + pixel % small.width * box.step[1];
      const std::int64_t other = y * large.width + x;
      const std::int8_t* source = from.at(group, box.to_small ? other : pixel);
      std::int8_t* target = result_.at(group, box.to_small ? pixel : other);
      for (std::int64_t r = 0; r < from.images_in(group); ++r) {
        const std::int64_t s = r * small.stride();
        const std::int64_t l = r * large.stride() + box.begin[2];
        for (std::int64_t c = 0; c < small.channels; ++c) {
          if (box.to_small) {
            target[s + c] = source[l + c * box.step[2]];
          } else {
            target[l + c * box.step[2]] = source[s + c];
          }
        }
      }
    };
    parallel_for(static_cast<std::size_t>(from.groups()), 1,
                 [&](std::size_t begin, std::size_t end) {
                   for (std::size_t group = begin; group < end; ++group) {
                     for (std::int64_t pixel = 0; pixel < small.pixels(); ++pixel)
                       move_pixel(static_cast<std::int64_t>(group), pixel);
                   }
                 });
  }

  void operator()(const CopyValues&) {
    keep_exponent();
    if (first().data != result_.data) copy_bytes(first(), result_);
  }

 private:
  const BlockTensor& first() const { return operands_[0]; }
  void keep_exponent() { backend_.set_exponent(to_, first().exponent); }
  void copy_chunk(std::size_t begin, std::size_t end) const {
    if (first().data != result_.data)
      std::copy(first().data + begin, first().data + end, result_.data + begin);
  }

  Alignment aligned() const {
    std::vector<int> exponents;
    for (const BlockTensor& each : operands_) exponents.push_back(each.exponent);
    return align(exponents);
  }

  template <class Sum, class Fill>
  void round(ShiftPoint point, int exponent, const Fill& fill) {
    backend_.round(point, exponent, to_, [&](const RoundingJob& job, const BlockTensor& result) {
      return round_pixels<Sum>(job, result, backend_.step().first_image, fill);
    });
  }

  // Kept where the first k bits of the feature's draw are zeros; [pixel][image][channel] of a
  // group.
  std::vector<std::uint8_t> mask_of(const Drop& drop) const {
    const BlockPicture& picture = result_.picture;
    RandomKey random = backend_.step().random;
    random.stream = drop.stream;
    std::vector<std::uint8_t> mask(static_cast<std::size_t>(picture.group_bytes()));
    for (std::int64_t pixel = 0; pixel < picture.pixels(); ++pixel) {
      std::uint8_t* row = mask.data() + pixel * picture.pixel_bytes();
      for (std::int64_t c = 0; c < picture.channels; ++c) {
        const auto feature = static_cast<std::uint64_t>(pixel * picture.channels + c);
        row[c] = draw32(random, feature) >> (32 - drop.halvings) == 0 ? 1 : 0;
      }
      for (std::int64_t image = 1; image < kGroup; ++image)
        std::memcpy(row + image * picture.stride(), row,
                    static_cast<std::size_t>(picture.stride()));
    }
    return mask;
  }

  CpuBackend& backend_;
  const Values& to_;
  BlockTensor result_;
  std::vector<BlockTensor> operands_;
};

}  // namespace

void CpuBackend::pointwise(const PointCase& point, std::span<const Values> from, const Values& to) {
  std::visit(Pointwise(*this, from, to), point);
}

}  // namespace nibble::inline backend
