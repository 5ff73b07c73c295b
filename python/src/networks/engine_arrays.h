// SPDX-License-Identifier: Apache-2.0
// An engine, and its examples and answers in memory of arrays: the host's, or that of the GPU where
// it runs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "inference/example_reader.h"
#include "python/src/array.h"
#include "python/src/networks/bind.h"
#include "python/src/networks/growing_engine.h"

namespace nibble::python {

struct EngineObject {
  // max_batch: none: it grows. That of the options does not count.
  EngineObject(const ModelObject& model, const EngineOptions& options,
               std::optional<std::int64_t> max_batch);
  ~EngineObject();  // what was submitted ends first

  const ValueInfo& input() const { return reader.info(); }

  std::unique_ptr<GrowingEngine> engines;
  ExampleReader reader;
  ValueInfo output;
  std::string device;
  Device memory;  // it takes arrays there, beside those of the host
  int threads;
  int lanes;
};

// Examples of an array as the engine wants them, where they lie if that is possible.
class Examples {
 public:
  Examples(const Array& array, const EngineObject& self);

  std::int64_t batch() const { return batch_; }
  std::span<const std::byte> bytes() const { return bytes_; }
  bool is_on_gpu() const { return is_on_gpu_; }

  // Of what comes out: a batch, or one answer where one example came in.
  Shape shape_for(const Shape& one) const;

 private:
  bool is_one_ = false;
  bool is_on_gpu_ = false;
  std::int64_t batch_ = 0;
  std::span<const std::byte> bytes_;
  std::vector<std::byte> copied_;
};

// New memory for what an engine answers with, where its examples lie.
class Answers {
 public:
  Answers(const EngineObject& self, const Examples& examples, const Array& input);

  std::span<std::byte> bytes() const { return bytes_; }
  bool is_on_gpu() const { return on_gpu_.is_valid(); }
  nb::object take(Array::Kind kind);  // the array, once

 private:
  Tensor on_host_;
  nb::object on_gpu_;
  std::span<std::byte> bytes_;
};

void bind_engine_files(nb::class_<EngineObject>& engine);  // its examples out of files

// What the host has made of an input, of the input's kind and on its device.
nb::object beside(const Array& input, Tensor made);

}  // namespace nibble::python
