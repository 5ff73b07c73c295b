// SPDX-License-Identifier: Apache-2.0
// wgmma: 64 rows by 64, 128, 192 or 256 columns by 32 bytes, both operands in shared memory, for a
// group of four warps. Compiled for sm_90a alone.
#pragma once

#include <cstdint>

namespace nibble::cuda {

// A tile of lines of 128, 64 or 32 swizzled bytes, one behind the other.
template <std::uint32_t kLine = 128>
__device__ __forceinline__ std::uint64_t tile_descriptor(std::uint32_t address) {
  constexpr std::uint64_t kSwizzle = std::uint64_t{kLine == 128 ? 1 : kLine == 64 ? 2 : 3} << 62;
  constexpr std::uint64_t kEightLines = std::uint64_t{8 * kLine >> 4} << 32;
  constexpr std::uint64_t kUnused = std::uint64_t{1} << 16;
  return kSwizzle | kEightLines | kUnused | ((address & 0x3FFFF) >> 4);
}

__device__ __forceinline__ void begin_multiplying() {
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}
__device__ __forceinline__ void end_multiplying() {
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}
template <int kLeft>
__device__ __forceinline__ void wait_for_products() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(kLeft) : "memory");
}

// clang-format off
#define NIBBLE_FRAGMENT(mode, g, f) \
  mode(sums[g][f][0]), mode(sums[g][f][1]), mode(sums[g][f][2]), mode(sums[g][f][3])
#define NIBBLE_GROUP(mode, g) \
  NIBBLE_FRAGMENT(mode, g, 0), NIBBLE_FRAGMENT(mode, g, 1), NIBBLE_FRAGMENT(mode, g, 2), NIBBLE_FRAGMENT(mode, g, 3)

// sums = rows · columns, added to what they are where `adds`. Who begins sums needs nothing of what
// they were before, which leaves their registers to others until then.
__device__ __forceinline__ void multiply_tiles(std::int32_t (&sums)[2][4][4], std::uint64_t rows,
                                               std::uint64_t columns, bool adds) {
  asm volatile(
      "{ .reg .pred p; setp.ne.b32 p, %34, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n64k32.s32.s8.s8 {"
      "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
      "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31"
      "}, %32, %33, p; }\n"
      : NIBBLE_GROUP("+r", 0), NIBBLE_GROUP("+r", 1)
      : "l"(rows), "l"(columns), "r"(adds ? 1 : 0));
}
__device__ __forceinline__ void begin_tiles(std::int32_t (&sums)[2][4][4], std::uint64_t rows,
                                            std::uint64_t columns) {
  asm volatile(
      "wgmma.mma_async.sync.aligned.m64n64k32.s32.s8.s8 {"
      "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
      "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31"
      "}, %32, %33, 0;\n"
      : NIBBLE_GROUP("=r", 0), NIBBLE_GROUP("=r", 1)
      : "l"(rows), "l"(columns));
}

__device__ __forceinline__ void multiply_tiles(std::int32_t (&sums)[4][4][4], std::uint64_t rows,
                                               std::uint64_t columns, bool adds) {
  asm volatile(
      "{ .reg .pred p; setp.ne.b32 p, %66, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n128k32.s32.s8.s8 {"
      "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
      "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "
      "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "
      "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63"
      "}, %64, %65, p; }\n"
      : NIBBLE_GROUP("+r", 0), NIBBLE_GROUP("+r", 1), NIBBLE_GROUP("+r", 2), NIBBLE_GROUP("+r", 3)
      : "l"(rows), "l"(columns), "r"(adds ? 1 : 0));
}
__device__ __forceinline__ void begin_tiles(std::int32_t (&sums)[4][4][4], std::uint64_t rows,
                                            std::uint64_t columns) {
  asm volatile(
      "wgmma.mma_async.sync.aligned.m64n128k32.s32.s8.s8 {"
      "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
      "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "
      "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "
      "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63"
      "}, %64, %65, 0;\n"
      : NIBBLE_GROUP("=r", 0), NIBBLE_GROUP("=r", 1), NIBBLE_GROUP("=r", 2), NIBBLE_GROUP("=r", 3)
      : "l"(rows), "l"(columns));
}

__device__ __forceinline__ void multiply_tiles(std::int32_t (&sums)[6][4][4], std::uint64_t rows,
                                               std::uint64_t columns, bool adds) {
  asm volatile(
      "{ .reg .pred p; setp.ne.b32 p, %98, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n192k32.s32.s8.s8 {"
      "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
      "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "
      "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "
      "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63, "
      "%64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, "
      "%80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95"
      "}, %96, %97, p; }\n"
      : NIBBLE_GROUP("+r", 0), NIBBLE_GROUP("+r", 1), NIBBLE_GROUP("+r", 2),
        NIBBLE_GROUP("+r", 3), NIBBLE_GROUP("+r", 4), NIBBLE_GROUP("+r", 5)
      : "l"(rows), "l"(columns), "r"(adds ? 1 : 0));
}
__device__ __forceinline__ void begin_tiles(std::int32_t (&sums)[6][4][4], std::uint64_t rows,
                                            std::uint64_t columns) {
  asm volatile(
      "wgmma.mma_async.sync.aligned.m64n192k32.s32.s8.s8 {"
      "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
      "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "
      "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "
      "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63, "
      "%64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, "
      "%80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95"
      "}, %96, %97, 0;\n"
      : NIBBLE_GROUP("=r", 0), NIBBLE_GROUP("=r", 1), NIBBLE_GROUP("=r", 2),
        NIBBLE_GROUP("=r", 3), NIBBLE_GROUP("=r", 4), NIBBLE_GROUP("=r", 5)
      : "l"(rows), "l"(columns));
}

__device__ __forceinline__ void multiply_tiles(std::int32_t (&sums)[8][4][4], std::uint64_t rows,
                                               std::uint64_t columns, bool adds) {
  asm volatile(
      "{ .reg .pred p; setp.ne.b32 p, %130, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n256k32.s32.s8.s8 {"
      "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
      "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "
      "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "
      "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63, "
      "%64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, "
      "%80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95, "
      "%96, %97, %98, %99, %100, %101, %102, %103, %104, %105, %106, %107, %108, %109, %110, %111, "
      "%112, %113, %114, %115, %116, %117, %118, %119, %120, %121, %122, %123, %124, %125, %126, %127"
      "}, %128, %129, p; }\n"
      : NIBBLE_GROUP("+r", 0), NIBBLE_GROUP("+r", 1), NIBBLE_GROUP("+r", 2), NIBBLE_GROUP("+r", 3), NIBBLE_GROUP("+r", 4), NIBBLE_GROUP("+r", 5), NIBBLE_GROUP("+r", 6), NIBBLE_GROUP("+r", 7)
      : "l"(rows), "l"(columns), "r"(adds ? 1 : 0));
}
__device__ __forceinline__ void begin_tiles(std::int32_t (&sums)[8][4][4], std::uint64_t rows,
                                            std::uint64_t columns) {
  asm volatile(
      "wgmma.mma_async.sync.aligned.m64n256k32.s32.s8.s8 {"
      "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
      "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "
      "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "
      "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63, "
      "%64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, "
      "%80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95, "
      "%96, %97, %98, %99, %100, %101, %102, %103, %104, %105, %106, %107, %108, %109, %110, %111, "
      "%112, %113, %114, %115, %116, %117, %118, %119, %120, %121, %122, %123, %124, %125, %126, %127"
      "}, %128, %129, 0;\n"
      : NIBBLE_GROUP("=r", 0), NIBBLE_GROUP("=r", 1), NIBBLE_GROUP("=r", 2), NIBBLE_GROUP("=r", 3), NIBBLE_GROUP("=r", 4), NIBBLE_GROUP("=r", 5), NIBBLE_GROUP("=r", 6), NIBBLE_GROUP("=r", 7)
      : "l"(rows), "l"(columns));
}

#undef NIBBLE_GROUP
#undef NIBBLE_FRAGMENT
// clang-format on

}  // namespace nibble::cuda
