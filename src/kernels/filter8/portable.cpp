// SPDX-License-Identifier: Apache-2.0
// The engine's kernel for the baseline of the platform.
#include "kernels/filter8/loops.h"
#include "kernels/filter8/paths.h"

namespace nibble::portable {
namespace {
struct Path {};
using Loops = Filter8Loops<Path>;
}  // namespace

constinit const Filter8 kFilter8 = {.multiply = Loops::multiply,
                                    .rescale = Loops::rescale,
                                    .depthwise = Loops::depthwise,
                                    .expand_s4 = Loops::expand_s4,
                                    .expand_u4 = Loops::expand_u4,
                                    .largest_u8 = Loops::largest_u8,
                                    .largest_u4 = Loops::largest_u4,
                                    .add_u8 = Loops::add_u8,
                                    .pixels = {0, 8, 8, 8, 8}};

}  // namespace nibble::portable
