/* What test images share: registers, a polled serial port (USART1, where QEMU's first -serial is), results. */
#include <stdint.h>
#define REG(a) (*(volatile uint32_t *)(a))
#define REG8(a) (*(volatile uint8_t *)(a))
#define REG16(a) (*(volatile uint16_t *)(a))

extern uint32_t stack_top[], bss_start[], bss_end[];
__attribute__((noinline)) int main(void);

void *memcpy(void *to, const void *from, __SIZE_TYPE__ count) {
  uint8_t *t = to;
  const uint8_t *f = from;
  while (count--) *t++ = *f++;
  return to;
}
void *memset(void *to, int value, __SIZE_TYPE__ count) {
  uint8_t *t = to;
  while (count--) *t++ = (uint8_t)value;
  return to;
}

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
  REG(0xE000ED88) |= 0xF << 20;
  __asm volatile("dsb\n isb");
  for (uint32_t *at = bss_start; at < bss_end;) *at++ = 0;
  main();
  for (;;) {}
}
void unused_handler(void) {
  uint32_t number;
  __asm volatile("mrs %0, ipsr" : "=r"(number));
  put_text("unexpected exception ");
  put_hex(number);
  put_hex(REG(0xE000ED28));
  put_text("done\n");
  for (;;) {}
}
