// SPDX-License-Identifier: Apache-2.0
// nibble data export: a data set as folders of pictures.
#include "apps/nibble/verb_parts.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <string>

#include "data/picture_export.h"

namespace nibble {
namespace {

struct ExportFlags {
  std::string data;
  std::string out;
};

}  // namespace

void add_data_export(CLI::App& data) {
  CLI::App& verb = *data.add_subcommand(
      "export", "a data set as folders of classes with a PNG for each picture");
  const auto flags = std::make_shared<ExportFlags>();
  verb.add_option("DATA", flags->data, "a data set by name or path")->type_name("")->required();
  verb.add_option("--out", flags->out, "folder for train/CLASS/NUMBER.png and test/…")
      ->type_name("DIR")
      ->required();
  verb.footer(
      "NUMBER is the picture's place in its split. PNG loses nothing: every verb has the same\n"
      "answers on the folder, class by class.\n\n"
      "Examples:\n"
      "  nibble data export cifar10 --out cifar10-png");
  verb.callback([flags] {
    const ExportedPictures exported = export_pictures(flags->data, flags->out);
    fmt::print("{} pictures in {}/train, {} in {}/test\n", exported.train, flags->out,
               exported.test, flags->out);
  });
}

}  // namespace nibble
