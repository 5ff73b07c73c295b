// SPDX-License-Identifier: Apache-2.0
// The vocabulary of a GPU's thread, and operands in the shared memory of its block.
#pragma once

#include <cuda_runtime.h>

#include "kernels/accumulate/one_lane.h"
#include "kernels/accumulate/tile.h"

namespace nibble::cuda {

struct Lanes : portable::OneLane {
  static constexpr int kRows = 4;
  static constexpr int kColumns = 2;

  // The sum rounded down and up: equal where exact, otherwise neighbours, of which one is odd.
  NIBBLE_INLINE static Real add_odd(Real x, Real y) {
#ifdef __CUDA_ARCH__
    const Real down = __dadd_rd(x, y);
    const bool is_odd = (std::bit_cast<Word>(down) & 1) != 0;
    return is_odd ? down : __dadd_ru(x, y);
#else
    return OneLane::add_odd(x, y);
#endif
  }

  // Of a power of two the lower half is zero.
  NIBBLE_INLINE static Real larger_power(Real x, Real y) {
#ifdef __CUDA_ARCH__
    return __hiloint2double(::max(__double2hiint(x), __double2hiint(y)), 0);
#else
    return OneLane::larger_power(x, y);
#endif
  }

  // Registers have no addresses.
  NIBBLE_INLINE static Word pick(const Word* words, int index) {
    const Word low = (index & 1) != 0 ? words[1] : words[0];
    const Word high = (index & 1) != 0 ? words[3] : words[2];
    return (index & 2) != 0 ? high : low;
  }

  NIBBLE_INLINE static Real real_of(Word x) {  // below 2^52
    return std::bit_cast<Real>(x | 0x4330000000000000) - 0x1p52;
  }
};

inline constexpr int kWarp = 32;
inline constexpr int kWarps = 8;
inline constexpr int kThreads = kWarp * kWarps;

// Trees keep a stack for every output of a thread.
struct TreeLanes : Lanes {
  static constexpr int kColumns = 1;
};

// The outputs of a block.
template <class L>
inline constexpr int kBlockRows = (kWarps * L::kRows);
template <class L>
inline constexpr int kBlockColumns = (kWarp * L::kColumns);

// A block's rows of a and columns of b, a stretch of products at a time, widened on their way. The
// threads of a warp share their rows. Beyond the matrices there are zeros.
template <class L>
class SharedPanels {
 public:
  static constexpr int kDepth = 32;
  struct Memory {
    double a[kDepth][kBlockRows<L> + 2];  // two more: transposing meets fewer bank conflicts
    double b[kDepth][kBlockColumns<L>];
  };

  __device__ SharedPanels(const accumulation::Operands& operands, Memory& memory,
                          std::int64_t first_row, std::int64_t first_column)
      : operands_(operands),
        memory_(memory),
        first_row_(first_row),
        first_column_(first_column),
        lane_(static_cast<int>(threadIdx.x) % kWarp),
        warp_(static_cast<int>(threadIdx.x) / kWarp) {}

  // All threads of a block come here with the same k, each k once.
  NIBBLE_INLINE void reach(std::int64_t k) {
    if (k % kDepth == 0) load(k);
  }
  NIBBLE_INLINE double a(int r, std::int64_t k) const {
    return memory_.a[static_cast<unsigned>(k) % kDepth][warp_ * L::kRows + r];
  }
  NIBBLE_INLINE double b(int v, std::int64_t k) const {
    return memory_.b[static_cast<unsigned>(k) % kDepth][lane_ * L::kColumns + v];
  }

 private:
  NIBBLE_HOST_DEVICE void load(std::int64_t k) {
#ifdef __CUDA_ARCH__
    static_assert(kDepth == kWarp);
    __syncthreads();
    for (int row = warp_; row < kBlockRows<L>; row += kWarps) {
      const bool is_inside = first_row_ + row < operands_.rows && k + lane_ < operands_.inner;
      memory_.a[lane_][row] =
          is_inside ? operands_.a[(first_row_ + row) * operands_.inner + k + lane_] : 0.0F;
    }
    for (int depth = warp_; depth < kDepth; depth += kWarps) {
      for (int column = lane_; column < kBlockColumns<L>; column += kWarp) {
        const bool is_inside =
            first_column_ + column < operands_.columns && k + depth < operands_.inner;
        memory_.b[depth][column] =
            is_inside ? operands_.b[(k + depth) * operands_.columns + first_column_ + column]
                      : 0.0F;
      }
    }
    __syncthreads();
#else
    static_cast<void>(k);
#endif
  }

  const accumulation::Operands& operands_;
  Memory& memory_;
  std::int64_t first_row_;
  std::int64_t first_column_;
  int lane_;
  int warp_;
};

}  // namespace nibble::cuda
