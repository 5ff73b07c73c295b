// SPDX-License-Identifier: Apache-2.0
// Fuzz target: any bytes either are CIFAR-10 records or throw Error; no byte of a record is lost.
#include <cstdint>
#include <cstdlib>
#include <span>

#include "core/test_fuzz_target.h"
#include "data/cifar10.h"
#include "nibble/core/error.h"
#include "nibble/core/parallel.h"

NIBBLE_FUZZ_TARGET(cifar10) {
  using namespace nibble;
  set_thread_count(1);  // a few records are not worth a thread
  try {
    const Dataset dataset = parse_cifar10(std::as_bytes(std::span(data, size)), "fuzz");
    const auto images = dataset.images.as<std::uint8_t>();
    const auto labels = dataset.labels.as<std::int32_t>();
    if (images.size() + labels.size() != size) std::abort();
    for (std::size_t i = 0; i < labels.size(); ++i) {
      const std::uint8_t* record = data + 3073 * i;
      if (labels[i] != record[0] || labels[i] > 9) std::abort();
      for (std::size_t pixel = 0; pixel < 1024; ++pixel) {
        for (std::size_t channel = 0; channel < 3; ++channel) {
          const std::uint8_t expected = record[1 + 1024 * channel + pixel];
          if (images[3 * (1024 * i + pixel) + channel] != expected) std::abort();
        }
      }
    }
  } catch (const Error&) {
  }
  return 0;
}
