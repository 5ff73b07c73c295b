// SPDX-License-Identifier: Apache-2.0
// An integer network with all that is known of it: shapes, bounds, numbers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "graph/picture.h"
#include "nibble/graph/integer_bounds.h"
#include "nibble/graph/network.h"

namespace nibble::inline emit {

// With names that can harm no text they are pasted into. A checked network has none else.
Network with_plain_names(Network network);

struct NetworkView {
  explicit NetworkView(Model integers);  // in integer_form

  const Node& node(std::size_t i) const { return model.network.nodes[i]; }
  std::size_t size() const { return model.network.nodes.size(); }
  Picture picture(std::size_t i) const { return picture_of(shapes[i]); }
  std::size_t output() const { return size() - 1; }

  // The node's numbers of that kind; none where it has no such parameter.
  std::vector<std::int64_t> integers(std::size_t i, std::string_view kind) const;
  std::vector<std::int8_t> weights(std::size_t i) const;

  Model model;
  std::vector<Shape> shapes;
  std::vector<Parameter> parameters;
  std::vector<NodeBounds> bounds;
  std::vector<std::int64_t> macs;
};

}  // namespace nibble::inline emit
