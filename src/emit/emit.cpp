// SPDX-License-Identifier: Apache-2.0
// Puts the files of an emitted network together.
#include "nibble/emit/emit.h"

#include <fmt/format.h>

#include <algorithm>

#include "emit/emitted_parts.h"
#include "graph/integer_form.h"
#include "graph/node_error.h"
#include "nibble/core/error.h"

namespace nibble::inline emit {
namespace {

Model checked_form(const Model& model, const EmitSettings& settings) {
  if (!is_c_identifier(settings.prefix))
    throw Error("emit", "prefix", in_quotes(settings.prefix), "a C identifier");
  if (settings.batch < 1) throw Error("emit", "batch", std::to_string(settings.batch), "1 or more");
  Model form = integer_form(copy_of(model));
  if (form.network.nodes.size() < 2) throw Error("emit", "layers", "none", "one or more");
  return form;
}

class Folder {
 public:
  Folder(const EmittedParts& parts, const EmitSettings& settings, const TestVectors& vectors)
      : parts_(parts),
        prefix_(settings.prefix),
        vectors_(vectors),
        words_(folder_words(parts, settings, vectors.count)) {}

  std::vector<EmittedFile> files() {
    add_text("net_kernels.h",
             fmt::format("// The kernels that this network uses.\n#ifndef NET_KERNELS_H\n#define "
                         "NET_KERNELS_H\n\n#include \"net_target.h\"\n{}\n#endif\n",
                         parts_.kernels.text("net")));
    add_constants("parameters", parts_.parameters);
    add_constants("vectors", vector_arrays());
    for (const char* name : {"target.h", "check.h", "check.c", "main.c", "memory.c"})
      add_file(fmt::format("net_{}", name), name);
    if (parts_.bytes) add_file("net_bytes.c", "bytes.c");
    for (const char* name : {"net.h", "net.c", "net.py", "Makefile", "CMakeLists.txt", "README.md"})
      add_file(name, name);
    return std::move(files_);
  }

 private:
  // The file `name` from a text of src/emit/folder.
  void add_file(std::string_view name, std::string_view text) {
    add_text(name, with_names(without_license(kernel_text(text)), "net", words_));
  }
  void add_text(std::string_view name, std::string_view text) {
    const CWords names = {{"net", prefix_}, {"libnet", "lib" + prefix_}};
    files_.push_back({with_names(name, prefix_, names), with_names(text, prefix_, names)});
  }

  // net_KIND.h and net_KIND.c.
  void add_constants(std::string_view kind, const std::vector<CArray>& arrays) {
    std::string header = fmt::format(
        "// Constants: {0}.\n#ifndef NET_{1}_H\n#define NET_{1}_H\n\n#include \"net.h\"\n#include "
        "\"net_target.h\"\n\n",
        kind, upper_case(kind));
    if (kind == "vectors") header += fmt::format("#define NET_VECTORS {}\n\n", vectors_.count);
    std::string source = fmt::format("// Constants: {0}.\n#include \"net_{0}.h\"\n", kind);
    for (const CArray& array : arrays) {
      header += declaration_of(array);
      source += "\n" + definition_of(array);
    }
    add_text(fmt::format("net_{}.h", kind), header + "\n#endif\n");
    add_text(fmt::format("net_{}.c", kind), source);
  }

  std::vector<CArray> vector_arrays() const {
    const Storage& in = parts_.plan.storage[0];
    const Storage& out = parts_.plan.storage[parts_.view.output()];
    CArray inputs{"net_vector_inputs", in.type, vectors_.inputs};
    for (std::int64_t& number : inputs.numbers) number += in.zero;
    return {std::move(inputs),
            {"net_vector_outputs", out.type, vectors_.outputs},
            {"net_vector_classes", CType::s32, vector_classes()}};
  }

  std::vector<std::int64_t> vector_classes() const {
    std::vector<std::int64_t> classes;
    const std::int64_t width = parts_.view.shapes[parts_.view.output()].elements();
    for (std::int64_t v = 0; v < vectors_.count; ++v) {
      const auto answer = vectors_.outputs.begin() + v * width;
      classes.push_back(parts_.gives_class() ? *answer
                                             : std::max_element(answer, answer + width) - answer);
    }
    return classes;
  }

  const EmittedParts& parts_;
  const std::string prefix_;
  const TestVectors& vectors_;
  const CWords words_;
  std::vector<EmittedFile> files_;
};

}  // namespace

void check_emittable(const Model& model, const EmitSettings& settings) {
  (void)emit_figures(model, settings);
}

EmitFigures emit_figures(const Model& model, const EmitSettings& settings) {
  return EmittedParts(checked_form(model, settings), settings).figures();
}

EmittedNetwork emit_c(const Model& model, const EmitSettings& settings,
                      const TestVectors& vectors) {
  const EmittedParts parts(checked_form(model, settings), settings);
  return {.files = Folder(parts, settings, vectors).files(), .figures = parts.figures()};
}

}  // namespace nibble::inline emit
