# SPDX-License-Identifier: Apache-2.0
# The instruction sets that sources are compiled for, beside the baseline of the processor: NIBBLE_FLAGS_<isa>, named as
# src/core/isa.h names them.
set(NIBBLE_PROCESSOR other)
if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64)$")
  set(NIBBLE_PROCESSOR x86)
elseif(CMAKE_SYSTEM_PROCESSOR MATCHES "^(aarch64|arm64|ARM64)$")
  set(NIBBLE_PROCESSOR arm)
endif()

set(NIBBLE_FLAGS_avx2 -mavx2 -mfma -mf16c)
# g++ 12 warns about its own AVX-512 header.
set(NIBBLE_FLAGS_avx512 -mavx512f -mavx512bw -mavx512dq -mavx512vl -Wno-maybe-uninitialized -Wno-uninitialized)
set(NIBBLE_FLAGS_avx512vnni ${NIBBLE_FLAGS_avx512} -mavx512vnni)
set(NIBBLE_FLAGS_amx ${NIBBLE_FLAGS_avx512vnni} -mamx-tile -mamx-int8)
