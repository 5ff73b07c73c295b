// SPDX-License-Identifier: Apache-2.0
// The engine's kernel for the baseline of the platform.
#include "kernels/engine/loops.h"
#include "kernels/integer_paths.h"

namespace nibble::inline kernels::portable {
namespace {
struct Path {};
using Loops = EngineLoops<Path>;
}  // namespace

constinit const EngineKernels kEngineKernels = {.multiply = Loops::multiply,
                                                .rescale = Loops::rescale,
                                                .depthwise = Loops::depthwise,
                                                .expand_s4 = Loops::expand_s4,
                                                .expand_u4 = Loops::expand_u4,
                                                .largest_u8 = Loops::largest_u8,
                                                .largest_u4 = Loops::largest_u4,
                                                .add_u8 = Loops::add_u8,
                                                .pixels = {0, 8, 8, 8, 8}};

}  // namespace nibble::inline kernels::portable
