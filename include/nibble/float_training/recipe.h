// SPDX-License-Identifier: Apache-2.0
// A recipe: a named, complete training run, kept as TOML.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "nibble/epoch_loop/recipe_files.h"
#include "nibble/epoch_loop/run_settings.h"
#include "nibble/float_training/policy.h"
#include "nibble/run_folder/schedule.h"

namespace nibble::inline float_training {

enum class OptimizerKind : std::uint8_t { sgd, adam, adamw };
std::string_view name_of(OptimizerKind kind);
OptimizerKind optimizer_by_name(std::string_view name);

// PyTorch's definitions. SGD: v = momentum·v + g + decay·w, w -= rate·v. Adam adds decay·w to g,
// AdamW multiplies w by 1 - rate·decay.
struct OptimizerSettings {
  OptimizerKind kind = OptimizerKind::sgd;
  double rate = 0.01;
  double momentum = 0.9;
  bool has_nesterov = false;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-8;
  double weight_decay = 0;
  bool trains_steps = true;  // of fake quantization
};

// Uniform in ±bound, biases 0 (fan_in: in ±1/√in too, as PyTorch does).
enum class Initialization : std::uint8_t {
  he,      // √(6 / in)
  fan_in,  // √(1 / in), PyTorch's default
  xavier,  // √(6 / (in + out))
  wage,    // max(√(6 / in), 0.75): WAGE's for 2-bit weights
};
std::string_view name_of(Initialization initialization);
Initialization initialization_by_name(std::string_view name);

// Stochastic weight averaging: the mean of the masters, in fp32, over the last epochs.
struct Averaging {
  std::int64_t start = 0;  // first epoch whose weights count, from 1; 0: no averaging
  std::int64_t every = 0;  // steps between two summands; 0: one at the end of each epoch
  bool is_on() const { return start > 0; }
};

// What crosses between the host and a device that computes products. int8: integers and one power
// of two a tensor, errors rounded stochastically. Gradients of weights cross in fp32.
enum class WireFormat : std::uint8_t { fp32, fp16, bf16, int8 };
std::string_view name_of(WireFormat wire);
WireFormat wire_by_name(std::string_view name);

// What a device rounds operands of products to; their sums are in fp32 all the same.
enum class ProductType : std::uint8_t { fp32, tf32, fp16, bf16 };
std::string_view name_of(ProductType type);
ProductType product_type_by_name(std::string_view name);

struct Recipe : RunSettings {
  Initialization initialization = Initialization::he;
  OptimizerSettings optimizer;
  Schedule schedule;
  Averaging averaging;
  PrecisionPolicy policy;
  std::string place;  // who computes which pass of convolutions and linear layers; empty: the CPU
  WireFormat wire = WireFormat::fp32;
  ProductType compute = ProductType::fp32;  // of the device
  bool is_fast = false;  // oneDNN's own threads: the weights then depend on their number
};

// Lets the recipe begin with the parameters of a float model, and with its mean and deviation of
// the input unless the recipe gives others. A recipe without a network takes the model's, with
// softmax cross-entropy where it has no loss. Throws, naming the first parameter that differs from
// those of the network.
void start_from(Recipe& recipe, Model model);

// Reads TOML; `source` is used in errors, which name line and key.
Recipe parse_recipe(std::string_view toml, std::string_view source);

// A name of named_recipes, or the path of a .toml file; one of floats.
Recipe load_recipe(std::string_view name_or_path);

// All settings that decide the numbers, as JSON; `nibble train` writes it to settings.json.
std::string to_json(const Recipe& recipe);

}  // namespace nibble::inline float_training
