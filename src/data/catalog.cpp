// SPDX-License-Identifier: Apache-2.0
// The table of known data sets and the search for their files.
#include "data/catalog.h"

#include <dlfcn.h>

#include <algorithm>
#include <cstdlib>
#include <initializer_list>
#include <system_error>

#include "data/cifar10.h"
#include "data/idx.h"

namespace nibble::inline data {
namespace {

namespace fs = std::filesystem;

constexpr std::array<std::string_view, 10> kDigitNames = {"0", "1", "2", "3", "4",
                                                          "5", "6", "7", "8", "9"};
constexpr std::array<std::string_view, 10> kGarmentNames = {
    "T-shirt/top", "Trouser", "Pullover", "Dress", "Coat",
    "Sandal",      "Shirt",   "Sneaker",  "Bag",   "Ankle boot"};
constexpr std::array<std::string_view, 10> kCifarNames = {
    "airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck"};

constexpr std::array kKnown = {
    KnownDataset{.name = "digits",
                 .summary = "handwritten digits, comes with Nibble (UCI; Alpaydin, Kaynak 1998)",
                 .image = {8, 8, 1},
                 .counts = {1437, 360},
                 .hashes = {0x0451c1acdb093c6bu, 0xe5aee8cc7b1f9b27u},
                 .sha256 = {"ab726b145f10d7be1a8e94fa1d2d2631e5c61be01643b6b9693d174cc32859b5",
                            "2bcfb5a5acf69ae0e1d5f16da0924b601982ca6be2c5a803a580b31723e00193"},
                 .class_names = kDigitNames},
    KnownDataset{.name = "mnist",
                 .summary = "handwritten digits (LeCun, Cortes, Burges)",
                 .image = {28, 28, 1},
                 .counts = {60000, 10000},
                 .hashes = {0xec7ac742f8ee5ad2u, 0x55d18a531ed429edu},
                 .sha256 = {"6a364e333ea1f8ab86e4d641d64a8cf8d8644433f54b0a78e32c2b9e143672d0",
                            "45a60edfded3b2bb860a7fd195c83431011e7f04318268b4f2de30030af9444e"},
                 .class_names = kDigitNames},
    KnownDataset{.name = "fashion-mnist",
                 .summary = "garments (Zalando)",
                 .image = {28, 28, 1},
                 .counts = {60000, 10000},
                 .hashes = {0x29b28bfab24900ebu, 0x76306b7b954bf4a3u},
                 .sha256 = {"c7d8cfe8172756709eda8bbe8b201cb44f70785b4cd9974a82408b36cc1f72e4",
                            "2589de149ea70a51076dfb7116c581fbd9b4c7b39b8e9c9f19ec089d65d659b8"},
                 .class_names = kGarmentNames},
    KnownDataset{.name = "cifar10",
                 .summary = "small photographs (Krizhevsky 2009)",
                 .image = {32, 32, 3},
                 .counts = {50000, 10000},
                 .hashes = {0xeb71f8ec15dfdd43u, 0x2901a2cc9fc14e16u},
                 .sha256 = {"72c15e60c081b70e34054cb162580e0d24094d4efdce45b6c8c1fe5acc39221e",
                            "8353b1fbf11acba6dc8b5e9d2fb108294de95b6e979d31428bf914289e4189c5"},
                 .class_names = kCifarNames},
};

constexpr const char* kCifarPack = "cifar10.medpack.xz";

fs::path environment_path(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? fs::path() : fs::path(value);
}

fs::path cache_folder() {
  const fs::path home = environment_path("HOME");
  return home.empty() ? fs::path() : home / ".cache" / "nibble";
}

// The shared library that holds this code, as in a Python package; empty in a program.
fs::path own_library() {
  Dl_info info{};
  if (::dladdr(&kKnown, &info) == 0 || info.dli_fname == nullptr) return {};
  const fs::path file = info.dli_fname;
  return file.filename().string().find(".so") == std::string::npos ? fs::path() : file;
}

// What came with Nibble: beside an installed program, in a Python package (which has its libraries
// in a folder, or all of them in the extension), in the source tree, in the prefix that the build
// was made for.
std::vector<fs::path> shared_folders() {
  std::vector<fs::path> roots;
  std::error_code error;
  const fs::path program = fs::read_symlink("/proc/self/exe", error);
  if (!error) roots.push_back(program.parent_path().parent_path());
  if (const fs::path library = own_library(); !library.empty()) {
    roots.push_back(library.parent_path().parent_path());
    roots.push_back(library.parent_path());
  }
  std::vector<fs::path> folders;
  for (const fs::path& root : roots) folders.push_back(root / "share" / "nibble");
  for (const char* folder : std::initializer_list<const char*>{NIBBLE_DATA_FOLDERS})
    folders.emplace_back(folder);
  return folders;
}

bool is_there(const fs::path& path) {
  std::error_code ignored;
  return fs::exists(path, ignored);
}

bool has_files(const KnownDataset& dataset, const fs::path& folder) {
  if (dataset.name == "cifar10") return find_cifar10_batches(folder).has_value();
  return std::ranges::all_of(std::array{Split::train, Split::test}, [&](Split split) {
    const IdxFiles files = idx_files_of(dataset.name, split);
    return find_idx(folder, files.images) && find_idx(folder, files.labels);
  });
}

}  // namespace

std::span<const KnownDataset> known_datasets() {
  return kKnown;
}

const KnownDataset* find_known_dataset(std::string_view name) {
  const auto* found = std::ranges::find(kKnown, name, &KnownDataset::name);
  return found == kKnown.end() ? nullptr : found;
}

fs::path data_folder() {
  const fs::path given = environment_path("NIBBLE_DATA");
  return given.empty() ? cache_folder() : given;
}

std::vector<fs::path> places_of(std::string_view name) {
  std::vector<fs::path> places;
  const auto add = [&](const fs::path& place) {
    if (std::ranges::find(places, place) == places.end()) places.push_back(place);
  };
  for (const fs::path& folder : {environment_path("NIBBLE_DATA"), cache_folder()}) {
    if (!folder.empty()) add(folder / name);
  }
  if (name == "fashion-mnist") add("/usr/share/datasets/fashion-mnist");  // of Debian
  if (name == "digits") {
    for (const fs::path& folder : shared_folders()) add(folder / name);
  }
  return places;
}

std::optional<fs::path> find_data(std::string_view name) {
  const KnownDataset* known = find_known_dataset(name);
  for (const fs::path& place : places_of(name)) {
    if (known != nullptr ? has_files(*known, place) : is_there(place)) return place;
  }
  return std::nullopt;
}

std::optional<std::string> unpack_command(std::string_view name) {
  if (name != "cifar10") return std::nullopt;
  for (const fs::path& place : places_of(name)) {
    if (is_there(place / kCifarPack)) {
      return (place / "unpack").string() + " " + (cache_folder() / name).string();
    }
  }
  return std::nullopt;
}

std::string explain_absence(std::string_view name) {
  if (const std::optional<std::string> command = unpack_command(name)) {
    return std::string(name) + " is still packed: run '" + *command + "'";
  }
  std::string looked;
  for (const fs::path& place : places_of(name)) {
    looked += (looked.empty() ? "" : ", ") + place.string();
  }
  return std::string(name) + " is absent: looked in " + (looked.empty() ? "no folder" : looked) +
         "; 'nibble data get " + std::string(name) + "' downloads it or says what to put where";
}

}  // namespace nibble::inline data
