// SPDX-License-Identifier: Apache-2.0
// Max pools: a mark says which tap of the window passed, of equal ones the first.

typedef struct {
  int32_t in_height, in_width, out_height, out_width, channels;
  int32_t kernel_y, kernel_x, stride_y, stride_x, padding_y, padding_x;
  uint8_t mark_log;
} train_pool;

static void train_max_pool(const train_pool *p, int32_t images, const int8_t *input, int8_t *output,
                           uint8_t *marks) {
  int32_t index = 0;
  for (int32_t n = 0; n < images; ++n) {
    for (int32_t oy = 0; oy < p->out_height; ++oy) {
      for (int32_t ox = 0; ox < p->out_width; ++ox) {
        for (int32_t c = 0; c < p->channels; ++c) {
          int16_t best = -128;
          uint8_t mark = 0;
          for (int32_t ky = 0; ky < p->kernel_y; ++ky) {
            const int32_t y = oy * p->stride_y - p->padding_y + ky;
            if (y < 0 || y >= p->in_height) continue;
            for (int32_t kx = 0; kx < p->kernel_x; ++kx) {
              const int32_t x = ox * p->stride_x - p->padding_x + kx;
              if (x < 0 || x >= p->in_width) continue;
              const int8_t value = input[(y * p->in_width + x) * p->channels + c];
              if (value <= best) continue;
              best = value;
              mark = (uint8_t)(ky * p->kernel_x + kx);
            }
          }
          output[index] = (int8_t)best;
          if (marks) train_set_mark(marks, p->mark_log, index, mark);
          ++index;
        }
      }
    }
    input += p->in_height * p->in_width * p->channels;
  }
}
