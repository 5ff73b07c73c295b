// SPDX-License-Identifier: Apache-2.0
// The answers of a float network to a batch, pictures with their channels first:
// onnx_answers MODEL.onnx IN.npy OUT.npy, or onnx_answers NETWORK IN.npy OUT.npy WEIGHTS.
#include <array>
#include <cstdio>
#include <exception>

#include "foreign/onnx/strided_copy.h"
#include "nibble/core/npy.h"
#include "nibble/float_training/forward.h"
#include "nibble/foreign/onnx.h"
#include "nibble/foreign/read_weights.h"
#include "nibble/graph/network_text.h"

int main(int count, char** words) {
  using namespace nibble;
  if (count != 4 && count != 5) return 2;
  try {
    std::vector<std::string> notes;
    Model model;
    if (count == 5) {
      model.network = load_network(words[1]);
      read_weights(model, words[4]);
    } else {
      model = read_onnx(words[1], &notes);
    }
    for (const std::string& note : notes) std::puts(note.c_str());
    Tensor batch = read_npy(words[2]);
    if (batch.shape().rank() == 4) {
      batch = transposed(batch.view(), std::array<std::int64_t, 4>{0, 2, 3, 1});
    }
    write_npy(words[3], answers_of(model, batch.view()).view());
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
  return 0;
}
