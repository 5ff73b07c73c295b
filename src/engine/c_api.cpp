// SPDX-License-Identifier: Apache-2.0
// The C functions over Engine: exceptions become a line of text in the calling thread.
#include <algorithm>
#include <cstring>
#include <exception>
#include <string_view>

#include "nibble.h"
#include "nibble/core/error.h"
#include "nibble/core/limits.h"
#include "nibble/engine/engine.h"
#include "nibble/version.h"

struct nibble_engine {
  nibble::Engine engine;
  nibble_value input;
  nibble_value output;
};

namespace {

constexpr std::size_t kMostText = 4096;
thread_local char last_error[kMostText];  // no allocation: memory may be what was missing

void keep_error(std::string_view text) noexcept {
  const std::size_t length = std::min(text.size(), kMostText - 1);
  std::memcpy(last_error, text.data(), length);
  last_error[length] = '\0';
}

// Whether the body ended without an exception.
template <class Body>
bool succeeds(const Body& body) noexcept {
  try {
    body();
    return true;
  } catch (const std::exception& error) {
    keep_error(error.what());
  } catch (...) {
    keep_error("[nibble] unknown failure");
  }
  return false;
}

nibble_value value_of(const nibble::ValueInfo& info) {
  return {.name = info.name.c_str(),
          .type = info.dtype == nibble::DType::i8   ? NIBBLE_INT8
                  : info.dtype == nibble::DType::u8 ? NIBBLE_UINT8
                                                    : NIBBLE_INT32,
          .rank = static_cast<std::int32_t>(info.shape.rank()),
          .shape = info.shape.extents().data(),
          .elements = info.shape.elements(),
          .bytes = info.bytes,
          .low = info.low,
          .high = info.high,
          .zero = info.zero};
}

std::size_t bytes_of(const nibble_value& value, std::int64_t batch) {
  if (batch < 1 || static_cast<std::uint64_t>(batch) > SIZE_MAX / value.bytes)
    throw nibble::Error("engine", "batch", std::to_string(batch), "1 or more that fit in memory");
  return static_cast<std::size_t>(batch) * value.bytes;
}

void check_pointer(const void* pointer, std::string_view what) {
  if (pointer == nullptr) throw nibble::Error("engine", what, "a null pointer", "memory");
}

}  // namespace

extern "C" {

nibble_engine* nibble_load(const char* path, std::int64_t max_batch, int threads) {
  return nibble_load_on("cpu", path, max_batch, threads);
}

nibble_engine* nibble_load_on(const char* device, const char* path, std::int64_t max_batch,
                              int threads) {
  nibble_engine* result = nullptr;
  succeeds([&] {
    check_pointer(device, "device");
    check_pointer(path, "path");
    nibble::Engine engine =
        nibble::Engine::load(path, {.device = device, .max_batch = max_batch, .threads = threads});
    result = new nibble_engine{.engine = std::move(engine), .input = {}, .output = {}};
    result->input = value_of(result->engine.input());
    result->output = value_of(result->engine.output());
  });
  return result;
}

int nibble_set_limits(const char* text) {
  const bool is_done = succeeds([&] {
    const bool is_named = text != nullptr && *text != '\0';
    nibble::set_limits(is_named ? nibble::parse_limits(text, nibble::limits()) : nibble::Limits{});
  });
  return is_done ? 0 : -1;
}

void nibble_free(nibble_engine* engine) {
  delete engine;
}

const char* nibble_name(const nibble_engine* engine) {
  return engine == nullptr ? nullptr : engine->engine.name().c_str();
}
const nibble_value* nibble_input(const nibble_engine* engine) {
  return engine == nullptr ? nullptr : &engine->input;
}
const nibble_value* nibble_output(const nibble_engine* engine) {
  return engine == nullptr ? nullptr : &engine->output;
}
std::size_t nibble_weight_bytes(const nibble_engine* engine) {
  return engine == nullptr ? 0 : engine->engine.weight_bytes();
}
std::size_t nibble_arena_bytes(const nibble_engine* engine) {
  return engine == nullptr ? 0 : engine->engine.arena_bytes();
}

int nibble_run(const nibble_engine* engine, const void* input, std::int64_t batch, void* output) {
  const bool is_done = succeeds([&] {
    check_pointer(engine, "engine");
    check_pointer(input, "input");
    check_pointer(output, "output");
    engine->engine.run({static_cast<const std::byte*>(input), bytes_of(engine->input, batch)},
                       batch, {static_cast<std::byte*>(output), bytes_of(engine->output, batch)});
  });
  return is_done ? 0 : -1;
}

const char* nibble_last_error(void) {
  return last_error;
}

const char* nibble_version(void) {
  return nibble::kVersion;
}

}  // extern "C"
