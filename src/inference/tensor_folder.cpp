// SPDX-License-Identifier: Apache-2.0
// Makes tensors piece by piece, and keeps an account of them that survives an interruption.
#include "inference/tensor_folder.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <optional>
#include <set>
#include <sstream>
#include <utility>
#include <vector>

#include "core/atomic_file.h"
#include "core/hash.h"
#include "core/text_file.h"
#include "data/file_bytes.h"
#include "data/harness_tensor.h"
#include "data/picture_set.h"
#include "data/picture_source.h"
#include "nibble/core/error.h"
#include "nibble/core/parallel.h"
#include "nibble/run_folder/interrupt.h"

namespace nibble::inline inference {
namespace {

namespace fs = std::filesystem;

constexpr const char* kHashes = "hashes.txt";
constexpr const char* kList = "val_map.txt";
constexpr std::string_view kOp = "data preprocess";
constexpr std::size_t kTensorsAtOnce =
    256;  // pictures between two looks at the clock and the signal

// Every byte of every channel as the network takes it, and its shape.
std::string input_hash(const ExampleReader& reader) {
  const ValueInfo& info = reader.info();
  const auto channels = static_cast<std::size_t>(info.shape[2]);
  std::vector<std::uint8_t> bytes(info.bytes);
  Hasher hasher;
  hasher.add(info.shape.to_string());
  for (std::size_t begin = 0; begin < 256 * channels; begin += bytes.size()) {
    for (std::size_t i = 0; i < bytes.size(); ++i)
      bytes[i] = static_cast<std::uint8_t>((begin + i) / channels);
    std::vector<std::byte> integers(info.bytes);
    reader.from_bytes(bytes, integers.data());
    hasher.add(integers);
  }
  return hex(hasher.value());
}

// A line a tensor, added when it is there: "HASH NAME".
class Account {
 public:
  Account(const fs::path& folder, const std::string& input) : path_(folder / kHashes) {
    const std::string head = fmt::format("tensors for input {}", input);
    if (fs::exists(path_)) read(head);
    const bool is_new = !fs::exists(path_);
    file_.open(path_, std::ios::app);
    if (is_new) file_ << head << "\n" << std::flush;
    if (!file_) throw Error(kOp, "cannot write " + path_.string(), ErrorKind::system);
  }

  // Whether the tensor of that name lies there as it was written; nullopt: never written.
  std::optional<bool> is_whole(const fs::path& tensor, const std::string& name) const {
    const auto known = hashes_.find(name);
    std::error_code ignored;
    if (known == hashes_.end() || !fs::is_regular_file(tensor, ignored)) return std::nullopt;
    return hex(hash_of(read_file_bytes(tensor, kOp))) == known->second;
  }

  void add(const std::string& name, const std::string& hash) {
    file_ << hash << " " << name << "\n";
    hashes_[name] = hash;
  }
  void flush() {
    if (!file_.flush()) throw Error(kOp, "cannot write " + path_.string(), ErrorKind::system);
  }

 private:
  void read(const std::string& head) {
    std::ifstream in(path_);
    std::string line;
    std::getline(in, line);
    if (line != head) {
      throw Error(kOp, path_.string(), "'" + line.substr(0, 60) + "'",
                  "'" + head + "': another folder for another network", ErrorKind::input);
    }
    while (std::getline(in, line)) {
      const std::size_t blank = line.find(' ');  // a line that was cut names no tensor
      if (blank == 16) hashes_[line.substr(blank + 1)] = line.substr(0, blank);
    }
  }

  fs::path path_;
  std::map<std::string, std::string> hashes_;
  std::ofstream file_;
};

// Names without folders, each once.
std::vector<std::string> names_of(const LabelledPictures& pictures) {
  std::vector<std::string> names;
  std::set<std::string> taken;
  for (std::size_t i = 0; i < pictures.list.size(); ++i) {
    std::string name(pictures.list.file_name(i));
    std::ranges::replace(name, '/', '_');
    const auto label = static_cast<std::size_t>(pictures.list.label(i));
    if (taken.contains(name) && pictures.list.label(i) >= 0)
      name = fmt::format("{}_{}", pictures.class_names[label], name);
    if (!taken.insert(name).second)
      throw Error(kOp, pictures.list.name(i), "a name that another picture has",
                  "names that differ", ErrorKind::input);
    names.push_back(std::move(name));
  }
  return names;
}

void write_list(const fs::path& folder, const LabelledPictures& pictures,
                const std::vector<std::string>& names) {
  AtomicFile file(folder / kList);
  for (std::size_t i = 0; i < names.size(); ++i)
    file.stream() << fmt::format("{}\t{}\n", names[i], std::max(pictures.list.label(i), 0));
  file.commit();
}

}  // namespace

TensorFolderResult write_tensor_folder(const TensorFolderOptions& options,
                                       const ExampleReader& reader) {
  const ValueInfo& info = reader.info();
  if (info.dtype == DType::i32 || info.shape.rank() != 3)
    throw Error(kOp, "input of the network", info.shape.to_string(), "(h, w, c) of bytes");
  LabelledPictures pictures = list_picture_set(options.data, options.split);
  const PictureForm form{.law = PictureForm::Law::middle, .shape = info.shape};
  if (options.skips_broken) pictures.list = without_broken(std::move(pictures.list), form);
  const std::vector<std::string> names = names_of(pictures);
  fs::create_directories(options.out);
  Account account(options.out, input_hash(reader));
  TensorFolderResult result;
  const InterruptGuard guard;
  Progress progress("preprocess", static_cast<std::int64_t>(names.size()),
                    {.style = options.progress});
  for (std::size_t begin = 0; begin < names.size(); begin += kTensorsAtOnce) {
    if (interrupt_requested()) {
      throw Interrupted(interrupt_signal(),
                        fmt::format("interrupted; {} of {} tensors are there, and the same command "
                                    "goes on",
                                    result.written + result.kept, names.size()));
    }
    const std::size_t count = std::min(kTensorsAtOnce, names.size() - begin);
    std::vector<std::optional<bool>> found(count);
    std::vector<std::string> hashes(count);
    parallel_tasks(count, [&](std::size_t i) {
      const fs::path path = options.out / (names[begin + i] + ".npy");
      found[i] = account.is_whole(path, names[begin + i]);
      if (found[i] == true) return;
      Tensor integers(info.dtype, info.shape);
      reader.read_picture(pictures.list.bytes(begin + i), pictures.list.name(begin + i),
                          integers.data());
      write_harness_tensor(path, integers.view());
      hashes[i] = hex(hash_of(read_file_bytes(path, kOp)));
    });
    for (std::size_t i = 0; i < count; ++i) {
      if (found[i] == true) {
        ++result.kept;
        continue;
      }
      ++result.written;
      if (found[i]) ++result.renewed;
      account.add(names[begin + i], hashes[i]);
    }
    account.flush();
    progress.update(static_cast<std::int64_t>(begin + count));
  }
  write_list(options.out, pictures, names);
  return result;
}

}  // namespace nibble::inline inference
