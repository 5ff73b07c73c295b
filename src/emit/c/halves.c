// SPDX-License-Identifier: Apache-2.0
// The two 4-bit integers of a byte, two's complement.
#define NET_LOW_HALF(both) ((((both)&15) ^ 8) - 8)
#define NET_HIGH_HALF(both) ((((both) >> 4) ^ 8) - 8)
