// SPDX-License-Identifier: Apache-2.0
// Makes tensors piece by piece, and keeps an account of them that survives an interruption.
#include "inference/tensor_folder.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/hash.h"
#include "core/text_file.h"
#include "data/file_bytes.h"
#include "data/harness_tensor.h"
#include "data/picture_set.h"
#include "data/picture_source.h"
#include "nibble/core/error.h"
#include "nibble/core/parallel.h"
#include "nibble/run_folder/interrupt.h"
#include "run_folder/csv_log.h"

namespace nibble::inline inference {
namespace {

namespace fs = std::filesystem;

constexpr const char* kHashes = "hashes.txt";
constexpr const char* kList = "val_map.txt";
constexpr std::string_view kOp = "data preprocess";
constexpr std::size_t kTensorsAtOnce =
    256;  // pictures between two looks at the clock and the signal

std::string hash_text(std::span<const std::byte> bytes) {
  return hex(hash_of(bytes));
}

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

// A line a tensor, added when it is there: "HASH HASH NAME", of the tensor and of its picture.
class Account {
 public:
  Account(const fs::path& path, const std::string& head)
      : hashes_(read(path, head)), log_(path, head) {}

  // Whether the tensor of that name lies there as it was made of that picture; nullopt: there is
  // none.
  std::optional<bool> is_whole(const fs::path& tensor, const std::string& name,
                               const std::string& picture_hash) const {
    const auto known = hashes_.find(name);
    std::error_code ignored;
    if (known == hashes_.end() || !fs::is_regular_file(tensor, ignored)) return std::nullopt;
    return known->second == line_start(hash_text(read_file_bytes(tensor, kOp)), picture_hash);
  }

  void add(const std::string& name, const std::string& tensor_hash,
           const std::string& picture_hash) {
    const std::string start = line_start(tensor_hash, picture_hash);
    lines_ += start + name + "\n";
    hashes_[name] = start;
  }
  void flush() {
    log_.append(lines_);
    lines_.clear();
  }

 private:
  static constexpr std::size_t kStart = 34;  // two hashes of 16 digits with a blank each

  static std::string line_start(const std::string& tensor_hash, const std::string& picture_hash) {
    return fmt::format("{} {} ", tensor_hash, picture_hash);
  }

  static std::map<std::string, std::string> read(const fs::path& path, const std::string& head) {
    std::map<std::string, std::string> hashes;
    if (!fs::exists(path)) return hashes;
    const std::vector<std::byte> bytes = read_file_bytes(path, kOp);
    std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    const auto take_line = [&] {
      const std::string_view line = text.substr(0, text.find('\n'));
      text.remove_prefix(std::min(line.size() + 1, text.size()));
      return line;
    };
    const bool is_cut = text.find('\n') == std::string_view::npos && head.starts_with(text);
    if (const std::string_view line = take_line(); line != head && !is_cut) {
      throw Error(kOp, path.string(), fmt::format("'{}'", line.substr(0, 60)),
                  "'" + head + "': another folder for another network", ErrorKind::input);
    }
    while (text.find('\n') != std::string_view::npos) {  // a line that was cut names no tensor
      const std::string_view line = take_line();
      if (line.size() > kStart) hashes[std::string(line.substr(kStart))] = line.substr(0, kStart);
    }
    return hashes;
  }

  std::map<std::string, std::string> hashes_;  // how its line starts, by name
  CsvLog log_;
  std::string lines_;  // not written yet
};

// Without what would name a folder, or end a word or a line of the lists that name the tensors.
std::string as_word(std::string_view name) {
  std::string word(name);
  std::ranges::replace_if(
      word, [](char c) { return c == '/' || c == '"' || c == '\x7f' || (c >= 0 && c <= ' '); },
      '_');
  return word;
}

// Names without folders, each once.
std::vector<std::string> names_of(const LabelledPictures& pictures) {
  std::vector<std::string> names;
  std::set<std::string> taken;
  for (std::size_t i = 0; i < pictures.list.size(); ++i) {
    std::string name = as_word(pictures.list.file_name(i));
    const auto label = static_cast<std::size_t>(pictures.list.label(i));
    if (taken.contains(name) && pictures.list.label(i) >= 0)
      name = fmt::format("{}_{}", as_word(pictures.class_names[label]), name);
    if (!taken.insert(name).second)
      throw Error(kOp, pictures.list.name(i), "a name that another picture has",
                  "names that differ", ErrorKind::input);
    names.push_back(std::move(name));
  }
  return names;
}

void write_list(const fs::path& folder, const LabelledPictures& pictures,
                const std::vector<std::string>& names) {
  std::string lines;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const std::int32_t label = pictures.list.label(i);
    lines += fmt::format("{}\t{}\n", names[i], label < 0 ? "-" : std::to_string(label));
  }
  write_text_file(folder / kList, lines);
}

}  // namespace

TensorFolderResult write_tensor_folder(const TensorFolderOptions& options,
                                       const ExampleReader& reader) {
  const ValueInfo& info = reader.info();
  if (info.dtype == DType::i32 || info.shape.rank() != 3)
    throw Error(kOp, "input of the network", info.shape.to_string(), "(h, w, c) of bytes");
  LabelledPictures pictures = list_picture_set(options.data, options.split, Classes::wanted);
  const PictureForm form = form_of(pictures, options.data, options.split,
                                   {.input = info.shape, .takes_unlabelled = true});
  if (options.skips_broken) pictures.list = without_broken(std::move(pictures.list), form);
  const std::vector<std::string> names = names_of(pictures);
  fs::create_directories(options.out);
  Account account(options.out / kHashes,
                  fmt::format("tensors for input {}{}", input_hash(reader),
                              form.law == PictureForm::Law::as_is ? " as they are" : ""));
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
    std::vector<std::string> picture_hashes(count);
    parallel_tasks(count, [&](std::size_t i) {
      const fs::path path = options.out / (names[begin + i] + ".npy");
      const std::vector<std::byte> picture = pictures.list.bytes(begin + i);
      picture_hashes[i] = hash_text(picture);
      found[i] = account.is_whole(path, names[begin + i], picture_hashes[i]);
      if (found[i] == true) return;
      Tensor integers(info.dtype, info.shape);
      reader.read_picture(picture, pictures.list.name(begin + i), integers.data(), form.law);
      write_harness_tensor(path, integers.view());
      hashes[i] = hash_text(read_file_bytes(path, kOp));
    });
    for (std::size_t i = 0; i < count; ++i) {
      if (found[i] == true) {
        ++result.kept;
        continue;
      }
      ++result.written;
      if (found[i]) ++result.renewed;
      account.add(names[begin + i], hashes[i], picture_hashes[i]);
    }
    account.flush();
    progress.update(static_cast<std::int64_t>(begin + count));
  }
  write_list(options.out, pictures, names);
  return result;
}

}  // namespace nibble::inline inference
