// SPDX-License-Identifier: Apache-2.0
// Unpacks a pixel's integers to 32 bits, works on them, and packs them again.
#include "engine/cpu/plain_step.h"

#include <algorithm>
#include <array>
#include <bit>

#include "graph/node_error.h"
#include "laws/rescale.h"
#include "laws/rescale_ties.h"

namespace nibble::inline engine {
namespace {

// The channels of a stored pixel.
void read_row(const Place& place, const std::byte* pixel, std::int32_t* to) {
  const auto* bytes = reinterpret_cast<const std::uint8_t*>(pixel);
  if (place.storage == FilterStorage::u8) {
    for (std::int64_t c = 0; c < place.channels; ++c) to[c] = bytes[c] - place.zero;
  } else if (place.storage == FilterStorage::s32) {
    std::copy_n(reinterpret_cast<const std::int32_t*>(pixel), place.channels, to);
  } else {
    for (std::int64_t c = 0; c < place.channels; c += kFilterColumns, bytes += 32, to += 64) {
      for (int i = 0; i < 32; ++i) to[i] = bytes[i] & 15;
      for (int i = 0; i < 32; ++i) to[i + 32] = bytes[i] >> 4;
    }
  }
}

void write_row(const Place& place, const std::int32_t* from, std::byte* pixel) {
  auto* bytes = reinterpret_cast<std::uint8_t*>(pixel);
  if (place.storage == FilterStorage::u8) {
    for (std::int64_t c = 0; c < place.channels; ++c)
      bytes[c] = static_cast<std::uint8_t>(from[c] + place.zero);
  } else if (place.storage == FilterStorage::s32) {
    std::copy_n(from, place.channels, reinterpret_cast<std::int32_t*>(pixel));
  } else {
    for (std::int64_t c = 0; c < place.channels; c += kFilterColumns, bytes += 32, from += 64) {
      for (int i = 0; i < 32; ++i)
        bytes[i] = static_cast<std::uint8_t>(from[i] | from[i + 32] << 4);
    }
  }
}

template <class Operation>
concept ByRows = OneOf<Operation, Bias, Relu, Rescale, Table, Add, Concat, Slice, Pad>;

[[noreturn]] void refuse_row(const Node& node) {
  fail_node(node, "step", name_of(node.op), "an operation that runs by rows");
}

// Whether all numbers are treated alike, whatever their channel.
bool treats_all_alike(const PlainSpec& spec) {
  const Op& op = spec.node.op;
  return is<Add>(op) || is<Relu>(op) || is<Table>(op) ||
         (is<Rescale>(op) && spec.numbers.size() == 1);
}

// Where numbers are treated alike and lie without gaps, several pixels are as good as one of more
// channels; few channels are not worth the calls.
PlainSpec with_joined_pixels(PlainSpec spec) {
  constexpr std::int64_t kMost = 2048;  // numbers: 32 bits of each stay in L1
  std::vector<Place*> places = {&spec.out};
  for (Place& in : spec.inputs) places.push_back(&in);
  const std::int64_t width = spec.out.width;
  const std::int64_t channels = spec.out.channels;
  const auto may_join = [&](const Place* place) {
    return place->width == width && place->channels == channels && place->border == 0 &&
           place->stride == place->channel_bytes(channels);
  };
  if (!treats_all_alike(spec) || !std::ranges::all_of(places, may_join)) return spec;
  std::int64_t joined = std::clamp<std::int64_t>(kMost / channels, 1, width);
  while (width % joined != 0) --joined;
  for (Place* place : places) {
    place->width /= joined;
    place->channels *= joined;
    place->stride *= joined;
  }
  return spec;
}

class RowStep final : public CpuStep {
 public:
  RowStep(PlainSpec spec, bool is_wide)
      : spec_(with_joined_pixels(std::move(spec))),
        is_wide_(is_wide),
        has_one_number_(spec_.numbers.size() == 1) {
    for (const std::int64_t each : spec_.numbers)
      numbers_.push_back(static_cast<std::int32_t>(each));
    if (is<Rescale>(spec_.node.op)) {  // read 16 at a time
      numbers_.resize(static_cast<std::size_t>(spec_.out.channels + kFilterColumns),
                      numbers_.back());
      shift_ = static_cast<int>(std::get<Rescale>(spec_.node.op).shift);
    }
    if (!spec_.terms.empty()) set_terms();
    for (const Place& in : spec_.inputs) widest_ = std::max(widest_, in.channels);
  }

  std::size_t weight_bytes() const override { return numbers_.size() * sizeof(std::int32_t); }
  std::size_t scratch_bytes() const override {
    return static_cast<std::size_t>(spec_.out.channels + widest_ + 2 * kFilterColumns) *
           sizeof(std::int32_t);
  }

  void run(const RunFrame& frame) const override {
    const Place& out = spec_.out;
    frame.team.run(frame.batch * out.height, [&](int worker, std::int64_t row) {
      auto* values =
          reinterpret_cast<std::int32_t*>(frame.scratch[static_cast<std::size_t>(worker)]);
      for (std::int64_t x = 0; x < out.width; ++x) {
        const Pixel at{frame, row / out.height, row % out.height,
                       x,     values,           values + out.channels + kFilterColumns};
        std::visit([&](const auto& op) { run_pixel(op, at); }, spec_.node.op);
      }
    });
  }

 private:
  void set_terms() {
    std::uint64_t most = 0;  // of a sum
    for (std::size_t k = 0; k < spec_.terms.size(); ++k) {
      const SumTerm& term = spec_.terms[k];
      const int zero = spec_.inputs[k].zero;
      for (int byte = 0; byte < 256; ++byte)
        tables_[k][static_cast<std::size_t>(byte)] = term.of(byte - zero);
      terms_[k] = {.zero = zero,
                   .multiplier = static_cast<std::int32_t>(term.multiplier),
                   .shift = static_cast<int>(term.op.shift),
                   .low = tables_[k].front(),
                   .high = tables_[k].back()};
      has_narrow_terms_ &= term.is_narrow(-zero) && term.is_narrow(255 - zero);
      most += std::max(magnitude_of(tables_[k].front()), magnitude_of(tables_[k].back()));
    }
    has_ties_ = nibble::has_ties(most, magnitude_of(spec_.numbers[0]), shift_);
    shorten(most);
  }

  // Powers of two that the one multiplier has leave it and the shift: often 32 bits are enough
  // then.
  void shorten(std::uint64_t most) {
    const std::uint64_t multiplier = magnitude_of(spec_.numbers[0]);
    const int powers = std::min(std::countr_zero(multiplier), shift_);
    shift_ -= powers;
    std::ranges::fill(numbers_, static_cast<std::int32_t>(spec_.numbers[0] >> powers));
    const std::uint64_t half = shift_ == 0 ? 0 : std::uint64_t{1} << (shift_ - 1);
    is_wide_ = most * (multiplier >> powers) + half > INT32_MAX;
  }

  struct Pixel {
    const RunFrame& frame;
    std::int64_t image, y, x;
    std::int32_t* values;  // of the output
    std::int32_t* other;   // as many as any input has
  };

  const std::byte* input(const Pixel& at, std::size_t k, std::int64_t y, std::int64_t x) const {
    const Place& place = spec_.inputs[k];
    return at.frame.arena + place.offset + place.at(at.image, y, x);
  }
  void read(const Pixel& at, std::size_t k, std::int32_t* to) const {
    read_row(spec_.inputs[k], input(at, k, at.y, at.x), to);
  }
  std::byte* output(const Pixel& at) const {
    return at.frame.arena + spec_.out.offset + spec_.out.at(at.image, at.y, at.x);
  }
  void write(const Pixel& at) const { write_row(spec_.out, at.values, output(at)); }

  void run_pixel(const Bias&, const Pixel& at) const {
    read(at, 0, at.values);
    for (std::int64_t c = 0; c < spec_.out.channels; ++c)
      at.values[c] += numbers_[static_cast<std::size_t>(c)];
    write(at);
  }
  void run_pixel(const Relu&, const Pixel& at) const {
    read(at, 0, at.values);
    for (std::int64_t c = 0; c < spec_.out.channels; ++c) at.values[c] = std::max(at.values[c], 0);
    write(at);
  }
  void run_pixel(const Table& op, const Pixel& at) const {
    read(at, 0, at.values);
    for (std::int64_t c = 0; c < spec_.out.channels; ++c)
      at.values[c] = numbers_[static_cast<std::size_t>(at.values[c] - op.first)];
    write(at);
  }

  // The sum of all fits 32 bits, that of some may wrap.
  void run_pixel(const Add&, const Pixel& at) const {
    read(at, 0, at.values);
    for (std::size_t k = 1; k < spec_.inputs.size(); ++k) {
      read(at, k, at.other);
      for (std::int64_t c = 0; c < spec_.out.channels; ++c) {
        at.values[c] = static_cast<std::int32_t>(static_cast<std::uint32_t>(at.values[c]) +
                                                 static_cast<std::uint32_t>(at.other[c]));
      }
    }
    write(at);
  }

  // The sum of two bytes in their terms. It fits 32 bits.
  void read_sum(const Pixel& at) const {
    const auto* first = reinterpret_cast<const std::uint8_t*>(input(at, 0, at.y, at.x));
    const auto* second = reinterpret_cast<const std::uint8_t*>(input(at, 1, at.y, at.x));
    if (const auto add = engine_kernels().add_terms; add != nullptr && has_narrow_terms_) {
      std::array<ByteTerm, 2> terms = terms_;
      terms[0].from = first;
      terms[1].from = second;
      return add(terms[0], terms[1], at.values, spec_.out.channels);
    }
    for (std::int64_t c = 0; c < spec_.out.channels; ++c)
      at.values[c] = tables_[0][first[c]] + tables_[1][second[c]];
  }

  void run_pixel(const Rescale& op, const Pixel& at) const {
    if (spec_.terms.empty()) {
      read(at, 0, at.values);
    } else {
      read_sum(at);
    }
    const Place& out = spec_.out;
    RescaleTile tile{.pixels = 1,
                     .multiplier = numbers_.data(),
                     .shift = shift_,
                     .low = static_cast<std::int32_t>(op.low),
                     .high = static_cast<std::int32_t>(op.high),
                     .zero = out.zero,
                     .is_wide = is_wide_,
                     .has_ties = has_ties_,
                     .storage = out.storage,
                     .stride = out.channel_bytes(kFilterColumns)};
    for (std::int64_t c = 0; c < out.channels; c += tile.pixels * kFilterColumns) {
      const std::int64_t left = out.channels - c;
      tile.sums = at.values + c;
      // Under one multiplier, groups of 64 channels are as good as pixels.
      if (has_one_number_)
        tile.pixels = static_cast<int>(std::max<std::int64_t>(left / kFilterColumns, 1));
      tile.columns = static_cast<int>(std::min<std::int64_t>(kFilterColumns, left));
      if (!has_one_number_) tile.multiplier = numbers_.data() + c;
      tile.out = output(at) + out.channel_bytes(c);
      engine_kernels().rescale(tile);
    }
  }

  void run_pixel(const Concat&, const Pixel& at) const {
    std::int32_t* to = at.values;
    for (std::size_t k = 0; k < spec_.inputs.size(); ++k) {
      read(at, k, to);
      to += spec_.inputs[k].channels;
    }
    write(at);
  }

  // The three axes of a picture; a vector has the last alone.
  static std::int64_t axis(const std::vector<std::int64_t>& list, std::size_t of_three,
                           std::int64_t missing) {
    const std::size_t skipped = 3 - list.size();
    return of_three < skipped ? missing : list[of_three - skipped];
  }

  void run_pixel(const Slice& op, const Pixel& at) const {
    read_row(spec_.inputs[0],
             input(at, 0, axis(op.begin, 0, 0) + at.y * axis(op.step, 0, 1),
                   axis(op.begin, 1, 0) + at.x * axis(op.step, 1, 1)),
             at.other);
    for (std::int64_t c = 0; c < spec_.out.channels; ++c)
      at.values[c] = at.other[axis(op.begin, 2, 0) + c * axis(op.step, 2, 1)];
    write(at);
  }

  void run_pixel(const Pad& op, const Pixel& at) const {
    const Place& in = spec_.inputs[0];
    const std::int64_t y = at.y - axis(op.before, 0, 0);
    const std::int64_t x = at.x - axis(op.before, 1, 0);
    std::fill_n(at.values, spec_.out.channels, 0);
    if (y >= 0 && y < in.height && x >= 0 && x < in.width)
      read_row(in, input(at, 0, y, x), at.values + axis(op.before, 2, 0));
    write(at);
  }

  template <class Other>
  requires(!ByRows<Other>) void run_pixel(const Other&, const Pixel&) const {
    refuse_row(spec_.node);
  }

  PlainSpec spec_;
  bool is_wide_;
  bool has_one_number_;
  std::vector<std::int32_t> numbers_;                         // bias, multiplier or table
  int shift_ = 0;                                             // of a rescale
  std::array<std::array<std::int32_t, 256>, 2> tables_ = {};  // of the terms, by stored byte
  std::array<ByteTerm, 2> terms_ = {};
  bool has_narrow_terms_ = true;
  bool has_ties_ = true;     // some sum times the multiplier is half-way between two results
  std::int64_t widest_ = 0;  // input, in channels
};

}  // namespace

bool runs_by_rows(const Op& op) {
  return std::visit([]<class Operation>(const Operation&) { return ByRows<Operation>; }, op);
}

std::unique_ptr<CpuStep> make_row_step(PlainSpec spec, bool is_wide) {
  if (!runs_by_rows(spec.node.op)) refuse_row(spec.node);
  return std::make_unique<RowStep>(std::move(spec), is_wide);
}

}  // namespace nibble::inline engine
