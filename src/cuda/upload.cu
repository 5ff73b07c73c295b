// SPDX-License-Identifier: Apache-2.0
// Small tables to a GPU by way of kernel parameters.
#include "cuda/upload.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "cuda/driver.h"
#include "cuda/errors.h"

namespace nibble::cuda {
namespace {

constexpr std::size_t kPieceWords = 960;  // parameters of all kernels may have 4096 bytes

struct Piece {
  std::uint32_t words[kPieceWords];
};

__global__ void write_piece(const __grid_constant__ Piece piece, std::uint8_t* to,
                            unsigned int bytes) {
  for (unsigned int i = threadIdx.x; i * 4 < bytes; i += blockDim.x) {
    if (i * 4 + 4 <= bytes) {
      reinterpret_cast<std::uint32_t*>(to)[i] = piece.words[i];
      continue;
    }
    for (unsigned int b = 0; i * 4 + b < bytes; ++b) {
      to[i * 4 + b] = static_cast<std::uint8_t>(piece.words[i] >> 8 * b);
    }
  }
}

}  // namespace

bool has_kernels(int device) {
  const DeviceGuard guard(Place{.device = device});
  cudaFuncAttributes attributes;
  const bool has = cudaFuncGetAttributes(&attributes, write_piece) == cudaSuccess;
  cudaGetLastError();  // asked, not done
  return has;
}

void upload(void* to, const void* from, std::size_t bytes, const Place& place) {
  const DeviceGuard guard(place);
  for (std::size_t done = 0; done < bytes; done += sizeof(Piece)) {
    const std::size_t count = std::min(sizeof(Piece), bytes - done);
    Piece piece;
    std::memcpy(piece.words, static_cast<const std::uint8_t*>(from) + done, count);
    write_piece<<<1, 256, 0, static_cast<cudaStream_t>(place.stream)>>>(
        piece, static_cast<std::uint8_t*>(to) + done, static_cast<unsigned int>(count));
    check_launch("upload");
  }
}

}  // namespace nibble::cuda
