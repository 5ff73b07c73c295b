// SPDX-License-Identifier: Apache-2.0
// ResNet-8 of MLPerf Tiny by the arithmetic of TFLite-Micro's reference kernels, for counting
// instructions.
#ifndef REFERENCE_H
#define REFERENCE_H
#include <stdint.h>

#define REFERENCE_ARENA_BYTES 65536
#define REFERENCE_INPUT_SIZE 3072
#define REFERENCE_OUTPUT_SIZE 10
#define REFERENCE_BATCH 1
typedef int8_t reference_input_t;
typedef int8_t reference_output_t;

int reference_run(void* arena, const reference_input_t* input, reference_output_t* output);

#endif
