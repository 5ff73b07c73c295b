// SPDX-License-Identifier: Apache-2.0
// An ATmega2560: the first serial port; sleep without interrupts ends the simulation.
#include "tests/emit/board/board.h"

#include <avr/interrupt.h>
#include <avr/io.h>
#include <avr/sleep.h>

void board_put(char character) {
  UCSR0B |= (uint8_t)(1u << TXEN0);
  while (!(UCSR0A & (1u << UDRE0))) {
  }
  UDR0 = (uint8_t)character;
}

void board_exit(int status) {
  (void)status;
  cli();
  sleep_enable();
  sleep_cpu();
}
