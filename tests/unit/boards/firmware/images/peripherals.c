/* One pass over the peripherals; what each did is left in `results` for the host to look at. */
#include "common.h"

volatile uint32_t results[64], phase, edges, captured, updates, seen_bor;
static uint8_t from[16], to[16];

void exti0_handler(void) { REG(0x40013C14) = 1; edges++; }
void tim3_handler(void) {
  uint32_t sr = REG(0x40000410);
  REG(0x40000410) = ~sr;
  if (sr & 1) updates++;
  if (sr & 2) captured = REG(0x40000434);
}

static uint32_t spi_byte(uint32_t value) {
  REG(0x4001300C) = value;
  while (!(REG(0x40013008) & 1)) {}
  return REG(0x4001300C);
}
static void wait_i2c(uint32_t flag) {
  for (uint32_t n = 0; !(REG(0x40005414) & flag); n++)
    if (n > 100000 || REG(0x40005414) & 0x400) { results[60]++; return; }
}
static uint32_t i2c_register(uint32_t address, uint32_t reg) { /* write the number, read one byte after a second start */
  REG(0x40005400) |= 0x100; wait_i2c(1);
  REG(0x40005410) = address << 1; wait_i2c(2);
  (void)REG(0x40005418);
  REG(0x40005410) = reg; wait_i2c(4);
  REG(0x40005400) |= 0x100; wait_i2c(1);
  REG(0x40005410) = address << 1 | 1; wait_i2c(2);
  REG(0x40005400) &= ~0x400u; /* no acknowledge: one byte */
  (void)REG(0x40005418);
  REG(0x40005400) |= 0x200;
  wait_i2c(0x40);
  return REG(0x40005410);
}

int main(void) {
  results[0] = REG(0x1FFF7A10); /* unique id */
  results[1] = REG16(0x1FFF7A22);
  REG(0x40020000) = 0; /* a port whose clock is off takes nothing */
  REG(0x40020000) = 0x1;
  results[2] = REG(0x40020000);
  REG(0x40023830) = 0x1FF | 1 << 21 | 1 << 22;
  REG(0x40023840) = 0xFFFFFFFFu;
  REG(0x40023844) = 0xFFFFFFFFu;
  /* ports: PB0 output, PA0 input with interrupt on both edges */
  REG(0x40020000) = 0xA8000000u;
  REG(0x40020400) = 0x1;
  REG(0x40020418) = 1;
  results[3] = REG(0x40020414) & 1;
  REG16(0x4002041A) = 1;
  results[4] = REG(0x40020414) & 1;
  REG(0x40013C00) = 1; REG(0x40013C08) = 1; REG(0x40013C0C) = 1;
  REG(0xE000E100) = 1 << 6 | 1 << 29;
  /* bit-band of SRAM and of a port's output */
  REG(0x42000000 + (0x20414 * 32) + 3 * 4) = 1;
  results[5] = REG(0x40020414);
  results[40] = 0;
  REG(0x22000000 + (((uint32_t)&results[40] - 0x20000000u) * 32) + 5 * 4) = 1;
  /* timer 3: 1 MHz counts (16 MHz / 16), period 1000, PWM on channel 2, capture on channel 1 */
  REG(0x40000428) = 15; REG(0x4000042C) = 999; REG(0x40000414) = 1; REG(0x40000410) = 0;
  REG(0x40000418) = 0x6801; REG(0x40000420) = 0x11; REG(0x40000438) = 250;
  REG(0x4000040C) = 3;
  REG(0x40000400) = 1;
  uint32_t a = REG(0x40000424), t0 = REG(0xE0001004);
  REG(0xE000EDFC) |= 1 << 24; REG(0xE0001000) |= 1; t0 = REG(0xE0001004);
  for (volatile int i = 0; i < 200; i++) {}
  results[6] = (REG(0x40000424) - a) * 16;       /* clocks by the timer */
  results[7] = REG(0xE0001004) - t0;             /* and by the cycle counter */
  /* converter: channel 5 */
  REG(0x40012034) = 5; REG(0x40012008) = 1; REG(0x40012008) = 1 | 1 << 30;
  while (!(REG(0x40012000) & 2)) {}
  results[8] = REG(0x4001204C);
  /* memory to memory */
  for (int i = 0; i < 16; i++) from[i] = (uint8_t)(3 * i + 1);
  REG(0x40026418) = (uint32_t)from; REG(0x4002641C) = (uint32_t)to; REG(0x40026414) = 16;
  REG(0x40026410) = 2 << 6 | 1 << 9 | 1 << 10 | 1;
  results[9] = to[15]; results[10] = REG(0x40026400) & 0x20;
  /* SPI: who am I of the chip on PA4 */
  REG(0x40020000) |= 1 << 8; REG(0x40020018) = 1 << 4;
  REG(0x40013000) = 1 << 2 | 1 << 6 | 3 << 8 | 1 << 3;
  REG(0x40020018) = 1 << 20;
  spi_byte(0x80 | 0x75);
  results[11] = spi_byte(0);
  REG(0x40020018) = 1 << 4;
  results[12] = spi_byte(0); /* nobody is selected */
  /* I2C: identification of the magnetometer */
  REG(0x40005404) = 16; REG(0x4000541C) = 80; REG(0x40005400) = 1 | 0x400;
  results[13] = i2c_register(0x1E, 10); REG(0x40005400) |= 0x400;
  results[14] = i2c_register(0x1E, 11); REG(0x40005400) |= 0x400;
  REG(0x40005400) |= 0x100; wait_i2c(1);
  REG(0x40005410) = 0x22 << 1;
  while (!(REG(0x40005414) & 0x402)) {}
  results[15] = REG(0x40005414) & 0x400; /* nobody has this address */
  REG(0x40005414) = 0; REG(0x40005400) |= 0x200;
  /* flash: locked, then erased and programmed */
  REG(0x08020000) = 0x11111111;
  results[16] = REG(0x08020000); results[17] = REG(0x40023C0C) & 0x80;
  REG(0x40023C04) = 0x45670123u; REG(0x40023C04) = 0xCDEF89ABu;
  REG(0x40023C10) = 2 | 5 << 3; REG(0x40023C10) |= 1 << 16;
  REG(0x40023C10) = 1 | 2 << 8;
  REG(0x08020000) = 0x12345678;
  REG(0x08020000) = 0xFFFF00FF; /* bits only fall */
  results[18] = REG(0x08020000);
  REG(0x40023C10) = 1u << 31;
  results[19] = REG(0x40023874) >> 24;
  phase = 1;
  while (edges < 2) __asm volatile("wfi");
  phase = 2;
  /* watchdog: 4/32 kHz * 80 = 10 ms, never fed */
  REG(0x40003000) = 0x5555; REG(0x40003004) = 0; REG(0x40003008) = 79; REG(0x40003000) = 0xCCCC;
  for (;;) __asm volatile("wfi");
}

typedef void (*vector)(void);
__attribute__((section(".vectors"), used)) const vector vectors[16 + 82] = {
    (vector)stack_top, reset_handler, [2 ... 21] = unused_handler, [22] = exti0_handler, [23 ... 44] = unused_handler,
    [45] = tim3_handler, [46 ... 97] = unused_handler,
};
