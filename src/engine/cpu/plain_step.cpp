// SPDX-License-Identifier: Apache-2.0
// The definitions of all operations on integers.
#include "engine/cpu/plain_step.h"

#include <algorithm>
#include <cstring>
#include <optional>

#include "graph/mean_factors.h"
#include "graph/node_error.h"
#include "laws/rescale.h"

namespace nibble::inline engine {
namespace {

// A stored picture of one example.
struct Picture64 {
  const Place& place;
  std::byte* base;  // of the example

  std::int64_t read(std::int64_t y, std::int64_t x, std::int64_t c) const {
    return read_value(place, base + place.at(0, y, x), c);
  }
  bool has(std::int64_t y, std::int64_t x) const {
    return y >= 0 && y < place.height && x >= 0 && x < place.width;
  }
  void write(std::int64_t y, std::int64_t x, std::int64_t c, std::int64_t value) const {
    write_value(place, base + place.at(0, y, x), c, value);
  }
};

template <class Operation>
concept ByDefinition =
    OneOf<Operation, Conv2d, Linear, MaxPool, SumPool, Flatten, SoftmaxTable, ArgMax>;

[[noreturn]] void refuse_plain(const Node& node) {
  fail_node(node, "step", name_of(node.op), "an operation that runs by its definition");
}

class PlainStep final : public CpuStep {
 public:
  explicit PlainStep(PlainSpec spec) : spec_(std::move(spec)) {
    if (const auto* pool = std::get_if<SumPool>(&spec_.node.op)) {
      const Place& in = spec_.inputs[0];
      factors_.emplace(*pool, Extent2{in.height, in.width},
                       Extent2{spec_.out.height, spec_.out.width});
    }
  }

  bool is_wide() const override { return true; }
  std::size_t weight_bytes() const override {
    const std::size_t biases = spec_.finish ? spec_.finish->bias.size() : 0;
    return (spec_.numbers.size() + biases) * sizeof(std::int64_t);
  }

  void run(const RunFrame& frame) const override {
    frame.team.run(frame.batch, [&](int, std::int64_t image) {
      std::visit([&](const auto& op) { run_image(op, frame, image); }, spec_.node.op);
    });
  }

 private:
  Picture64 input(const RunFrame& frame, std::int64_t image, std::size_t k = 0) const {
    const Place& place = spec_.inputs[k];
    return {place, frame.arena + place.offset + image * place.image_bytes()};
  }
  Picture64 output(const RunFrame& frame, std::int64_t image) const {
    return {spec_.out, frame.arena + spec_.out.offset + image * spec_.out.image_bytes()};
  }

  template <class Body>
  static void each(const Place& place, const Body& body) {
    for (std::int64_t y = 0; y < place.height; ++y) {
      for (std::int64_t x = 0; x < place.width; ++x) {
        for (std::int64_t c = 0; c < place.channels; ++c) body(y, x, c);
      }
    }
  }

  // y[y][x][c] = body(y, x, c)
  template <class Body>
  void fill(const RunFrame& frame, std::int64_t image, const Body& body) const {
    const Picture64 out = output(frame, image);
    each(spec_.out, [&](std::int64_t y, std::int64_t x, std::int64_t c) {
      out.write(y, x, c, body(y, x, c));
    });
  }

  static std::int64_t one_of(const std::vector<std::int64_t>& list, std::int64_t c) {
    return list[list.size() == 1 ? 0 : static_cast<std::size_t>(c)];
  }

  std::int64_t finished(std::int64_t sum, std::int64_t o) const {
    const FinishLaw& law = *spec_.finish;
    if (!law.bias.empty()) sum += one_of(law.bias, o);
    return std::clamp(rounded_shift(sum * one_of(law.multiplier, o), law.shift), law.low, law.high);
  }

  void run_image(const Conv2d& op, const RunFrame& frame, std::int64_t image) const {
    const Picture64 in = input(frame, image);
    const std::int64_t depth = in.place.channels / op.groups;
    const std::int64_t per_group = op.channels / op.groups;
    fill(frame, image, [&](std::int64_t y, std::int64_t x, std::int64_t o) {
      const std::int64_t* weight =
          &spec_.numbers[static_cast<std::size_t>(o * op.kernel.y * op.kernel.x * depth)];
      std::int64_t sum = 0;
      for (std::int64_t ky = 0; ky < op.kernel.y; ++ky) {
        for (std::int64_t kx = 0; kx < op.kernel.x; ++kx, weight += depth) {
          const std::int64_t iy = y * op.stride.y - op.padding.y + ky * op.dilation.y;
          const std::int64_t ix = x * op.stride.x - op.padding.x + kx * op.dilation.x;
          if (!in.has(iy, ix)) continue;
          for (std::int64_t k = 0; k < depth; ++k) {
            sum += in.read(iy, ix, o / per_group * depth + k) * weight[k];
          }
        }
      }
      return finished(sum, o);
    });
  }

  void run_image(const Linear&, const RunFrame& frame, std::int64_t image) const {
    const Picture64 in = input(frame, image);
    const std::int64_t features = in.place.pixels() * in.place.channels;
    fill(frame, image, [&](std::int64_t, std::int64_t, std::int64_t o) {
      const std::int64_t* weight = &spec_.numbers[static_cast<std::size_t>(o * features)];
      std::int64_t sum = 0;
      each(in.place, [&](std::int64_t y, std::int64_t x, std::int64_t c) {
        sum += in.read(y, x, c) * *weight++;
      });
      return finished(sum, o);
    });
  }

  template <class Pool, class Join, class Finish>
  void run_pool(const Pool& op, const RunFrame& frame, std::int64_t image, std::int64_t start,
                const Join& join, const Finish& finish) const {
    const Picture64 in = input(frame, image);
    fill(frame, image, [&](std::int64_t y, std::int64_t x, std::int64_t c) {
      std::int64_t result = start;
      const std::int64_t top = y * op.stride.y - op.padding.y;
      const std::int64_t left = x * op.stride.x - op.padding.x;
      const std::int64_t bottom = std::min(top + op.kernel.y, in.place.height);
      const std::int64_t right = std::min(left + op.kernel.x, in.place.width);
      for (std::int64_t iy = std::max<std::int64_t>(top, 0); iy < bottom; ++iy) {
        for (std::int64_t ix = std::max<std::int64_t>(left, 0); ix < right; ++ix) {
          result = join(result, in.read(iy, ix, c));
        }
      }
      return finish(result, y, x, c);
    });
  }
  void run_image(const MaxPool& op, const RunFrame& frame, std::int64_t image) const {
    run_pool(
        op, frame, image, INT64_MIN, [](std::int64_t a, std::int64_t b) { return std::max(a, b); },
        [](std::int64_t most, auto, auto, auto) { return most; });
  }
  void run_image(const SumPool& op, const RunFrame& frame, std::int64_t image) const {
    run_pool(
        op, frame, image, 0, [](std::int64_t a, std::int64_t b) { return a + b; },
        [&](std::int64_t sum, std::int64_t y, std::int64_t x, std::int64_t c) {
          return finished(sum * factors_->of(y, x), c);
        });
  }

  void run_image(const Flatten&, const RunFrame& frame, std::int64_t image) const {
    const Picture64 in = input(frame, image);
    const Picture64 out = output(frame, image);
    if (in.place.storage == out.place.storage && in.place.zero == out.place.zero) {
      return copy_pixels(in, out.base);
    }
    std::int64_t at = 0;
    each(in.place, [&](auto y, auto x, auto c) { out.write(0, 0, at++, in.read(y, x, c)); });
  }

  // One after the other, without what lies between them.
  static void copy_pixels(const Picture64& in, std::byte* to) {
    const std::int64_t bytes = in.place.channel_bytes(in.place.channels);
    const std::int64_t run = bytes == in.place.stride ? in.place.width : 1;
    for (std::int64_t y = 0; y < in.place.height; ++y) {
      for (std::int64_t x = 0; x < in.place.width; x += run, to += run * bytes) {
        std::memcpy(to, in.base + in.place.at(0, y, x), static_cast<std::size_t>(run * bytes));
      }
    }
  }

  void run_image(const SoftmaxTable& op, const RunFrame& frame, std::int64_t image) const {
    const Picture64 in = input(frame, image);
    std::int64_t most = INT64_MIN;
    each(in.place, [&](auto y, auto x, auto c) { most = std::max(most, in.read(y, x, c)); });
    const auto entry = [&](std::int64_t y, std::int64_t x, std::int64_t c) {
      const std::int64_t distance =
          std::min<std::int64_t>(most - in.read(y, x, c), kTableEntries - 1);
      return spec_.numbers[static_cast<std::size_t>(distance)];
    };
    std::int64_t sum = 0;
    each(in.place, [&](auto y, auto x, auto c) { sum += entry(y, x, c); });
    fill(frame, image,
         [&](auto y, auto x, auto c) { return (2 * op.high * entry(y, x, c) + sum) / (2 * sum); });
  }

  void run_image(const ArgMax&, const RunFrame& frame, std::int64_t image) const {
    const Picture64 in = input(frame, image);
    std::int64_t best = 0;
    each(in.place, [&](auto y, auto x, auto c) {
      if (in.read(y, x, c) > in.read(0, 0, best)) best = c;
    });
    output(frame, image).write(0, 0, 0, best);
  }

  template <class Other>
  requires(!ByDefinition<Other>) void run_image(const Other&, const RunFrame&, std::int64_t) const {
    refuse_plain(spec_.node);
  }

  PlainSpec spec_;
  std::optional<MeanFactors> factors_;  // of a sum pool
};

}  // namespace

std::unique_ptr<CpuStep> make_plain_step(PlainSpec spec) {
  const bool runs_by_definition = std::visit(
      []<class Operation>(const Operation&) { return ByDefinition<Operation>; }, spec.node.op);
  if (!runs_by_definition) refuse_plain(spec.node);
  return std::make_unique<PlainStep>(std::move(spec));
}

}  // namespace nibble::inline engine
