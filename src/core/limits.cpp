// SPDX-License-Identifier: Apache-2.0
// Reads limits as text and keeps those in force.
#include "nibble/core/limits.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <mutex>

#include "nibble/core/error.h"

namespace nibble::inline core {
namespace {

constexpr std::int64_t kFreeInflation = std::int64_t{64} << 20;  // bytes

struct LimitKey {
  std::string_view name;
  std::int64_t Limits::*member;
  std::int64_t most;  // sums over a network of such sizes stay below 2^63
};

constexpr std::array<LimitKey, 7> kLimitKeys = {{
    {"memory", &Limits::memory, std::int64_t{1} << 50},
    {"values", &Limits::values, std::int64_t{1} << 36},
    {"macs", &Limits::macs, std::int64_t{1} << 60},
    {"geometry", &Limits::geometry, (std::int64_t{1} << 31) - 1},
    {"nodes", &Limits::nodes, std::int64_t{1} << 22},
    {"name", &Limits::name, std::int64_t{1} << 16},
    {"inflation", &Limits::inflation, std::int64_t{1} << 30},
}};

const LimitKey& limit_key(std::string_view name) {
  for (const LimitKey& key : kLimitKeys) {
    if (key.name == name) return key;
  }
  std::string known;
  for (const LimitKey& key : kLimitKeys) {
    known += known.empty() ? "" : ", ";
    known += key.name;
  }
  throw Error("limits", "limit", fmt::format("'{}'", name), "one of " + known);
}

std::int64_t limit_number(const LimitKey& key, std::string_view text) {
  const auto fail = [&] {
    throw Error("limits", std::string(key.name), fmt::format("'{}'", text),
                fmt::format("1 to {}, K, M, G or T behind it", key.most));
  };
  constexpr std::string_view kUnits = "KMGT";
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  std::string_view unit(end, static_cast<std::size_t>(text.data() + text.size() - end));
  if (error != std::errc{} || number < 1 || unit.size() > 1) fail();
  if (!unit.empty()) {
    const std::size_t place = kUnits.find(unit.front());
    if (place == std::string_view::npos || number > key.most >> (10 * (place + 1))) fail();
    number <<= 10 * (place + 1);
  }
  if (number > key.most) fail();
  return number;
}

std::mutex process_mutex;
Limits process_limits;                         // guarded by it
thread_local std::optional<Limits> of_thread;  // of the innermost scope

}  // namespace

Limits parse_limits(std::string_view text, const Limits& others) {
  Limits result = others;
  while (!text.empty()) {
    const std::size_t comma = std::min(text.find(','), text.size());
    const std::string_view item = text.substr(0, comma);
    text.remove_prefix(std::min(comma + 1, text.size()));
    const std::size_t equals = item.find('=');
    if (equals == std::string_view::npos) {
      throw Error("limits", "item", fmt::format("'{}'", item), "name=number");
    }
    const LimitKey& key = limit_key(item.substr(0, equals));
    result.*key.member = limit_number(key, item.substr(equals + 1));
  }
  return result;
}

std::string to_string(const Limits& limits) {
  std::string text;
  for (const LimitKey& key : kLimitKeys) {
    text += fmt::format("{}{}={}", text.empty() ? "" : ",", key.name, limits.*key.member);
  }
  return text;
}

Limits limits() {
  if (of_thread) return *of_thread;
  const std::lock_guard lock(process_mutex);
  return process_limits;
}

void set_limits(const Limits& limits) {
  const std::lock_guard lock(process_mutex);
  process_limits = limits;
}

LimitsScope::LimitsScope(const std::optional<Limits>& limits) : before_(of_thread) {
  if (limits) of_thread = limits;
}

LimitsScope::~LimitsScope() {
  of_thread = before_;
}

std::string at_most(std::string_view limit, std::int64_t most) {
  return fmt::format("at most {} (limit '{}': --limits {}=… raises it)", most, limit, limit);
}

void check_limit(std::string_view limit, std::int64_t got, std::string_view op,
                 std::string_view what) {
  const std::int64_t most = limits().*limit_key(limit).member;
  if (got > most)
    throw Error(op, what, std::to_string(got), at_most(limit, most), ErrorKind::limit);
}

std::int64_t most_inflated(std::int64_t packed) {
  const std::int64_t times = limits().inflation;
  return std::max(kFreeInflation, packed > INT64_MAX / times ? INT64_MAX : packed * times);
}

}  // namespace nibble::inline core
