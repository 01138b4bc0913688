/* Small units: CRC, random numbers, backup registers through a reset, USB with nobody there, resets of peripherals. */
#include "common.h"

volatile uint32_t results[16], phase;

int main(void) {
  REG(0x40023830) = 1 << 12 | 1 << 1;
  REG(0x40023834) = 1 << 6 | 1 << 7;
  REG(0x40023840) = 1 << 28 | 1 << 21 | 1 << 1;
  if (REG(0x40002850) == 0xB0073D01u) { /* the second start */
    results[9] = REG(0x4000289C);
    results[10] = REG(0x40023874) >> 24;
    phase = 2;
    for (;;) __asm volatile("wfi");
  }
  REG(0x40023008) = 1;
  for (const char *at = "123456789abc"; *at; at += 4) /* most significant byte first */
    REG(0x40023000) = (uint32_t)at[0] << 24 | at[1] << 16 | at[2] << 8 | at[3];
  results[0] = REG(0x40023000);
  results[1] = REG(0x50060804) & 1; /* random numbers: off, then ready */
  REG(0x50060800) = 4;
  results[2] = REG(0x50060804) & 1;
  results[3] = REG(0x50060808); results[4] = REG(0x50060808);
  REG(0x50000010) = 1; /* USB: the core resets itself */
  results[5] = REG(0x50000010);
  REG(0x40000428) = 77; REG(0x40000400) = 1; /* timer 3, then its reset bit */
  REG(0x40023820) = 1 << 1; REG(0x40023820) = 0;
  results[6] = REG(0x40000428) | REG(0x40000400);
  REG(0x4000280C) = 1 << 7;
  results[7] = REG(0x4000280C) & 0x60; /* initialisation is on, synchronised */
  REG(0x40002850) = 0xB0073D01u; REG(0x4000289C) = 0x12345678u;
  phase = 1;
  REG(0xE000ED0C) = 0x05FA0004u; /* a reset by software */
  for (;;) {}
}

typedef void (*vector)(void);
__attribute__((section(".vectors"), used)) const vector vectors[16 + 82] = {
    (vector)stack_top, reset_handler, [2 ... 97] = unused_handler,
};
