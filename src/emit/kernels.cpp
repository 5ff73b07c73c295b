// SPDX-License-Identifier: Apache-2.0
// Which kernel stands on which, and the types in their names.
#include "emit/kernels.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "core/text_file.h"
#include "nibble/core/error.h"

namespace nibble::inline emit {

std::span<const EmbeddedText> emit_texts();  // made by nibble_embed_texts

namespace {

struct Kernel {
  std::string_view name;           // of the text
  std::string_view function = {};  // that others call, where the text defines one
  std::vector<std::string_view> needs = {};
};

// A kernel stands behind those it needs.
const std::vector<Kernel>& all_kernels() {
  static const std::vector<Kernel> list = {
      {"values"},
      {"rescale"},
      {"finish", "", {"rescale"}},
      {"finished", "", {"finish"}},
      {"pixel", "", {"values"}},
      {"finish_row", "", {"pixel", "finished"}},
      {"product", "", {"finish"}},
      {"halves"},
      {"dsp"},
      {"dot_s8", "", {"dsp"}},
      {"dot_s4", "", {"halves"}},
      {"outputs", "", {"product", "finish_row"}},
      {"linear", "net_linear_IN_WEIGHT_SUM", {"outputs"}},
      {"window"},
      {"conv2d_layer", "", {"window", "product"}},
      {"conv2d", "net_conv2d_IN_WEIGHT_SUM", {"conv2d_layer", "outputs"}},
      {"taps"},
      {"depthwise", "net_depthwise_IN_SUM", {"conv2d_layer", "taps", "finish_row"}},
      {"sum_pool", "net_sum_pool_SUM", {"window", "finish_row"}},
      {"max_pool", "net_max_pool", {"window", "values"}},
      {"add", "net_add_SUM", {"values", "finished"}},
      {"points", "net_points_SUM", {"values", "finished"}},
      {"box", "net_copy_box", {"values"}},
      {"fill", "net_fill", {"values"}},
      {"table", "net_table", {"values"}},
      {"softmax_table", "net_softmax_table", {"values"}},
      {"argmax", "net_argmax", {"values"}},
  };
  return list;
}

CWords words_of(const KernelTypes& types) {
  const bool is_packed = types.weight == "s4";
  const bool is_wide = types.sum == CType::s64;
  return {{"IN", std::string(short_name(types.in))},
          {"IN_t", std::string(c_name(types.in))},
          {"WEIGHT", std::string(types.weight)},
          {"WEIGHT_t", is_packed ? "uint8_t" : "int8_t"},
          {"SUM", std::string(short_name(types.sum))},
          {"SUM_t", std::string(c_name(types.sum))},
          {"SUM_magnitude_t", is_wide ? "uint64_t" : "uint32_t"},
          {"SUM_READ", is_wide ? "NET_READ_S64" : "NET_READ_S32"}};
}

}  // namespace

std::string_view kernel_text(std::string_view name) {
  const std::string mark = fmt::format("//@ {}\n", name);
  for (const EmbeddedText& each : emit_texts()) {
    if (const std::size_t at = each.text.find(mark); at != each.text.npos) {
      const std::string_view rest = each.text.substr(at + mark.size());
      return rest.substr(0, rest.find("\n//@ "));
    }
    if (each.name == name) return each.text;
  }
  throw Error("emit", fmt::format("no text '{}'", name));
}

std::string KernelSet::use(std::string_view name, const KernelTypes& types) {
  const std::vector<Kernel>& list = all_kernels();
  const auto kernel = std::ranges::find(list, name, &Kernel::name);
  for (const std::string_view need : kernel->needs) use(need, types);
  if (name == "outputs") use(types.weight == "s4" ? "dot_s4" : "dot_s8", types);
  const CWords words = words_of(types);
  used_.emplace(static_cast<std::size_t>(kernel - list.begin()),
                with_names(without_license(kernel_text(name)), "net", words));
  return with_names(kernel->function, "net", words);
}

std::string KernelSet::text(std::string_view prefix) const {
  std::string result;
  for (const auto& [place, text] : used_) result += fmt::format("\n{}", with_names(text, prefix));
  return result;
}

}  // namespace nibble::inline emit
