/* What every image of ours shares: access to registers, memory before `main`, the functions that compilers call. */
#ifndef START_H
#define START_H
#include <stdint.h>

#define REG(a) (*(volatile uint32_t *)(a))
#define REG8(a) (*(volatile uint8_t *)(a))
#define REG16(a) (*(volatile uint16_t *)(a))

extern uint32_t data_source[], data_start[], data_end[], bss_start[], bss_end[], stack_top[]; /* of link.ld */

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

static inline void start_memory(void) {
  REG(0xE000ED88) |= 0xF << 20; /* CPACR: the FPU before anything that might use it */
  __asm volatile("dsb\n isb");
  uint32_t *from = data_source;
  for (uint32_t *to = data_start; to < data_end;) *to++ = *from++;
  for (uint32_t *to = bss_start; to < bss_end;) *to++ = 0;
}

static inline uint32_t exception_number(void) {
  uint32_t number;
  __asm volatile("mrs %0, ipsr" : "=r"(number));
  return number;
}
#endif
