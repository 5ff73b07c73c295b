// SPDX-License-Identifier: Apache-2.0
// Devices by name.
#include "engine/runner.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <vector>

#include "core/device_name.h"
#include "nibble/core/error.h"

namespace nibble::inline engine {
namespace {

std::map<std::string, Compiler>& added_devices() {
  static std::map<std::string, Compiler> devices;
  return devices;
}

Compiler compiler_of(const DeviceName& device) {
  if (device.kind == "cpu") return make_cpu_runner;
  if (device.kind == "reference") return make_reference_runner;
  const auto found = added_devices().find(device.kind);
  if (found == added_devices().end())
    throw Error("device", device.kind, "a build without its engine", "cpu", ErrorKind::device);
  return found->second;
}

std::unique_ptr<EngineRunner> compile_on(const DeviceName& device, const EngineProgram& program,
                                         EngineOptions options) {
  options.device = device.to_string();
  if (device.both.empty()) return compiler_of(device)(program, options);
  const auto named = [&](const DeviceName& one) {
    return NamedRunner{one.to_string(), compile_on(one, program, options)};
  };
  return make_check_runner(program, named(device.both[0]), named(device.both[1]));
}

}  // namespace

const TuningFile& EngineRunner::tuning() const {
  static const TuningFile none;
  return none;
}

void EngineRunner::run_apart(ExamplesApart examples, std::size_t bytes,
                             std::span<std::byte> output) const {
  thread_local std::vector<std::byte> together;  // grows to the largest batch
  together.resize(std::max(together.size(), examples.size() * bytes));
  for (std::size_t i = 0; i < examples.size(); ++i)
    std::copy_n(examples[i], bytes, together.data() + i * bytes);
  run(std::span(together).first(examples.size() * bytes),
      static_cast<std::int64_t>(examples.size()), output);
}

std::unique_ptr<RunQueue> EngineRunner::make_queue(int lanes, RunFunction run) const {
  return make_thread_queue(lanes, std::move(run));
}

void EngineRunner::run_timed(std::span<const std::byte> input, std::int64_t batch,
                             std::span<std::byte> output, std::span<double> seconds) const {
  using Clock = std::chrono::steady_clock;
  auto last = Clock::now();
  std::size_t step = 0;
  run_watched(input, batch, output, [&](std::size_t value, const ResultReader&) {
    if (value == 0) {  // a piece begins
      step = 0;
      return;
    }
    const auto now = Clock::now();
    seconds[step++] += std::chrono::duration<double>(now - last).count();
    last = now;
  });
}

EngineBuffer EngineRunner::allocate(std::size_t bytes, BufferPlace /*place*/) const {
  return {
      std::shared_ptr<std::byte>(new std::byte[bytes], std::default_delete<std::byte[]>()), bytes,
      [](std::byte* to, const std::byte* from, std::size_t size) { std::copy_n(from, size, to); }};
}

void check_device(const std::string& name) {
  const DeviceName device = parse_device(name);
  if (device.both.empty()) (void)compiler_of(device);
  for (const DeviceName& one : device.both) (void)compiler_of(one);
}

std::unique_ptr<EngineRunner> compile(const EngineProgram& program, const EngineOptions& options) {
  return compile_on(parse_device(options.device), program, options);
}

void add_engine_device(std::string kind, Compiler compiler) {
  add_device_kind(kind);
  added_devices()[std::move(kind)] = compiler;
}

}  // namespace nibble::inline engine
