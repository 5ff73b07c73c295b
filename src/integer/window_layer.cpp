// SPDX-License-Identifier: Apache-2.0
// Slice and pad: every number of the smaller side has a place in the larger one.
#include <array>
#include <cstring>

#include "integer/layer.h"
#include "nibble/core/parallel.h"

namespace nibble {
namespace {

struct Place {
  std::array<std::int64_t, 3> begin{0, 0, 0};
  std::array<std::int64_t, 3> step{1, 1, 1};
};

// A vector has one axis, that of the channels.
void take(const std::vector<std::int64_t>& from, std::array<std::int64_t, 3>& to) {
  for (std::size_t i = 0; i < from.size(); ++i) to[3 - from.size() + i] = from[i];
}

class WindowLayer final : public IntegerLayer {
 public:
  WindowLayer(const Place& place, bool is_slice) : place_(place), is_slice_(is_slice) {}

  void forward(const IntegerForward& arguments) override {
    move(*arguments.inputs[0], arguments.output, is_slice_);
  }
  void backward(const IntegerBackward& arguments) override {
    if (arguments.input_errors[0] != nullptr)
      move(arguments.output_error, *arguments.input_errors[0], !is_slice_);
  }

 private:
  // From large to small, or back with zeros around.
  void move(const BlockTensor& from, BlockTensor& to, bool to_small) const {
    to.exponent = from.exponent;
    const Picture& small = to_small ? to.picture : from.picture;
    const Picture& large = to_small ? from.picture : to.picture;
    if (!to_small) std::memset(to.data, 0, static_cast<std::size_t>(to.bytes()));
    parallel_for(
        static_cast<std::size_t>(from.groups()), 1, [&](std::size_t begin, std::size_t end) {
          for (std::size_t group = begin; group < end; ++group) {
            for (std::int64_t pixel = 0; pixel < small.pixels(); ++pixel) {
              const std::int64_t y = place_.begin[0] + pixel / small.width * place_.step[0];
              const std::int64_t x = place_.begin[1] + pixel % small.width * place_.step[1];
              const auto at = static_cast<std::int64_t>(group);
              const std::int64_t other = y * large.width + x;
              const std::int8_t* source = from.at(at, to_small ? other : pixel);
              std::int8_t* target = to.at(at, to_small ? pixel : other);
              for (std::int64_t r = 0; r < from.images_in(at); ++r) {
                for (std::int64_t c = 0; c < small.channels; ++c) {
                  const std::int64_t s = r * small.stride() + c;
                  const std::int64_t l = r * large.stride() + place_.begin[2] + c * place_.step[2];
                  target[to_small ? s : l] = source[to_small ? l : s];
                }
              }
            }
          }
        });
  }

  Place place_;
  bool is_slice_;
};

}  // namespace

std::unique_ptr<IntegerLayer> make_integer_window(const IntegerLayerSettings& settings) {
  Place place;
  if (const auto* slice = std::get_if<Slice>(&settings.node.op)) {
    take(slice->begin, place.begin);
    take(slice->step, place.step);
    return std::make_unique<WindowLayer>(place, true);
  }
  take(std::get<Pad>(settings.node.op).before, place.begin);
  return std::make_unique<WindowLayer>(place, false);
}

}  // namespace nibble
