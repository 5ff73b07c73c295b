// SPDX-License-Identifier: Apache-2.0
// What each column of the table of operations means, as a trial of one operation: it throws the
// refusal, or expects the numbers of the definitions.
#pragma once

#include <string>

#include "tests/operations/operation_cases.h"

namespace nibble {

void try_float_training(const OperationCase& each);
void try_integer_training(const OperationCase& each);
void try_engine(const OperationCase& each);
void try_emit(const OperationCase& each);
void try_emit_training(const OperationCase& each);
void try_onnx_in(const OperationCase& each);
void try_onnx_out(const OperationCase& each);
void try_quantize(const OperationCase& each);

// What ONNX calls it; where it has no such operation, what Nibble does.
std::string onnx_name_of(const Op& op);

}  // namespace nibble
