// SPDX-License-Identifier: Apache-2.0
// Parameters of all layers, one after the other; instructions.py draws them.
#ifndef REFERENCE_PARAMETERS_H
#define REFERENCE_PARAMETERS_H
#include <stdint.h>

enum { kReferenceWeights = 77360, kReferenceChannels = 336 };

extern const int8_t reference_weights[kReferenceWeights];
extern const int32_t reference_biases[kReferenceChannels];
extern const int32_t reference_multipliers[kReferenceChannels];
extern const int32_t reference_shifts[kReferenceChannels];

#endif
