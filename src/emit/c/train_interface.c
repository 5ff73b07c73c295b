// SPDX-License-Identifier: Apache-2.0
// The calls of the header, on the passes above.

int net_train_init(net_train_state *state) {
  if (!state) return NET_TRAIN_NULL_POINTER;
  state->steps = 0;
  for (int32_t i = 0; i < NET_TRAIN_SHIFTS; ++i) state->shifts[i] = 0;
  for (int32_t i = 0; i < NET_TRAIN_WEIGHTS; ++i)
    state->weights[i] = NET_READ_S8(&net_train_start[i]);
  return NET_TRAIN_OK;
}

static int train_check_images(const net_train_state *state, const int8_t *images, uint16_t count) {
  if (!state || !images) return NET_TRAIN_NULL_POINTER;
  return count < 1 || count > NET_TRAIN_BATCH ? NET_TRAIN_WRONG_COUNT : NET_TRAIN_OK;
}

int net_train_step(net_train_state *state, const int8_t *images, const net_train_label_t *labels,
                   uint16_t count, int8_t mu, int8_t bias_mu) {
  const int status = train_check_images(state, images, count);
  if (status != NET_TRAIN_OK) return status;
  if (!labels) return NET_TRAIN_NULL_POINTER;
  if (mu < -8 || mu > 7 || bias_mu < -8 || bias_mu > 7) return NET_TRAIN_WRONG_MU;
  for (uint16_t i = 0; i < count; ++i) {
    if (labels[i] >= NET_TRAIN_CLASSES) return NET_TRAIN_WRONG_LABEL;
  }
  const int8_t *const answers = train_forward(state, images, count, 1);
  state->error_exponents[NET_TRAIN_VALUES - 1] = train_loss_error(
      count, NET_TRAIN_CLASSES, answers, state->value_exponents[NET_TRAIN_VALUES - 1], labels,
      NET_TRAIN_SEED, state->steps, train_answer_error(state));
  train_backward(state, images, count, mu, bias_mu);
  ++state->steps;
  return NET_TRAIN_OK;
}

int net_train_answer(net_train_state *state, const int8_t *images, uint16_t count,
                     int8_t *answers) {
  const int status = train_check_images(state, images, count);
  if (status != NET_TRAIN_OK) return status;
  if (!answers) return NET_TRAIN_NULL_POINTER;
  const int8_t *const from = train_forward(state, images, count, 0);
  for (int32_t i = 0; i < count * (int32_t)NET_TRAIN_CLASSES; ++i) answers[i] = from[i];
  return NET_TRAIN_OK;
}

int net_train_classify(net_train_state *state, const int8_t *images, uint16_t count,
                       net_train_label_t *classes) {
  const int status = train_check_images(state, images, count);
  if (status != NET_TRAIN_OK) return status;
  if (!classes) return NET_TRAIN_NULL_POINTER;
  const int8_t *answers = train_forward(state, images, count, 0);
  for (uint16_t i = 0; i < count; ++i, answers += NET_TRAIN_CLASSES) {
    classes[i] = 0;
    for (int16_t c = 1; c < NET_TRAIN_CLASSES; ++c) {
      if (answers[c] > answers[classes[i]]) classes[i] = (net_train_label_t)c;
    }
  }
  return NET_TRAIN_OK;
}

int net_train_order(uint32_t epoch, uint16_t count, uint16_t *order) {
  if (!order) return NET_TRAIN_NULL_POINTER;
  train_make_order(NET_TRAIN_SEED, epoch, count, order);
  return NET_TRAIN_OK;
}

uint64_t net_train_hash(const net_train_state *state) {
  uint64_t hash = UINT64_C(0xCBF29CE484222325);
  for (int32_t i = 0; i < NET_TRAIN_WEIGHTS; ++i)
    hash = (hash ^ (uint8_t)state->weights[i]) * UINT64_C(0x100000001B3);
  return hash;
}
