// SPDX-License-Identifier: Apache-2.0
// Finds out what a file is and writes its examples as integers.
#include "inference/example_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <string_view>
#include <utility>

#include "data/file_bytes.h"
#include "data/harness_tensor.h"
#include "data/picture_form.h"
#include "nibble/core/error.h"
#include "nibble/core/npy.h"

namespace nibble::inline inference {
namespace {

constexpr std::string_view kNpyMagic = "\x93NUMPY";

bool is_npy(std::span<const std::byte> file) {
  return file.size() >= kNpyMagic.size() &&
         std::memcmp(file.data(), kNpyMagic.data(), kNpyMagic.size()) == 0;
}

// body(put) with put(index, integer) for the type that the integers lie in.
template <class Body>
void with_put(const ValueInfo& info, std::byte* to, const Body& body) {
  if (info.dtype == DType::i32) {
    body([to](std::size_t i, std::int32_t value) {
      std::memcpy(to + i * sizeof value, &value, sizeof value);
    });
  } else {
    body([to, zero = info.zero](std::size_t i, std::int32_t value) {
      to[i] = static_cast<std::byte>(value + zero);
    });
  }
}

// How the examples of an array lie.
struct Layout {
  std::int64_t examples = 0;
  bool is_by_channel = false;
};

Shape tail_of(const Shape& shape, std::size_t first) {
  return Shape(shape.extents().subspan(first));
}

std::optional<Layout> layout_of(const Shape& shape, const Shape& input) {
  const std::int64_t many = shape.rank() > 0 ? shape[0] : 0;
  const Shape rest = tail_of(shape, std::min<std::size_t>(shape.rank(), 1));
  if (shape == input) return Layout{1};
  if (shape.rank() > 1 && rest == input) return Layout{many};
  if (input.rank() == 1) {  // rows of pictures one after the other
    if (shape.rank() > 1 && rest.elements() == input.elements()) return Layout{many};
    return std::nullopt;
  }
  const Shape plane{input[0], input[1]};
  const Shape by_channel{input[2], input[0], input[1]};
  if (input[2] == 1 && shape == plane) return Layout{1};
  if (input[2] == 1 && shape.rank() == 3 && rest == plane) return Layout{many};
  if (shape == by_channel) return Layout{1, true};
  if (shape.rank() == 4 && rest == by_channel) return Layout{many, true};
  return std::nullopt;
}

template <class Word>
void reorder(const std::byte* source, const Shape& input, std::int64_t examples, Tensor& target) {
  const auto pixels = static_cast<std::size_t>(input[0] * input[1]);
  const auto channels = static_cast<std::size_t>(input[2]);
  const auto* from = reinterpret_cast<const Word*>(source);
  auto* to = reinterpret_cast<Word*>(target.data());
  for (std::int64_t n = 0; n < examples; ++n, to += pixels * channels) {
    for (std::size_t c = 0; c < channels; ++c) {
      for (std::size_t p = 0; p < pixels; ++p) to[p * channels + c] = *from++;
    }
  }
}

// (n, c, h, w) as (n, h, w, c).
Tensor by_pixel(ConstTensorView array, const Shape& input, std::int64_t examples) {
  Tensor target(array.dtype(), {examples, input[0], input[1], input[2]});
  const std::byte* from = array.data();
  switch (size_of(array.dtype())) {
    case 1:
      reorder<std::uint8_t>(from, input, examples, target);
      break;
    case 2:
      reorder<std::uint16_t>(from, input, examples, target);
      break;
    case 4:
      reorder<std::uint32_t>(from, input, examples, target);
      break;
    default:
      reorder<std::uint64_t>(from, input, examples, target);
  }
  return target;
}

template <class Integer>
void copy_integers(ConstTensorView array, const ValueInfo& info, const std::string& name,
                   std::byte* to) {
  with_put(info, to, [&](const auto& put) {
    const std::span<const Integer> integers = array.as<Integer>();
    for (std::size_t i = 0; i < integers.size(); ++i) {
      const Integer each = integers[i];
      if (std::cmp_less(each, info.low) || std::cmp_greater(each, info.high)) {
        throw Error("input", name + ": integer", std::to_string(each),
                    fmt::format("{} to {}, what the network takes", info.low, info.high),
                    ErrorKind::input);
      }
      put(i, static_cast<std::int32_t>(each));
    }
  });
}

}  // namespace

ExampleReader::ExampleReader(const Network& network, const ValueInfo& info)
    : info_(info), rounder_(network.nodes[0].value) {
  const Input& input = input_of(network);
  channels_ = std::max<std::size_t>({1, input.mean.size(), input.deviation.size()});
  table_ = input_table(input, network.nodes[0].value, channels_);
}

void ExampleReader::from_bytes(std::span<const std::uint8_t> bytes, std::byte* integers) const {
  with_put(info_, integers, [&](const auto& put) {
    std::size_t channel = 0;
    for (std::size_t i = 0; i < bytes.size(); ++i) {
      put(i, table_[channel * 256 + bytes[i]]);
      if (++channel == channels_) channel = 0;
    }
  });
}

void ExampleReader::from_reals(std::span<const float> reals, std::byte* integers) const {
  with_put(info_, integers, [&](const auto& put) { rounder_.for_each(reals, put); });
}

std::int64_t ExampleReader::take(ConstTensorView array, const std::string& name,
                                 std::vector<std::byte>& integers) const {
  const std::optional<Layout> layout = layout_of(array.shape(), info_.shape);
  if (!layout) {
    throw Error("input", name + ": shape", array.shape().to_string(),
                fmt::format("{}, or several of them", info_.shape.to_string()), ErrorKind::input);
  }
  if (layout->is_by_channel) {
    return take(by_pixel(array, info_.shape, layout->examples).view(), name, integers);
  }
  const std::size_t size = integers.size();
  integers.resize(size + info_.bytes * static_cast<std::size_t>(layout->examples));
  std::byte* to = integers.data() + size;
  switch (array.dtype()) {
    case DType::f32:
      from_reals(array.as<float>(), to);
      break;
    case DType::u8:
      if (info_.dtype == DType::u8 && info_.zero == 0) {
        copy_integers<std::uint8_t>(array, info_, name, to);
      } else {
        from_bytes(array.as<std::uint8_t>(), to);
      }
      break;
    case DType::i8:
      copy_integers<std::int8_t>(array, info_, name, to);
      break;
    case DType::i16:
      copy_integers<std::int16_t>(array, info_, name, to);
      break;
    case DType::u16:
      copy_integers<std::uint16_t>(array, info_, name, to);
      break;
    case DType::i32:
      copy_integers<std::int32_t>(array, info_, name, to);
      break;
    case DType::u32:
      copy_integers<std::uint32_t>(array, info_, name, to);
      break;
    case DType::i64:
      copy_integers<std::int64_t>(array, info_, name, to);
      break;
    case DType::u64:
      copy_integers<std::uint64_t>(array, info_, name, to);
      break;
    default:
      throw Error("input", name + ": type", name_of(array.dtype()), "f32 or integers",
                  ErrorKind::input);
  }
  return layout->examples;
}

// The bytes of a u8 input are u8; with a zero point they are what enters the network.
std::int64_t ExampleReader::take_codes(const Tensor& tensor, const std::string& name,
                                       std::vector<std::byte>& integers) const {
  if (info_.zero == 0) {
    const DType dtype = info_.dtype == DType::u8 ? DType::u8 : DType::i8;
    return take({tensor.data(), dtype, tensor.shape()}, name, integers);
  }
  Tensor values(DType::i32, tensor.shape());
  const std::span<std::int32_t> to = values.as<std::int32_t>();
  for (std::size_t i = 0; i < to.size(); ++i) {
    const auto byte = static_cast<std::uint8_t>(tensor.data()[i]);
    const int code = info_.dtype == DType::i8 ? static_cast<std::int8_t>(byte) : byte;
    to[i] = code - static_cast<std::int32_t>(info_.zero);
  }
  return take(values.view(), name, integers);
}

std::int64_t ExampleReader::read(const std::filesystem::path& path,
                                 std::vector<std::byte>& integers) const {
  if (path == "-") return take(read_npy(path).view(), "standard input", integers);
  const std::string name = path.string();
  const std::vector<std::byte> file = read_file_bytes(path, "input");
  if (is_harness_tensor(file)) {
    const Tensor tensor = parse_harness_tensor(file, info_.shape, name);
    return take_codes(tensor, name, integers);
  }
  if (is_npy(file) || path.extension() == ".npy")
    return take(read_npy(path).view(), name, integers);
  const std::size_t size = integers.size();
  integers.resize(size + info_.bytes);
  read_picture(file, name, integers.data() + size);
  return 1;
}

void ExampleReader::read_picture(std::span<const std::byte> file, const std::string& name,
                                 std::byte* integers, PictureForm::Law law) const {
  const bool takes_pictures =
      info_.shape.rank() == 3 && (info_.shape[2] == 1 || info_.shape[2] == 3);
  if (!takes_pictures) {
    throw Error("input", name, "a picture",
                fmt::format(".npy: the network takes {}", info_.shape.to_string()),
                ErrorKind::input);
  }
  const PictureForm form{.law = law, .shape = info_.shape, .size_of = "the network takes it"};
  std::vector<std::uint8_t> pixels(form.bytes());
  read_in_form(file, name, form, pixels.data());
  from_bytes(pixels, integers);
}

}  // namespace nibble::inline inference
