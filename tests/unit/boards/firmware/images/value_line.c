/* One pass over what differs in an STM32F100: clocks, ports, DMA channels, flash, converter, and USART2 by DMA. */
#include "common.h"

volatile uint32_t results[32], phase, ended;
static uint8_t from[16], to[16];
static const char text[] = "STM32F100";

void dma7_handler(void) {
  results[13] = REG(0x40020000) >> 24 & 0xF; /* channel 7 */
  REG(0x40020004) = 1u << 24;
  results[14] = REG(0x40020000) >> 24 & 0xF;
  ended++;
}

int main(void) {
  results[0] = REG(0x1FFFF7E8);
  results[1] = REG16(0x1FFFF7E0);
  results[2] = REG(0xE000ED00);
  results[3] = REG(0xE0042000);
  REG(0x40021000) |= 1 << 16;                        /* HSE */
  REG(0x40021004) = 1 << 16 | 1 << 17 | 0 << 18;     /* PLL: HSE / 2 * 2, the predivider by its bit in CFGR */
  results[4] = REG(0x4002102C);
  REG(0x40021000) |= 1 << 24;
  REG(0x40021004) |= 2;
  results[5] = REG(0x40021004) >> 2 & 3;
  REG(0x40021014) = 1; REG(0x40021018) = 0xFFFF; REG(0x4002101C) = 0xFFFFFFFF;
  /* PB5 pulled down, then up; PB13 an open drain output; PA2 alternate */
  REG(0x40010C00) = 0x44844444; results[6] = REG(0x40010C08) >> 5 & 1;
  REG(0x40010C10) = 1 << 5; results[7] = REG(0x40010C08) >> 5 & 1;
  REG(0x40010C04) = 0x44744444; REG(0x40010C14) = 1 << 13; results[8] = REG(0x40010C0C) >> 13 & 1;
  REG(0x40010800) = 0x44444B44;
  /* memory to memory by channel 1 */
  for (int i = 0; i < 16; i++) from[i] = (uint8_t)(5 * i + 2);
  REG(0x40020010) = (uint32_t)from; REG(0x40020014) = (uint32_t)to; REG(0x4002000C) = 16;
  REG(0x40020008) = 1 << 14 | 1 << 7 | 1 << 6 | 1;
  results[9] = to[15]; results[10] = REG(0x40020000) & 0xF;
  /* converter: calibrated, then channel 4 by SWSTART */
  REG(0x40012408) = 1; REG(0x40012408) = 1 | 1 << 2; results[11] = REG(0x40012408) & 0xC;
  REG(0x40012434) = 4; REG(0x40012408) = 1 | 7 << 17 | 1 << 20; REG(0x40012408) |= 1 << 22;
  while (!(REG(0x40012400) & 2)) {}
  results[12] = REG(0x4001244C);
  /* USART2 sends by channel 7 at 1.5 Mbit/s */
  REG(0xE000E100) = 1 << 17;
  REG(0x40004408) = 16; REG(0x40004414) = 1 << 7; REG(0x4000440C) = 0x200C;
  REG(0x40020008 + 120) = 0; REG(0x40020008 + 124) = sizeof(text) - 1; REG(0x40020008 + 128) = 0x40004404;
  REG(0x40020008 + 132) = (uint32_t)text;
  REG(0x40020008 + 120) = 1 << 7 | 1 << 4 | 1 << 1 | 1;
  while (!ended) __asm volatile("wfi");
  /* flash: a page of 1 KiB, half words that only fall */
  REG(0x40022004) = 0x45670123u; REG(0x40022004) = 0xCDEF89ABu;
  results[15] = REG(0x40022010) & 0x80;
  REG(0x40022010) = 1; REG16(0x08008000) = 0x1234; REG16(0x08008000) = 0xFF00; results[16] = REG(0x08008000);
  REG(0x40022010) = 2; REG(0x40022014) = 0x08008000; REG(0x40022010) = 2 | 0x40; results[17] = REG(0x08008000);
  results[18] = REG(0x4002200C) & 0x20;
  REG(0x40022010) = 0x80; results[19] = REG(0x40022010) & 0x80;
  phase = 1;
  for (;;) __asm volatile("wfi");
}

typedef void (*vector)(void);
__attribute__((section(".vectors"), used)) const vector vectors[16 + 60] = {
    (vector)0x20002000, reset_handler, [2 ... 32] = unused_handler, [33] = dma7_handler, [34 ... 75] = unused_handler,
};
