/* A driver as autopilots have them: every millisecond an interrupt selects the inertial unit on SPI1 and starts DMA; the
 * end of DMA deselects it, and a frame (0xA5, clocks at the select, 14 bytes) leaves USART1 by DMA.  Between, the
 * barometer's and the compass's identities are read from I2C1 by DMA and interrupts, as ChibiOS does it [RM0090]. */
#include "common.h"

enum { SPI = 0x40013000, I2C = 0x40005400, USART = 0x40011000, DMA1 = 0x40026000, DMA2 = 0x40026400 };
#define STREAM(dma, s, field) REG((dma) + 0x10 + 0x18 * (s) + 4 * (field)) /* CR, NDTR, PAR, M0AR */
static uint8_t out[16], in[16], frame[20];
volatile uint32_t identity[2], transfers, i2c_state, overruns;
static uint8_t i2c_out[1], i2c_in[4];
static uint32_t i2c_address, at;

static void arm(uint32_t dma, uint32_t s, uint32_t channel, uint32_t flags, uint32_t port, void *memory, uint32_t count) {
  STREAM(dma, s, 0) = 0;
  REG(dma + (s < 4 ? 8 : 12)) = 0x3Du << ((s & 1 ? 6 : 0) + (s & 2 ? 16 : 0));
  STREAM(dma, s, 1) = count; STREAM(dma, s, 2) = port; STREAM(dma, s, 3) = (uint32_t)memory;
  STREAM(dma, s, 0) = channel << 25 | 1 << 10 | flags | 1;
}
static void spi_start(uint32_t count) {
  REG(0x40020018) = 1 << 20; /* PA4 low */
  at = REG(0xE0001004);
  arm(DMA2, 0, 3, 1 << 4, SPI + 12, in, count);
  arm(DMA2, 3, 3, 1 << 6, SPI + 12, out, count);
}
static void spi_write(uint8_t reg, uint8_t value) {
  out[0] = reg; out[1] = value;
  uint32_t before = transfers;
  spi_start(2);
  while (transfers == before) __asm volatile("wfi");
}

static volatile uint32_t sampling;
void spi_done(void) { /* DMA2 stream 0 */
  REG(DMA2 + 8) = 0x3D;
  REG(0x40020018) = 1 << 4;
  transfers++;
  if (!sampling) return;
  if (STREAM(DMA2, 7, 0) & 1) { overruns++; return; } /* the last frame has not left */
  frame[0] = 0xA5;
  memcpy(frame + 1, &at, 4);
  memcpy(frame + 5, in + 1, 14);
  arm(DMA2, 7, 4, 1 << 6, USART + 4, frame, 19);
}
void tick(void) {
  REG(0x40000410) = 0;
  if (sampling) spi_start(15);
}
void i2c_event(void) {
  uint32_t sr2 = REG(I2C + 0x18), sr1 = REG(I2C + 0x14);
  if (sr1 & 1) REG(I2C + 0x10) = i2c_address; /* SB */
  else if (sr1 & 2) { /* ADDR: the streams go on from here */
    REG(I2C + 4) &= ~0x200u;
    if (sr2 & 4) arm(DMA1, 6, 1, 1 << 6 | 1 << 4, I2C + 0x10, i2c_out, 1);
    else { arm(DMA1, 0, 1, 1 << 4, I2C + 0x10, i2c_in, 3); REG(I2C + 4) |= 0x1000; }
    (void)REG(I2C + 0x18);
  } else if (sr1 & 4) { /* BTF: read after write */
    (void)REG(I2C + 0x10);
    i2c_address |= 1;
    REG(I2C) |= 0x500;
  }
}
void i2c_error(void) { REG(I2C + 0x14) = 0; i2c_state = 2; }
void i2c_sent(void) { REG(DMA1 + 12) = 0x3Du << 16; REG(I2C + 4) |= 0x200; }
void i2c_received(void) { REG(DMA1 + 8) = 0x3D; REG(I2C + 4) &= ~0x1000u; REG(I2C) = (REG(I2C) & ~0x400u) | 0x200; i2c_state = 1; }
static uint32_t i2c_read(uint32_t address, uint8_t reg) {
  i2c_out[0] = reg; i2c_address = address << 1; i2c_state = 0;
  while (REG(I2C + 0x18) & 2 || REG(I2C) & 0x200) {}
  REG(I2C + 4) |= 0x200;
  REG(I2C) |= 0x500;
  while (!i2c_state) __asm volatile("wfi");
  return i2c_state == 1 ? i2c_in[0] | i2c_in[1] << 8 | i2c_in[2] << 16 : 0;
}

int main(void) {
  REG(0x40023830) = 0x1FF | 1 << 21 | 1 << 22;
  REG(0x40023840) = 1 << 1 | 1 << 21;
  REG(0x40023844) = 1 << 4 | 1 << 12;
  REG(0x40023820) = 1 << 21; REG(0x40023820) = 0; /* a reset of I2C1 */
  REG(0x40020000) |= 1 << 8; REG(0x40020018) = 1 << 4;
  REG(USART + 8) = 16; REG(USART + 0x14) = 1 << 7; REG(USART + 12) = 1 << 13 | 1 << 3; /* 1 Mbaud at 16 MHz, DMA */
  REG(SPI + 4) = 3; REG(SPI) = 1 << 2 | 1 << 6 | 3 << 8; /* 8 MHz, DMA both ways */
  REG(I2C + 4) = 16 | 0x800 | 0x100; REG(I2C + 0x1C) = 80; REG(I2C) = 1;
  REG(0xE000E100) = 1 << 11 | 1 << 17 | 1 << 29 | 1u << 31; /* DMA1 streams 0 and 6, timer 3, I2C1 events */
  REG(0xE000E104) = 1 << (32 - 32) | 1 << (56 - 32);       /* I2C1 errors, DMA2 stream 0 */
  identity[0] = i2c_read(0x1E, 10);
  identity[1] = i2c_read(0x22, 10); /* nobody */
  spi_write(0x6B, 0x01); spi_write(0x1A, 0x01); spi_write(0x19, 0x00); spi_write(0x6C, 0x00); /* awake, 1 kHz */
  memset(out, 0, sizeof out);
  out[0] = 0x80 | 0x3B;
  REG(0x40000428) = 15; REG(0x4000042C) = 999; REG(0x40000414) = 1; REG(0x40000410) = 0; REG(0x4000040C) = 1;
  sampling = 1;
  REG(0x40000400) = 1;
  for (;;) __asm volatile("wfi");
}

typedef void (*vector)(void);
__attribute__((section(".vectors"), used)) const vector vectors[16 + 82] = {
    (vector)stack_top, reset_handler, [2 ... 26] = unused_handler, [16 + 11] = i2c_received, [28 ... 32] = unused_handler,
    [16 + 17] = i2c_sent, [34 ... 44] = unused_handler, [16 + 29] = tick, [46] = unused_handler, [16 + 31] = i2c_event,
    [16 + 32] = i2c_error, [49 ... 71] = unused_handler, [16 + 56] = spi_done, [73 ... 97] = unused_handler,
};
