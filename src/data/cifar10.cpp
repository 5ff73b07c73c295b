// SPDX-License-Identifier: Apache-2.0
// Turns the records of CIFAR-10 into images with the channels last.
#include "data/cifar10.h"

#include <fmt/format.h>

#include <cstdint>
#include <cstring>
#include <system_error>
#include <vector>

#include "data/catalog.h"
#include "data/file_bytes.h"
#include "nibble/core/error.h"
#include "nibble/core/parallel.h"

namespace nibble::inline data {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kSide = 32;
constexpr std::size_t kPixels = kSide * kSide;
constexpr std::size_t kChannels = 3;
constexpr std::size_t kImageBytes = kPixels * kChannels;
constexpr std::size_t kRecordBytes = 1 + kImageBytes;
constexpr std::size_t kRecordsAtOnce = 256;
constexpr int kClasses = 10;

std::size_t count_records(std::size_t bytes, const std::string& name) {
  if (bytes == 0 || bytes % kRecordBytes != 0) {
    throw Error("read_cifar10", name + ": size", fmt::format("{} bytes", bytes),
                fmt::format("one or more records of {} bytes", kRecordBytes), ErrorKind::input);
  }
  return bytes / kRecordBytes;
}

Dataset make_dataset(std::size_t count) {
  const auto n = static_cast<std::int64_t>(count);
  Dataset dataset{.name = "cifar10",
                  .images = Tensor(DType::u8, Shape{n, kSide, kSide, kChannels}),
                  .labels = Tensor(DType::i32, Shape{n}),
                  .class_names = {},
                  .targets = {}};
  const auto classes = find_known_dataset("cifar10")->class_names;
  dataset.class_names.assign(classes.begin(), classes.end());
  return dataset;
}

// Writes the records of one batch from image `first` on.
void unpack(std::span<const std::byte> bytes, const std::string& name, std::size_t first,
            Dataset& dataset) {
  const auto images = dataset.images.as<std::uint8_t>().subspan(first * kImageBytes);
  const auto labels = dataset.labels.as<std::int32_t>().subspan(first);
  parallel_for(bytes.size() / kRecordBytes, kRecordsAtOnce,
               [&](std::size_t begin, std::size_t end) {
                 for (std::size_t i = begin; i < end; ++i) {
                   const auto record = bytes.subspan(i * kRecordBytes, kRecordBytes);
                   const int label = std::to_integer<int>(record[0]);
                   if (label >= kClasses) {
                     throw Error("read_cifar10", fmt::format("{}: label of record {}", name, i),
                                 std::to_string(label), fmt::format("0 to {}", kClasses - 1),
                                 ErrorKind::input);
                   }
                   labels[i] = label;
                   for (std::size_t channel = 0; channel < kChannels; ++channel) {
                     const auto plane = record.subspan(1 + channel * kPixels, kPixels);
                     for (std::size_t pixel = 0; pixel < kPixels; ++pixel) {
                       images[i * kImageBytes + pixel * kChannels + channel] =
                           std::to_integer<std::uint8_t>(plane[pixel]);
                     }
                   }
                 }
               });
}

}  // namespace

std::vector<std::string> cifar10_batch_names(Split split) {
  if (split == Split::test) return {"test_batch.bin"};
  std::vector<std::string> names;
  for (int i = 1; i <= 5; ++i) names.push_back(fmt::format("data_batch_{}.bin", i));
  return names;
}

Dataset parse_cifar10(std::span<const std::byte> bytes, const std::string& name) {
  Dataset dataset = make_dataset(count_records(bytes.size(), name));
  unpack(bytes, name, 0, dataset);
  return dataset;
}

Dataset read_cifar10(const fs::path& folder, Split split) {
  std::vector<fs::path> paths;
  std::vector<std::vector<std::byte>> batches;
  std::size_t count = 0;
  for (const std::string& name : cifar10_batch_names(split)) {
    paths.push_back(folder / name);
    batches.push_back(read_file_bytes(paths.back(), "read_cifar10"));
    count += count_records(batches.back().size(), paths.back().string());
  }
  Dataset dataset = make_dataset(count);
  std::size_t first = 0;
  for (std::size_t i = 0; i < batches.size(); ++i) {
    unpack(batches[i], paths[i].string(), first, dataset);
    first += batches[i].size() / kRecordBytes;
  }
  return dataset;
}

std::optional<fs::path> find_cifar10_batches(const fs::path& folder) {
  for (const fs::path& candidate : {folder, folder / "cifar-10-batches-bin"}) {
    bool has_all = true;
    for (const Split split : {Split::train, Split::test}) {
      for (const std::string& name : cifar10_batch_names(split)) {
        std::error_code ignored;
        has_all = has_all && fs::is_regular_file(candidate / name, ignored);
      }
    }
    if (has_all) return candidate;
  }
  return std::nullopt;
}

}  // namespace nibble::inline data
