// SPDX-License-Identifier: Apache-2.0
// Fills the placeholders.
#include "emit/emitted_parts.h"

#include <fmt/format.h>

namespace nibble::inline emit {
namespace {

// In main, after the vectors.
constexpr const char* kTrainCheck =
    "  {\n"
    "    const int32_t different = net_train_check();\n"
    "    printf(\"%ld hashes of trained weights differ\\n\", (long)different);\n"
    "    wrong += different;\n"
    "  }\n";

constexpr const char* kFromBytes =
    "// NET_INPUT_SIZE bytes of a picture as the numbers that the network takes; in net_bytes.c.\n"
    "void net_from_bytes(const uint8_t *bytes, net_input_t *input);\n\n";

std::string reader_of(CType type) {
  return "NET_READ_" + upper_case(short_name(type));
}

std::string ctypes_name(CType type) {
  const std::string_view c = c_name(type);
  return fmt::format("ctypes.c_{}", c.substr(0, c.size() - 2));  // without _t
}

std::string range_words(const EmittedParts& parts, std::size_t node) {
  const Interval& range = parts.view.bounds[node].value;
  const std::int64_t zero = parts.plan.storage[node].zero;
  if (zero == 0) return fmt::format("{} to {}", range.low, range.high);
  return fmt::format("{} to {}: an integer of the network + {}", range.low + zero,
                     range.high + zero, zero);
}

// Files, which Makefile and CMakeLists.txt name.
void add_files(CWords& words, const EmittedParts& parts, const EmitSettings& settings) {
  std::string sources = "net.c net_parameters.c";
  std::string tests = "net_check.c net_vectors.c";
  if (parts.bytes) sources += " net_bytes.c";
  if (settings.has_training) {
    sources += " net_train.c net_train_start.c";
    tests += " net_train_check.c net_train_vectors.c";
  }
  words["WORDS_SOURCES"] = sources;
  words["WORDS_TESTS"] = tests;
  words["TEXT_TRAIN_INCLUDE"] = settings.has_training ? "#include \"net_train.h\"\n" : "";
  words["TEXT_TRAIN_CHECK"] = settings.has_training ? kTrainCheck : "";
  words["TEXT_TRAINING"] = settings.has_training ? kernel_text("train_readme.md") : "";
}

// Bytes of pictures: the table, where they are not what the network takes.
void add_bytes(CWords& words, const EmittedParts& parts) {
  const bool is_alike = parts.bytes && parts.bytes->numbers.size() == kTableEntries;
  const std::int64_t channels = parts.view.picture(0).channels;
  words["TEXT_FROM_BYTES"] = parts.bytes ? kFromBytes : "";
  words["TEXT_TABLE"] = parts.bytes ? "static " + definition_of(*parts.bytes) : "";
  words["TEXT_CHANNEL"] = is_alike ? "0" : fmt::format("i % {} * 256", channels);
  words["VALUE_TAKES_BYTES"] = parts.bytes ? "False" : "True";
}

void add_readme(CWords& words, const EmittedParts& parts) {
  words["TEXT_FIGURES"] = figures_table(parts);
  words["TEXT_PLAN"] = parts.figures().plan;
  words["TEXT_CERTIFICATE"] = certificate_table(parts);
  words["TEXT_INPUT"] = input_words(parts);
}

}  // namespace

CWords folder_words(const EmittedParts& parts, const EmitSettings& settings, std::int64_t vectors) {
  const NetworkView& view = parts.view;
  const EmitPlan& plan = parts.plan;
  const CType in = plan.storage[0].type;
  const CType out = plan.storage[view.output()].type;
  const auto number = [](auto n) { return std::to_string(n); };
  CWords words = {
      {"WORDS_TITLE", fmt::format("The network {} in integers.", view.model.network.name)},
      {"VALUE_ARENA_BYTES", number(plan.arena_bytes)},
      {"VALUE_ARENA_ALIGNMENT", number(kArenaAlignment)},
      {"VALUE_INPUT_SIZE", number(view.shapes[0].elements())},
      {"VALUE_INPUT_SHAPE", view.shapes[0].to_string()},
      {"VALUE_OUTPUT_SIZE", number(view.shapes[view.output()].elements())},
      {"VALUE_OUTPUT_SHAPE", view.shapes[view.output()].to_string()},
      {"VALUE_OUTPUT_OFFSET", number(plan.pieces[plan.piece[view.output()]].offset)},
      {"VALUE_DSP", settings.uses_dsp ? "1" : "0"},
      {"VALUE_BATCH", number(settings.batch)},
      {"VALUE_VECTORS", number(vectors)},
      {"TYPE_INPUT", std::string(c_name(in))},
      {"TYPE_OUTPUT", std::string(c_name(out))},
      {"CTYPES_INPUT", ctypes_name(in)},
      {"CTYPES_OUTPUT", ctypes_name(out)},
      {"NET_TYPE_OUTPUT", "NET_" + upper_case(short_name(out))},
      {"READ_INPUT", reader_of(in)},
      {"READ_OUTPUT", reader_of(out)},
      {"WORDS_INPUT", range_words(parts, 0)},
      {"WORDS_OUTPUT", range_words(parts, view.output())},
      {"TEXT_LAYERS", parts.layers},
      {"TEXT_CALLS", parts.calls},
      {"TEXT_CLASS",
       parts.gives_class() ? "net_get(&numbers, 0)" : "net_argmax(&numbers, NET_OUTPUT_SIZE)"}};
  add_files(words, parts, settings);
  add_bytes(words, parts);
  add_readme(words, parts);
  return words;
}

}  // namespace nibble::inline emit
