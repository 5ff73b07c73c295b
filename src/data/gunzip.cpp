// SPDX-License-Identifier: Apache-2.0
// zlib behind the interface of Gunzip.
#include "data/gunzip.h"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <new>

#include "nibble/core/error.h"
#include "nibble/core/limits.h"

namespace nibble::inline data {
namespace {

constexpr int kGzipOnly = 16 + MAX_WBITS;
constexpr std::size_t kMostAtOnce = std::numeric_limits<uInt>::max();

}  // namespace

struct Gunzip::State {
  std::span<const std::byte> rest;
  std::string name;
  z_stream stream = {};
  bool is_at_end = false;  // of the last member
  std::size_t most = 0;    // bytes of all that is unpacked
  std::size_t given = 0;

  // Gives zlib what is left, as much as its counter holds.
  void feed() {
    const std::size_t size = std::min(rest.size(), kMostAtOnce);
    // zlib does not write to its input; the field is not const for old times' sake.
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(rest.data()));
    stream.avail_in = static_cast<uInt>(size);
    rest = rest.subspan(size);
  }

  void step() {
    if (stream.avail_in == 0 && !rest.empty()) feed();
    const int status = inflate(&stream, Z_NO_FLUSH);
    if (status == Z_STREAM_END) {
      if (stream.avail_in == 0 && rest.empty())
        is_at_end = true;
      else
        inflateReset(&stream);  // another member must follow
    } else if (status == Z_MEM_ERROR) {
      throw std::bad_alloc();
    } else if (status == Z_BUF_ERROR) {
      throw Error("gunzip", name + ": truncated gzip data", ErrorKind::input);
    } else if (status != Z_OK) {
      const char* why = stream.msg != nullptr ? stream.msg : "it asks for a dictionary";
      throw Error("gunzip", name + ": broken gzip data: " + why, ErrorKind::input);
    }
  }
};

Gunzip::Gunzip(std::span<const std::byte> bytes, const std::string& name)
    : state_(std::make_unique<State>()) {
  state_->rest = bytes;
  state_->name = name;
  state_->most = static_cast<std::size_t>(most_inflated(static_cast<std::int64_t>(bytes.size())));
  if (inflateInit2(&state_->stream, kGzipOnly) != Z_OK) throw std::bad_alloc();
}

Gunzip::~Gunzip() {
  inflateEnd(&state_->stream);
}

std::size_t Gunzip::read(std::span<std::byte> out) {
  z_stream& stream = state_->stream;
  std::size_t done = 0;
  while (done < out.size() && !state_->is_at_end) {
    const std::size_t size = std::min(out.size() - done, kMostAtOnce);
    stream.next_out = reinterpret_cast<Bytef*>(out.data() + done);
    stream.avail_out = static_cast<uInt>(size);
    state_->step();
    done += size - stream.avail_out;
    if (state_->given + done > state_->most) {
      throw Error("gunzip", state_->name + ": unpacked data",
                  fmt::format("more than {} bytes", state_->most),
                  at_most("inflation", static_cast<std::int64_t>(state_->most)), ErrorKind::limit);
    }
  }
  state_->given += done;
  return done;
}

std::size_t Gunzip::most() const {
  return state_->most;
}

}  // namespace nibble::inline data
