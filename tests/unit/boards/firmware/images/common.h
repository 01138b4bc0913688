/* What test images share: a polled serial port (USART1, where QEMU's first -serial is), results. */
#include "start.h"

__attribute__((noinline)) int main(void);

static void put(char c) {
  while (!(REG(0x40011000) & 0x80)) {}
  REG(0x40011004) = (uint8_t)c;
}
static void put_text(const char *text) { while (*text) put(*text++); }
static void put_hex(uint32_t value) {
  for (int i = 28; i >= 0; i -= 4) put("0123456789abcdef"[value >> i & 15]);
  put(' ');
}
static void start_serial(void) {
  REG(0x40023844) |= 1 << 4; /* USART1 */
  REG(0x40011008) = 139;     /* 115200 baud at 16 MHz */
  REG(0x4001100C) = 1 << 13 | 1 << 3 | 1 << 2;
}

void reset_handler(void) {
  start_memory();
  main();
  for (;;) {}
}
void unused_handler(void) {
  put_text("unexpected exception ");
  put_hex(exception_number());
  put_hex(REG(0xE000ED28));
  put_text("done\n");
  for (;;) {}
}
