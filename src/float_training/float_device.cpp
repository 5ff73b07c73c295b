// SPDX-License-Identifier: Apache-2.0
// Devices of float training by name.
#include "float_training/float_device.h"

#include <functional>
#include <map>

#include "core/device_name.h"
#include "core/name.h"
#include "nibble/core/error.h"

namespace nibble::inline float_training {
namespace {

using Factories = std::map<std::string, FloatDeviceFactory, std::less<>>;

Factories& factories() {
  static Factories all{{"pretend", [](std::string_view) { return make_pretend_float_device(); }}};
  return all;
}

}  // namespace

void register_float_device(const std::string& kind, FloatDeviceFactory factory) {
  add_device_kind(kind);
  factories()[kind] = factory;
}

std::unique_ptr<FloatDevice> make_float_device(std::string_view name) {
  const auto found = factories().find(name.substr(0, name.find(':')));
  if (found != factories().end()) return found->second(name);
  std::string names = "cpu";
  for (auto each = factories().begin(); each != factories().end(); ++each)
    names += (std::next(each) == factories().end() ? " or " : ", ") + each->first;
  throw Error("place", "device of float training", in_quotes(name),
              names + ", which alone have products of floats here", ErrorKind::usage);
}

}  // namespace nibble::inline float_training
