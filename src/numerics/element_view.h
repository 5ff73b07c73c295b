// SPDX-License-Identifier: Apache-2.0
// An element as plain numbers, so that it can be a parameter of a GPU's kernel.
#pragma once

#include <cmath>
#include <cstdint>

#include "nibble/core/host_device.h"
#include "nibble/numerics/element.h"
#include "numerics/round_codebook.h"
#include "numerics/round_float.h"
#include "numerics/round_grid.h"
#include "numerics/round_posit.h"

namespace nibble::inline numerics {

struct ElementView {
  enum class Family : std::uint8_t { floats, grid, posit, codebook };

  Family family = Family::floats;
  FloatElement floats;
  GridElement grid;
  PositElement posit;
  const float* values = nullptr;  // of a codebook
  std::uint32_t count = 0;
};

// The table stays where it is: a codebook's element has to live as long as its view, or `values` is
// set to a copy.
inline ElementView view_of(const Element& element) {
  ElementView view;
  if (const auto* floats = std::get_if<FloatElement>(&element)) {
    view.floats = *floats;
  } else if (const auto* grid = std::get_if<GridElement>(&element)) {
    view.family = ElementView::Family::grid;
    view.grid = *grid;
  } else if (const auto* posit = std::get_if<PositElement>(&element)) {
    view.family = ElementView::Family::posit;
    view.posit = *posit;
  } else {
    const auto& table = std::get<CodebookElement>(element);
    view.family = ElementView::Family::codebook;
    view.values = table.values.data();
    view.count = static_cast<std::uint32_t>(table.values.size());
  }
  return view;
}

NIBBLE_HOST_DEVICE inline double round_to(const ElementView& element, double x,
                                          const Rounding& rounding, Overflow overflow,
                                          std::uint32_t draw) {
  if (std::isnan(x)) return x;
  switch (element.family) {
    case ElementView::Family::floats:
      return round_element(element.floats, x, rounding, overflow, draw);
    case ElementView::Family::grid:
      return round_element(element.grid, x, rounding, overflow, draw);
    case ElementView::Family::posit:
      return round_element(element.posit, x, rounding, overflow, draw);
    case ElementView::Family::codebook:
      return round_codebook(element.values, element.count, x, rounding, draw);
  }
  return x;
}

}  // namespace nibble::inline numerics
