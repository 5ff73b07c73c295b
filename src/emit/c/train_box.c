// SPDX-License-Identifier: Apache-2.0
//@ train_copy
// The error of a sum, once more for a further operand.

static void train_copy(int32_t count, const int8_t *from, int8_t *to) {
  for (int32_t i = 0; i < count; ++i) to[i] = from[i];
}

//@ train_box
// slice and pad: every number of the smaller picture has a place in the larger one.

typedef struct {
  int32_t height, width, channels;                    // of the smaller one
  int32_t large_height, large_width, large_channels;  // of the larger one
  int32_t begin_y, begin_x, begin_c, step_y, step_x, step_c;
} train_box;

// From the larger to the smaller one, or back with zeros around.
static void train_move_box(const train_box *b, int32_t images, uint8_t to_small, const int8_t *from,
                           int8_t *to) {
  const int32_t large_size = b->large_height * b->large_width * b->large_channels;
  int32_t small = 0;
  if (!to_small) {
    for (int32_t i = 0; i < images * large_size; ++i) to[i] = 0;
  }
  for (int32_t n = 0; n < images; ++n) {
    for (int32_t y = 0; y < b->height; ++y) {
      for (int32_t x = 0; x < b->width; ++x) {
        const int32_t pixel =
            (b->begin_y + y * b->step_y) * b->large_width + b->begin_x + x * b->step_x;
        for (int32_t c = 0; c < b->channels; ++c, ++small) {
          const int32_t large =
              n * large_size + pixel * b->large_channels + b->begin_c + c * b->step_c;
          to[to_small ? small : large] = from[to_small ? large : small];
        }
      }
    }
  }
}
