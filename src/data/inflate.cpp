// SPDX-License-Identifier: Apache-2.0
// zlib's inflate, with an end that is known before.
#include "data/gunzip.h"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <limits>
#include <new>

#include "data/file_bytes.h"
#include "nibble/core/error.h"

namespace nibble::inline data {
namespace {

constexpr std::size_t kMostInflatedAtOnce = std::numeric_limits<uInt>::max();

class Inflater {
 public:
  Inflater(std::span<const std::byte> packed, const std::string& name)
      : rest_(packed), name_(name) {
    if (inflateInit2(&stream_, -MAX_WBITS) != Z_OK) throw std::bad_alloc();
  }
  ~Inflater() { inflateEnd(&stream_); }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;

  // How many bytes of `out` were filled: all, or those up to the end.
  std::size_t read(std::span<std::byte> out) {
    std::size_t done = 0;
    while (done < out.size() && !is_at_end_) {
      const std::size_t size = std::min(out.size() - done, kMostInflatedAtOnce);
      stream_.next_out = reinterpret_cast<Bytef*>(out.data() + done);
      stream_.avail_out = static_cast<uInt>(size);
      step();
      done += size - stream_.avail_out;
    }
    return done;
  }

  bool has_rest() const { return stream_.avail_in > 0 || !rest_.empty(); }

 private:
  void step() {
    if (stream_.avail_in == 0 && !rest_.empty()) {
      const std::size_t size = std::min(rest_.size(), kMostInflatedAtOnce);
      stream_.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(rest_.data()));
      stream_.avail_in = static_cast<uInt>(size);
      rest_ = rest_.subspan(size);
    }
    const int status = inflate(&stream_, Z_NO_FLUSH);
    if (status == Z_STREAM_END) {
      is_at_end_ = true;
    } else if (status == Z_MEM_ERROR) {
      throw std::bad_alloc();
    } else if (status == Z_BUF_ERROR) {
      throw Error("inflate", name_ + ": truncated deflate data", ErrorKind::input);
    } else if (status != Z_OK) {
      const char* why = stream_.msg != nullptr ? stream_.msg : "it asks for a dictionary";
      throw Error("inflate", name_ + ": broken deflate data: " + why, ErrorKind::input);
    }
  }

  std::span<const std::byte> rest_;
  const std::string& name_;
  z_stream stream_ = {};
  bool is_at_end_ = false;
};

}  // namespace

std::vector<std::byte> inflate_all(std::span<const std::byte> packed, std::size_t size,
                                   const std::string& name) {
  Inflater inflater(packed, name);
  std::vector<std::byte> data;
  try {
    data = read_promised(size, [&](std::span<std::byte> to) { return inflater.read(to); });
  } catch (const std::bad_alloc&) {
    throw Error("inflate", name + ": unpacked data", fmt::format("{} bytes", size),
                "what fits into memory", ErrorKind::memory);
  }
  if (data.size() < size) {
    throw Error("inflate", name + ": unpacked data", fmt::format("{} bytes", data.size()),
                fmt::format("{} bytes", size), ErrorKind::input);
  }
  std::byte extra{};
  if (inflater.read({&extra, 1}) != 0 || inflater.has_rest()) {
    throw Error("inflate", name + ": unpacked data", fmt::format("more than {} bytes", size),
                fmt::format("{} bytes", size), ErrorKind::input);
  }
  return data;
}

}  // namespace nibble::inline data
