// SPDX-License-Identifier: Apache-2.0
// A precision policy: which numbers of training are kept in which format.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "nibble/graph/network.h"
#include "nibble/kernels/accumulate.h"

namespace nibble::inline float_training {

// Where in training a number lives. docs/training.md says at which points each is rounded.
enum class Role : std::uint8_t {
  weight,       // as products use it
  activation,   // what layers give
  error,        // the gradient of the loss by activations
  gradient,     // the gradient of the loss by weights
  momentum,     // what the optimizer remembers
  update,       // what is added to the master
  master,       // the copy of the weights in which updates accumulate
  accumulator,  // sums inside matrix products
};

inline constexpr std::size_t kRoles = 8;
std::string_view name_of(Role role);
Role role_by_name(std::string_view name);  // throws with the list of names

// What is done to a tensor of one role in one layer.
struct RoundingRule {
  Precision precision;
  bool zeroes_clamped = false;  // activation: no gradient where the value was cut to the range
  // The tensor is divided by 2^⌈log2 max|x|⌉ first, and stays so: WAGE's shift of errors.
  bool is_normalized = false;
  // Weight: divided after rounding by WAGE's constant of the layer, a power of two from its fan-in.
  bool has_wage_scale = false;
  std::optional<Accumulator> accumulator;  // of role accumulator, which rounds nothing else

  bool rounds() const { return is_normalized || has_wage_scale || !precision.is_float32(); }
};

struct PolicyRule {
  std::vector<Role> roles;
  std::string layers = "*";                     // '*' and '?' in names of nodes
  std::vector<std::string> kinds = {"weight"};  // of parameters: weight, bias, scale, shift
  RoundingRule rounding;
  std::string place;  // where it was written, for errors: "p.toml:3: round[0].layers"
};

// The loss is multiplied before the way back, and gradients are divided after it.
struct LossScale {
  double start = 1;
  bool is_dynamic = false;  // halved where a gradient is not finite (the step is skipped)
  std::int64_t growth_interval = 2000;  // dynamic: doubled after so many good steps
};

struct PrecisionPolicy {
  std::string name = "fp32";
  std::vector<PolicyRule> rules;  // where several fit, the last one counts
  LossScale loss_scale;

  // The rule of a role in a layer; null: fp32. `kind` matters for the roles of parameters.
  const RoundingRule* find(Role role, std::string_view layer,
                           std::string_view kind = "weight") const;
};

// Reads TOML; `source` is used in errors, which name line and key.
PrecisionPolicy parse_policy(std::string_view toml, std::string_view source);

// Throws where a rule fits no layer of the network that has its role.
void check_policy(const PrecisionPolicy& policy, const Network& network);

// The values that are rounded on the way forward (activation) and on the way back (error).
struct RoundingPoints {
  std::vector<bool> activation;
  std::vector<bool> error;
};
RoundingPoints rounding_points(const Network& network);

// The formats of activations and weights that the network itself names, as rules. In training the
// policy's own rules come after them.
std::vector<PolicyRule> own_rules(const Network& network);

// The network with the formats of weights and activations that the policy gives it.
Network with_formats(Network network, const PrecisionPolicy& policy);

}  // namespace nibble::inline float_training
