// SPDX-License-Identifier: Apache-2.0
// The C functions over Engine: exceptions become a line of text in the calling thread.
#include <algorithm>
#include <cstring>
#include <exception>
#include <string>
#include <string_view>
#include <utility>

#include "engine/given_memory.h"
#include "nibble.h"
#include "nibble/core/error.h"
#include "nibble/core/limits.h"
#include "nibble/engine/engine.h"
#include "nibble/version.h"

struct nibble_engine {
  nibble::GivenMemory memory;  // goes last: the engine waits for runs that use it
  nibble::Engine engine;
  nibble_value input;
  nibble_value output;
};

namespace {

constexpr std::size_t kMostText = 4096;
constexpr const char* kUnknownFailure = "[nibble] unknown failure";
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
    keep_error(kUnknownFailure);
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

// What was thrown, for as long as the call takes.
void tell(nibble_done done, void* context, const std::exception_ptr& error) noexcept {
  if (!error) return done(context, nullptr);
  try {
    std::rethrow_exception(error);
  } catch (const std::exception& thrown) {
    done(context, thrown.what());
  } catch (...) {
    done(context, kUnknownFailure);
  }
}

void check_pointer(const void* pointer, std::string_view what) {
  if (pointer == nullptr) throw nibble::Error("engine", what, "a null pointer", "memory");
}

nibble_engine* load(const char* path, const nibble::EngineOptions& options) {
  check_pointer(path, "path");
  nibble::Engine engine = nibble::Engine::load(path, options);
  auto* result = new nibble_engine{{}, std::move(engine), {}, {}};
  result->input = value_of(result->engine.input());
  result->output = value_of(result->engine.output());
  return result;
}

// 0 and NULL stand for what is usual.
nibble::EngineOptions options_of(const nibble_options* given) {
  nibble::EngineOptions options;
  if (given == nullptr) return options;
  if (given->bytes != sizeof *given)  // only one version has been there so far
    throw nibble::Error("engine", "options.bytes", std::to_string(given->bytes),
                        "sizeof(nibble_options)");
  if (given->device != nullptr) options.device = given->device;
  if (given->max_batch != 0) options.max_batch = given->max_batch;
  if (given->threads != 0) options.threads = given->threads;
  if (given->lanes != 0) options.lanes = given->lanes;
  return options;
}

// The memory of a run, as the engine takes it.
struct Batch {
  Batch(const nibble_engine* engine, const void* in, std::int64_t batch, void* out) {
    check_pointer(engine, "engine");
    check_pointer(in, "input");
    check_pointer(out, "output");
    input = {static_cast<const std::byte*>(in), bytes_of(engine->input, batch)};
    output = {static_cast<std::byte*>(out), bytes_of(engine->output, batch)};
  }
  std::span<const std::byte> input;
  std::span<std::byte> output;
};

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
    result = load(path, {.device = device, .max_batch = max_batch, .threads = threads});
  });
  return result;
}

nibble_engine* nibble_load_with(const char* path, const nibble_options* options) {
  nibble_engine* result = nullptr;
  succeeds([&] { result = load(path, options_of(options)); });
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
    const Batch memory(engine, input, batch, output);
    engine->engine.run(memory.input, batch, memory.output);
  });
  return is_done ? 0 : -1;
}

void* nibble_allocate(nibble_engine* engine, std::size_t bytes, int place) {
  void* result = nullptr;
  succeeds([&] {
    check_pointer(engine, "engine");
    if (bytes == 0) throw nibble::Error("engine", "bytes", "0", "1 or more");
    if (place != NIBBLE_HOST && place != NIBBLE_DEVICE)
      throw nibble::Error("engine", "place", std::to_string(place), "NIBBLE_HOST or NIBBLE_DEVICE");
    result = engine->memory.give(engine->engine.allocate(
        bytes, place == NIBBLE_HOST ? nibble::BufferPlace::host : nibble::BufferPlace::device));
  });
  return result;
}

int nibble_release(nibble_engine* engine, void* memory) {
  const bool is_done = succeeds([&] {
    check_pointer(engine, "engine");
    if (memory != nullptr) engine->memory.take_back(memory);
  });
  return is_done ? 0 : -1;
}

int nibble_copy(const nibble_engine* engine, void* to, const void* from, std::size_t bytes) {
  const bool is_done = succeeds([&] {
    check_pointer(engine, "engine");
    check_pointer(to, "to");
    check_pointer(from, "from");
    engine->memory.copy(static_cast<std::byte*>(to), static_cast<const std::byte*>(from), bytes);
  });
  return is_done ? 0 : -1;
}

int nibble_submit(const nibble_engine* engine, const void* input, std::int64_t batch, void* output,
                  nibble_done done, void* context) {
  const bool is_done = succeeds([&] {
    const Batch memory(engine, input, batch, output);
    if (done == nullptr) throw nibble::Error("engine", "done", "a null pointer", "a function");
    engine->engine.submit(
        memory.input, batch, memory.output,
        [done, context](const std::exception_ptr& error) { tell(done, context, error); });
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
