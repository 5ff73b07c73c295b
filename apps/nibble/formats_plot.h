// SPDX-License-Identifier: Apache-2.0
// nibble formats --plot: the numbers of formats, and how close they come to others, as a picture.
#pragma once

#include <string>
#include <vector>

namespace nibble {

// No formats: a choice of them. "-" is standard output.
void plot_formats(const std::vector<std::string>& formats, const std::string& path);

}  // namespace nibble
