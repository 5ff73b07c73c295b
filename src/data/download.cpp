// SPDX-License-Identifier: Apache-2.0
// What to ask for, and what has to be true of the answer before a file is written.
#include "data/download.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <ostream>
#include <span>
#include <system_error>
#include <utility>

#include "core/atomic_file.h"
#include "core/hash.h"
#include "data/cifar10.h"
#include "data/gunzip.h"
#include "data/idx.h"
#include "data/tar.h"
#include "nibble/core/error.h"

namespace nibble::inline data {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostBytes = std::size_t{512} << 20;  // of a file, packed or not
constexpr std::size_t kPiece = 1u << 20;
constexpr const char* kCifarArchive = "cifar-10-binary.tar.gz";

struct Address {
  std::string_view name;
  std::string_view address;
};
constexpr std::array kAddresses = {
    Address{"mnist", "https://ossci-datasets.s3.amazonaws.com/mnist/"},
    Address{"fashion-mnist",
            "https://raw.githubusercontent.com/zalandoresearch/fashion-mnist/master/data/fashion/"},
    Address{"cifar10", "https://www.cs.toronto.edu/~kriz/"},
};

struct NamedBytes {
  std::string name;
  std::vector<std::byte> bytes;
};

std::string_view mirror() {
  const char* value = std::getenv("NIBBLE_DATA_MIRROR");
  return value == nullptr ? "" : value;
}

std::string address_of(std::string_view name, const DownloadSource& source) {
  const std::string_view given = mirror();
  if (given.empty()) return source.address;
  return fmt::format("{}{}{}/", given, given.ends_with('/') ? "" : "/", name);
}

std::vector<std::byte> gunzip_all(std::span<const std::byte> packed, const std::string& name) {
  Gunzip gunzip(packed, name);
  std::vector<std::byte> data;
  for (;;) {
    const std::size_t seen = data.size();
    if (seen > kMostBytes) {
      throw Error("download", name + ": unpacked", fmt::format("more than {} bytes", kMostBytes),
                  "less", ErrorKind::limit);
    }
    const std::size_t wanted = std::max(seen, kPiece);
    data.resize(seen + wanted);
    const std::size_t got = gunzip.read(std::span(data).subspan(seen));
    data.resize(seen + got);
    if (got < wanted) return data;
  }
}

// The six batches, whatever folder of the archive they are in.
std::vector<NamedBytes> unpack_cifar10(std::span<const std::byte> archive) {
  const std::vector<std::byte> tar = gunzip_all(archive, kCifarArchive);
  const std::vector<TarFile> files = parse_tar(tar, kCifarArchive);
  std::vector<NamedBytes> batches;
  for (const Split split : {Split::train, Split::test}) {
    for (const std::string& name : cifar10_batch_names(split)) {
      const auto found = std::ranges::find_if(
          files, [&](const TarFile& file) { return fs::path(file.name).filename() == name; });
      if (found == files.end()) {
        throw Error("download", fmt::format("{}: no {} in it", kCifarArchive, name),
                    ErrorKind::input);
      }
      batches.push_back({name, {found->data.begin(), found->data.end()}});
    }
  }
  return batches;
}

// As sha256_of(Dataset): all images, then all labels as 32-bit integers.
void check_digest(const KnownDataset& known, Split split, std::span<const Tensor> images,
                  std::span<const Tensor> labels) {
  Sha256 hash;
  for (const Tensor& part : images) hash.add(std::as_bytes(part.as<std::uint8_t>()));
  for (const Tensor& part : labels) {
    if (part.dtype() == DType::i32) {
      hash.add(std::as_bytes(part.as<std::int32_t>()));
      continue;
    }
    const auto bytes = part.as<std::uint8_t>();
    const std::vector<std::int32_t> wide(bytes.begin(), bytes.end());
    hash.add(std::as_bytes(std::span(wide)));
  }
  const std::string_view expected = known.sha256[static_cast<std::size_t>(split)];
  if (hash.hex() != expected) {
    throw Error("download", fmt::format("{}: SHA-256 of the {} split", known.name, name_of(split)),
                hash.hex(), expected, ErrorKind::input);
  }
}

void check_split(const KnownDataset& known, Split split, std::span<const NamedBytes> files) {
  const auto bytes_of = [&](const std::string& name) -> const NamedBytes& {
    return *std::ranges::find(files, name, &NamedBytes::name);
  };
  std::vector<Tensor> images;
  std::vector<Tensor> labels;
  if (known.name == "cifar10") {
    for (const std::string& name : cifar10_batch_names(split)) {
      Dataset batch = parse_cifar10(bytes_of(name).bytes, name);
      images.push_back(copy_of(batch.images.view()));
      labels.push_back(std::move(batch.labels));
    }
  } else {
    const IdxFiles names = idx_files_of(known.name, split);
    images.push_back(parse_idx(bytes_of(names.images + ".gz").bytes, names.images + ".gz"));
    labels.push_back(parse_idx(bytes_of(names.labels + ".gz").bytes, names.labels + ".gz"));
  }
  check_digest(known, split, images, labels);
}

void write_files(const fs::path& folder, std::span<const NamedBytes> files) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) {
    throw Error("download", fmt::format("cannot make {}: {}", folder.string(), error.message()),
                ErrorKind::system);
  }
  for (const NamedBytes& file : files) {
    AtomicFile out(folder / file.name);
    out.stream().write(reinterpret_cast<const char*>(file.bytes.data()),
                       static_cast<std::streamsize>(file.bytes.size()));
    out.commit();
  }
}

}  // namespace

DownloadSource download_source(std::string_view name) {
  DownloadSource source;
  const auto* found = std::ranges::find(kAddresses, name, &Address::name);
  if (found == kAddresses.end()) return source;
  source.address = found->address;
  if (name == "cifar10") {
    source.files = {kCifarArchive};
    return source;
  }
  for (const Split split : {Split::train, Split::test}) {
    const IdxFiles names = idx_files_of(name, split);
    source.files.push_back(names.images + ".gz");
    source.files.push_back(names.labels + ".gz");
  }
  return source;
}

bool can_download() {
  return has_http();
}

fs::path download_dataset(const KnownDataset& known,
                          const std::function<bool(const DownloadProgress&)>& on_progress) {
  const DownloadSource source = download_source(known.name);
  if (source.files.empty()) {
    throw Error("download", fmt::format("{} comes with Nibble", known.name));
  }
  if (data_folder().empty()) {
    throw Error("download", "no folder for data: set NIBBLE_DATA or HOME", ErrorKind::system);
  }
  const std::string address = address_of(known.name, source);
  std::vector<NamedBytes> files;
  for (const std::string& name : source.files) {
    const auto report = [&](std::uint64_t received, std::uint64_t total) {
      return !on_progress || on_progress({.file = name, .received = received, .total = total});
    };
    files.push_back({name, http_get({.address = address + name,
                                     .most_bytes = kMostBytes,
                                     .is_local_allowed = !mirror().empty(),
                                     .on_progress = report})});
  }
  if (known.name == "cifar10") files = unpack_cifar10(files.front().bytes);
  for (const Split split : {Split::train, Split::test}) check_split(known, split, files);
  fs::path folder = data_folder() / known.name;
  write_files(folder, files);
  return folder;
}

}  // namespace nibble::inline data
