// SPDX-License-Identifier: Apache-2.0
// Stored integers: each is kept as a code, value + zero, in the smallest type that holds it.
enum { NET_S8, NET_U8, NET_S16, NET_S32 };

typedef struct {
  const void *codes;
  int32_t zero;
  uint8_t type;
} net_source;

typedef struct {
  void *codes;
  int32_t zero;
  uint8_t type;
} net_sink;

static inline int32_t net_get(const net_source *from, int32_t i) {
  switch (from->type) {
    case NET_S8: return ((const int8_t *)from->codes)[i] - from->zero;
    case NET_U8: return ((const uint8_t *)from->codes)[i] - from->zero;
    case NET_S16: return ((const int16_t *)from->codes)[i] - from->zero;
    default: return ((const int32_t *)from->codes)[i] - from->zero;
  }
}

static inline void net_put(const net_sink *to, int32_t i, int32_t value) {
  const int32_t code = value + to->zero;
  switch (to->type) {
    case NET_S8: ((int8_t *)to->codes)[i] = (int8_t)code; break;
    case NET_U8: ((uint8_t *)to->codes)[i] = (uint8_t)code; break;
    case NET_S16: ((int16_t *)to->codes)[i] = (int16_t)code; break;
    default: ((int32_t *)to->codes)[i] = code; break;
  }
}
