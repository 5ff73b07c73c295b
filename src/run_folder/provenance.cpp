// SPDX-License-Identifier: Apache-2.0
// Where a result comes from, as JSON.
#include "run_folder/provenance.h"

#include <fmt/format.h>

#include <cmath>
#include <ctime>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "nibble/core/error.h"
#include "nibble/version.h"
#include "run_folder/commit.h"

#ifndef NIBBLE_BUILD_TYPE
#define NIBBLE_BUILD_TYPE "unknown"
#endif

namespace nibble::inline run_folder {
namespace {

using Json = nlohmann::ordered_json;

std::string quoted_for_shell(std::string_view argument) {
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./=:,+@%";
  if (!argument.empty() && argument.find_first_not_of(kPlain) == std::string_view::npos) {
    return std::string(argument);
  }
  std::string quoted = "'";
  for (const char c : argument) {
    if (c == '\'')
      quoted += "'\\''";
    else
      quoted += c;
  }
  return quoted + "'";
}

Json json_of(const Provenance& p) {
  const Machine& m = p.machine;
  return {{"nibble", p.version},
          {"commit", p.commit},
          {"command", p.command},
          {"started", p.started},
          {"machine",
           {{"cpu", m.cpu},
            {"cores", m.cores},
            {"threads", m.threads},
            {"isa", m.isa},
            {"memory_gib", std::round(m.memory_gib * 10) / 10},
            {"os", m.os}}}};
}

// Bytes of a command line that are no UTF-8 become U+FFFD.
std::string text_of(const Json& json, int indent) {
  return json.dump(indent, ' ', false, Json::error_handler_t::replace);
}

}  // namespace

std::string_view build_commit() {
  return kCommit;
}

std::string_view build_type() {
  return NIBBLE_BUILD_TYPE;
}

std::string build_identity() {
  return fmt::format("nibble {} {} {}", kVersion, build_commit(), build_type());
}

std::string command_line() {
  std::ifstream in("/proc/self/cmdline", std::ios::binary);
  const std::string all{std::istreambuf_iterator<char>(in), {}};
  std::string text;
  for (std::size_t begin = 0; begin < all.size();) {
    const std::size_t end = std::min(all.find('\0', begin), all.size());
    if (begin > 0) text += ' ';
    text += quoted_for_shell(std::string_view(all).substr(begin, end - begin));
    begin = end + 1;
  }
  return text;
}

std::string iso_time_now() {
  const std::time_t now = std::time(nullptr);
  std::tm utc = {};
  ::gmtime_r(&now, &utc);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}Z", utc.tm_year + 1900, utc.tm_mon + 1,
                     utc.tm_mday, utc.tm_hour, utc.tm_min, utc.tm_sec);
}

Provenance this_run() {
  return {.version = kVersion,
          .commit = std::string(build_commit()),
          .command = command_line(),
          .started = iso_time_now(),
          .machine = this_machine()};
}

std::string to_json(const Provenance& provenance) {
  return text_of(json_of(provenance), -1);
}

std::string settings_json(const Provenance& provenance, std::string_view settings) {
  const Json more = Json::parse(settings, nullptr, false);
  if (!more.is_object()) {
    throw Error("settings_json", "settings", more.is_discarded() ? "text that is no JSON" : "JSON",
                "a JSON object");
  }
  Json all = json_of(provenance);
  for (const auto& [key, value] : more.items()) all[key] = value;
  return text_of(all, 2) + "\n";
}

}  // namespace nibble::inline run_folder
