// SPDX-License-Identifier: Apache-2.0
// Fuzz targets: the readers of data sets, archives and pictures.
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/crc32.h"
#include "core/test_fuzz_target.h"
#include "data/cifar10.h"
#include "data/harness_tensor.h"
#include "data/idx.h"
#include "data/listed_files.h"
#include "data/npz.h"
#include "data/picture_codecs.h"
#include "data/tar.h"
#include "nibble/core/error.h"
#include "nibble/core/parallel.h"

namespace {

std::vector<std::byte> idx_of(const nibble::Tensor& tensor) {
  std::vector<std::byte> bytes = {std::byte{0}, std::byte{0}, std::byte{8},
                                  static_cast<std::byte>(tensor.shape().rank())};
  for (const std::int64_t extent : tensor.shape().extents()) {
    for (int shift = 24; shift >= 0; shift -= 8) {
      bytes.push_back(static_cast<std::byte>(extent >> shift));
    }
  }
  bytes.insert(bytes.end(), tensor.data(), tensor.data() + tensor.bytes());
  return bytes;
}

}  // namespace

// Any bytes either parse as IDX or throw Error; what parses survives a round trip.
NIBBLE_FUZZ_TARGET(idx) {
  using namespace nibble;
  try {
    const auto input = std::as_bytes(std::span(data, size));
    const Tensor first = parse_idx(input, "fuzz");
    const std::vector<std::byte> copy = idx_of(first);
    const bool is_plain = data[0] == 0;
    if (is_plain && (copy.size() != size || std::memcmp(copy.data(), data, size) != 0))
      std::abort();
    const Tensor second = parse_idx(copy, "copy");
    if (first.shape() != second.shape() || first.dtype() != second.dtype()) std::abort();
    if (std::memcmp(first.data(), second.data(), first.bytes()) != 0) std::abort();
  } catch (const Error&) {
  }
  return 0;
}

// Any bytes either are CIFAR-10 records or throw Error; no byte of a record is lost.
NIBBLE_FUZZ_TARGET(cifar10) {
  using namespace nibble;
  set_thread_count(1);  // a few records are not worth a thread
  try {
    const Dataset dataset = parse_cifar10(std::as_bytes(std::span(data, size)), "fuzz");
    const auto images = dataset.images.as<std::uint8_t>();
    const auto labels = dataset.labels.as<std::int32_t>();
    if (images.size() + labels.size() != size) std::abort();
    for (std::size_t i = 0; i < labels.size(); ++i) {
      const std::uint8_t* record = data + 3073 * i;
      if (labels[i] != record[0] || labels[i] > 9) std::abort();
      for (std::size_t pixel = 0; pixel < 1024; ++pixel) {
        for (std::size_t channel = 0; channel < 3; ++channel) {
          const std::uint8_t expected = record[1 + 1024 * channel + pixel];
          if (images[3 * (1024 * i + pixel) + channel] != expected) std::abort();
        }
      }
    }
  } catch (const Error&) {
  }
  return 0;
}

// Any bytes either are an archive whose arrays can be read or throw Error.
NIBBLE_FUZZ_TARGET(npz) {
  using namespace nibble;
  try {
    const auto input = std::as_bytes(std::span(data, size));
    const Npz npz({input.begin(), input.end()}, "fuzz");
    for (const std::string& name : npz.names()) {
      if (!npz.has(name)) std::abort();
      try {
        const Tensor tensor = npz.read(name);
        if (tensor.bytes() > 1100 * size) std::abort();  // deflate packs at most 1032 to 1
      } catch (const Error&) {
      }
    }
  } catch (const Error&) {
  }
  return 0;
}

namespace {

using namespace nibble;

constexpr std::size_t kBlock = 512;
constexpr std::size_t kSumAt = 148;
constexpr std::size_t kSumSize = 8;

void try_tar(std::span<const std::byte> input) {
  try {
    std::size_t total = 0;
    for (const TarFile& file : parse_tar(input, "fuzz")) {
      const bool is_inside = file.data.data() >= input.data() &&
                             file.data.data() + file.data.size() <= input.data() + input.size();
      if (!is_inside || file.name.size() > input.size()) std::abort();
      total += file.data.size() + kBlock;
    }
    if (total > input.size()) std::abort();
  } catch (const Error&) {
  }
}

void correct_sum(std::span<std::byte> block) {
  std::memset(block.data() + kSumAt, ' ', kSumSize);
  unsigned sum = 0;
  for (const std::byte byte : block) sum += std::to_integer<unsigned>(byte);
  for (std::size_t digit = 6; digit-- > 0; sum /= 8) {
    block[kSumAt + digit] = static_cast<std::byte>('0' + sum % 8);
  }
  block[kSumAt + 6] = std::byte{0};
}

}  // namespace

// Any bytes either are an archive whose files lie inside it or throw Error. Few
// mutations keep the sums of the headers: every block is read with the right one, too.
NIBBLE_FUZZ_TARGET(tar) {
  const auto input = std::as_bytes(std::span(data, size));
  try_tar(input);
  std::vector<std::byte> corrected(input.begin(), input.end());
  for (std::size_t at = 0; at + kBlock <= size; at += kBlock) {
    const std::span<std::byte> block = std::span(corrected).subspan(at, kBlock);
    if (block[0] != std::byte{0}) correct_sum(block);
  }
  try_tar(corrected);
  return 0;
}

namespace {

constexpr std::int64_t kMostElements = 1 << 20;  // larger ones only cost time
constexpr std::size_t kSignature = 8;
constexpr std::size_t kAround = 12;  // length, kind and checksum of a chunk

void try_png(std::span<const std::byte> input) {
  using namespace nibble;
  try {
    const Shape shape = png_shape(input, "fuzz");
    if (shape.elements() > kMostElements) return;
    if (decode_png(input, "fuzz").shape() != shape) std::abort();
  } catch (const Error&) {
  }
}

void repair_checksums(std::span<std::byte> bytes) {
  for (std::size_t at = kSignature; bytes.size() - at >= kAround;) {
    std::size_t length = 0;
    for (std::size_t i = 0; i < 4; ++i) {
      length = length << 8 | std::to_integer<std::size_t>(bytes[at + i]);
    }
    if (length > bytes.size() - at - kAround) return;
    const std::uint32_t crc = nibble::crc32_of(bytes.subspan(at + 4, length + 4));
    for (std::size_t i = 0; i < 4; ++i) {
      bytes[at + 8 + length + i] = static_cast<std::byte>(crc >> (24 - 8 * i));
    }
    at += length + kAround;
  }
}

}  // namespace

// Any bytes either are a PNG with the shape of its header or throw Error. They are
// tried twice, the second time with all checksums of chunks made right.
NIBBLE_FUZZ_TARGET(png) {
  const auto input = std::as_bytes(std::span(data, size));
  try_png(input);
  std::vector<std::byte> repaired(input.begin(), input.end());
  if (size >= kSignature) repair_checksums(repaired);
  try_png(repaired);
  return 0;
}

// Any bytes either are a JPEG with the shape of its header or throw Error.
NIBBLE_FUZZ_TARGET(jpeg) {
  using namespace nibble;
  try {
    const auto input = std::as_bytes(std::span(data, size));
    const Shape shape = jpeg_shape(input, "fuzz");
    if (shape.elements() > kMostElements) return 0;
    if (decode_jpeg(input, "fuzz").shape() != shape) std::abort();
  } catch (const Error&) {
  }
  return 0;
}

// Any text is a list of files with labels, all or none of them, or throws Error; names stay in
// their folder.
NIBBLE_FUZZ_TARGET(file_list) {
  using namespace nibble;
  std::vector<FileLine> lines;
  try {
    lines = parse_file_list({reinterpret_cast<const char*>(data), size}, "fuzz");
  } catch (const Error&) {
    return 0;
  }
  std::string text;
  for (const FileLine& line : lines) {
    if (line.name.empty() || (line.label < 0) != (lines[0].label < 0)) std::abort();
    text += line.name + " " + (line.label < 0 ? "-" : std::to_string(line.label)) + "\n";
  }
  const std::vector<FileLine> copy = parse_file_list(text, "copy");
  if (copy.size() != lines.size()) std::abort();
  for (std::size_t i = 0; i < copy.size(); ++i) {
    if (copy[i].name != lines[i].name || copy[i].label != lines[i].label) std::abort();
  }
  return 0;
}

// Any bytes are a picture of the MLPerf harness or throw Error; one is as large as it
// was asked for.
NIBBLE_FUZZ_TARGET(harness_tensor) {
  using namespace nibble;
  const auto file = std::as_bytes(std::span(data, size));
  (void)is_harness_tensor(file);
  for (const Shape& picture : {Shape{2, 3, 4}, Shape{1, 1, 1}}) {
    try {
      const Tensor tensor = parse_harness_tensor(file, picture, "fuzz");
      if (tensor.shape() != picture || tensor.dtype() != DType::i8) std::abort();
      if (!is_harness_tensor(file)) std::abort();
    } catch (const Error&) {
    }
  }
  return 0;
}
