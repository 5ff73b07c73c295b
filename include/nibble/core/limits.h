// SPDX-License-Identifier: Apache-2.0
// What a file may ask for, so that a small one from a stranger cannot cost hours or all memory.
// Every reader looks at the limits in force; docs/limits.md explains each of them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace nibble::inline core {

// The defaults are far above what any real network needs.
struct Limits {
  std::int64_t memory = std::int64_t{64} << 30;   // bytes: a file, all weights as fp32, an engine
  std::int64_t values = std::int64_t{1} << 28;    // numbers in one value of one example
  std::int64_t macs = std::int64_t{1} << 42;      // of one example; without products: numbers read
  std::int64_t geometry = std::int64_t{1} << 16;  // kernel, stride, padding, dilation, border
  std::int64_t nodes = std::int64_t{1} << 16;     // of a network
  std::int64_t name = 240;                        // bytes of one name; with .npy that of a file
  std::int64_t inflation = 100;  // times its packed size that data may have; 64 MiB always may
  bool operator==(const Limits&) const = default;
};

// "memory=128G,macs=10000000000000": the limits named, the others as in `others`. K, M, G and T
// after a number are powers of 1024.
Limits parse_limits(std::string_view text, const Limits& others = {});

// All of them in the form that parse_limits reads.
std::string to_string(const Limits& limits);

// Those in force: of the scope that this thread is in, else of the process.
Limits limits();
void set_limits(const Limits& limits);  // of the process

// While it lives, these are the limits in its thread; none: no change.
class LimitsScope {
 public:
  explicit LimitsScope(const std::optional<Limits>& limits);
  ~LimitsScope();
  LimitsScope(const LimitsScope&) = delete;
  LimitsScope& operator=(const LimitsScope&) = delete;

 private:
  std::optional<Limits> before_;
};

// "at most 268435456 (limit 'values': --limits values=… raises it)", for an error's last part.
std::string at_most(std::string_view limit, std::int64_t most);

// Throws "[op] what: got N, expected at most …" where the limit of that name is below `got`.
void check_limit(std::string_view limit, std::int64_t got, std::string_view op,
                 std::string_view what);

// How many bytes data of that packed size may become.
std::int64_t most_inflated(std::int64_t packed);

}  // namespace nibble::inline core
