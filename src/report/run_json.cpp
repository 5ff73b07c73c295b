// SPDX-License-Identifier: Apache-2.0
// Reads settings.json and summary.json of a run.
#include "report/run_record.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/name.h"
#include "nibble/core/error.h"

namespace nibble::inline report {
namespace {

using Json = nlohmann::ordered_json;
namespace fs = std::filesystem;

constexpr int kDeepest = 64;                  // below, the tree is no one's settings
constexpr std::size_t kMostSettings = 10000;  // keys are searched for one by one
constexpr std::size_t kLongestName = 1000;    // bytes, with the names above it

[[noreturn]] void fail(const fs::path& path, std::string_view what, std::string_view got,
                       std::string_view expected) {
  throw Error("report", fmt::format("{}: {}", path.string(), what), got, expected,
              ErrorKind::input);
}

[[noreturn]] void fail_many(const fs::path& path, std::string_view what) {
  fail(path, what, fmt::format("over {}", kMostSettings), fmt::format("at most {}", kMostSettings));
}

Json parse_object(const fs::path& path, std::string_view text) {
  Json json;
  try {
    std::size_t keys = 0;
    const auto stop_early = [&](int depth, Json::parse_event_t event, Json&) {
      if (depth > kDeepest) fail(path, "depth", fmt::format("over {}", kDeepest), "a flat object");
      if (event == Json::parse_event_t::key && ++keys > kMostSettings) fail_many(path, "keys");
      return true;
    };
    json = Json::parse(text, stop_early);
  } catch (const Json::parse_error& error) {
    const auto end = text.begin() + static_cast<std::ptrdiff_t>(std::min(error.byte, text.size()));
    throw Error(
        "report", fmt::format("{} line {}", path.string(), 1 + std::count(text.begin(), end, '\n')),
        error.byte > text.size() ? "an early end" : "no JSON", "a JSON object", ErrorKind::input);
  } catch (const Json::out_of_range&) {
    fail(path, "content", "a number beyond all doubles", "numbers that can be");
  }
  if (!json.is_object()) fail(path, "content", json.type_name(), "object");
  return json;
}

std::string shown(const Json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_object()) {
    std::string text;
    for (const auto& [key, inner] : value.items()) {
      text += fmt::format("{}{}={}", text.empty() ? "" : " ", key, shown(inner));
    }
    return text;
  }
  if (value.is_array()) {
    std::string text;
    for (const Json& inner : value) {
      if (!text.empty()) text += ", ";
      text += shown(inner);
    }
    return text;
  }
  return value.dump();
}

using Settings = std::vector<std::pair<std::string, std::string>>;

void add_setting(const fs::path& path, const std::string& name, const Json& value,
                 Settings& settings) {
  if (name.size() > kLongestName) {
    fail(path, "name of a setting", fmt::format("{} bytes", name.size()),
         fmt::format("at most {}", kLongestName));
  }
  if (settings.size() == kMostSettings) fail_many(path, "settings");
  settings.emplace_back(name, shown(value));
}

// An entry of a list is one row, so that a policy stays readable.
void flatten(const fs::path& path, const std::string& prefix, const Json& value,
             Settings& settings) {
  const bool is_list = value.is_array() && std::ranges::any_of(value, &Json::is_structured);
  if (value.is_object()) {
    for (const auto& [key, inner] : value.items())
      flatten(path, prefix.empty() ? key : fmt::format("{}.{}", prefix, key), inner, settings);
  } else if (is_list) {
    for (std::size_t i = 0; i < value.size(); ++i)
      add_setting(path, fmt::format("{}.{}", prefix, i + 1), value[i], settings);
  } else {
    add_setting(path, prefix, value, settings);
  }
}

class Fields {
 public:
  Fields(const fs::path& path, std::string prefix, const Json& json)
      : path_(path), prefix_(std::move(prefix)), json_(json) {
    if (!json.is_object()) fail(path_, prefix_, json.type_name(), "object");
  }

  // Absent and null are absent; the words are what JSON cannot say.
  double number(const std::string& key) const {
    const auto found = json_.find(key);
    if (found == json_.end() || found->is_null()) return kAbsent;
    if (*found == "inf") return std::numeric_limits<double>::infinity();
    if (*found == "-inf") return -std::numeric_limits<double>::infinity();
    if (*found == "nan") return kAbsent;
    if (!found->is_number()) fail(path_, prefix_ + key, found->type_name(), "number");
    return found->get<double>();
  }

  double share(const std::string& key) const {
    const double value = number(key);
    if (value < 0 || value > 1) fail(path_, prefix_ + key, fmt::format("{}", value), "0 to 1");
    return value;
  }

  std::string word(const std::string& key) const {
    const auto found = json_.find(key);
    if (found == json_.end() || found->is_null()) return "";
    return shown(*found);
  }

  const Json* find(const std::string& key) const {
    const auto found = json_.find(key);
    return found == json_.end() || found->is_null() ? nullptr : &*found;
  }

  // Text of an array's entries, numbers of a square table.
  std::vector<std::string> words(const std::string& key) const {
    const Json* array = find(key);
    if (array == nullptr) return {};
    if (!array->is_array()) fail(path_, prefix_ + key, array->type_name(), "array");
    std::vector<std::string> list;
    for (const Json& each : *array) list.push_back(shown(each));
    return list;
  }

  std::vector<std::vector<double>> square(const std::string& key) const {
    const Json* table = find(key);
    if (table == nullptr) return {};
    if (!table->is_array()) fail(path_, prefix_ + key, table->type_name(), "array");
    std::vector<std::vector<double>> rows;
    for (const Json& row : *table) {
      const std::string place = fmt::format("{}{} row {}", prefix_, key, rows.size() + 1);
      if (!row.is_array()) fail(path_, place, row.type_name(), "array");
      if (row.size() != table->size()) {
        fail(path_, place, fmt::format("{} counts", row.size()), fmt::format("{}", table->size()));
      }
      rows.emplace_back();
      for (const Json& count : row) {
        if (!count.is_number() || count.get<double>() < 0) {
          fail(path_, place, shortened(count.dump(), 40), "counts");
        }
        rows.back().push_back(count.get<double>());
      }
    }
    return rows;
  }

 private:
  const fs::path& path_;
  std::string prefix_;
  const Json& json_;
};

std::optional<EvaluationRecord> evaluation(const fs::path& path, const Fields& summary,
                                           const std::string& key) {
  const Json* json = summary.find(key);
  if (json == nullptr) return std::nullopt;
  const Fields fields(path, key + ".", *json);
  EvaluationRecord record = {.images = fields.number("images"),
                             .correct = fields.number("correct"),
                             .top1 = fields.share("top1"),
                             .top5 = fields.share("top5"),
                             .loss = fields.number("loss"),
                             .confusion = fields.square("confusion"),
                             .class_names = fields.words("class_names")};
  if (!record.confusion.empty() && !record.class_names.empty() &&
      record.confusion.size() != record.class_names.size()) {
    fail(path, key + ".class_names", fmt::format("{} names", record.class_names.size()),
         fmt::format("{}, the rows of the confusion matrix", record.confusion.size()));
  }
  return record;
}

}  // namespace

void read_settings(const fs::path& path, std::string_view text, RunRecord& run) {
  Json json = parse_object(path, text);
  if (const auto started = json.find("started"); started != json.end()) {
    run.started = shown(*started);
    json.erase(started);
  }
  flatten(path, "", json, run.settings);
}

SummaryRecord read_summary(const fs::path& path, std::string_view text) {
  const Json json = parse_object(path, text);
  const Fields fields(path, "", json);
  SummaryRecord record = {.epochs = fields.number("epochs"),
                          .steps = fields.number("steps"),
                          .seconds = fields.number("seconds"),
                          .peak_memory_mib = fields.number("peak_memory_mib"),
                          .weights_hash = fields.word("weights_hash"),
                          .test = evaluation(path, fields, "test"),
                          .val = evaluation(path, fields, "val")};
  if (const Json* best = fields.find("best")) {
    const Fields of_best(path, "best.", *best);
    record.best_epoch = of_best.number("epoch");
    record.best_val_top1 = of_best.share("val_top1");
  }
  return record;
}

}  // namespace nibble::inline report
