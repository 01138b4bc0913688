/* Interrupts by software at several priorities: who comes when, with which return value, and whether registers survive. */
#include "common.h"

static volatile uint32_t depth;
static void say(uint32_t mark) {
  uint32_t number, back;
  __asm volatile("mrs %0, ipsr" : "=r"(number));
  (void)back;
  put_hex(mark << 16 | depth << 12 | number);
}
static void pend(uint32_t irq) {
  REG(0xE000E200 + 4 * (irq / 32)) = 1u << irq % 32;
  __asm volatile("dsb\n isb");
}
static void touch_floats(float seed) { /* spoil all that a frame has to save */
  register float a = seed;
  __asm volatile(
      "vmov.f32 s0, %0\n vadd.f32 s1, s0, s0\n vmul.f32 s2, s1, s1\n vmov.f32 s7, s2\n vmov.f32 s15, s1\n"
      "vmov.f32 s14, s2\n vmov.f32 s8, s0\n" ::"t"(a)
      : "s0", "s1", "s2", "s7", "s8", "s14", "s15");
}
void handler_10(void) { /* priority 0x80 */
  say(0xA0); depth++;
  touch_floats(3.5f);
  pend(11); /* 0x40: comes at once */
  say(0xA1);
  pend(12); /* 0xC0: waits */
  say(0xA2);
  pend(13); /* 0x80: equal, waits */
  say(0xA3);
  REG(0xE000ED04) = 1u << 28; /* PendSV: waits */
  say(0xA4); depth--;
}
void handler_11(void) {
  say(0xB0); depth++;
  touch_floats(7.25f);
  pend(14); /* 0x00: comes at once */
  say(0xB1); depth--;
}
void handler_12(void) { say(0xC0); }
void handler_13(void) { say(0xD0); }
void handler_14(void) { say(0xE0); touch_floats(-1.5f); }
void svc_call(void) { say(0xF0); pend(10); say(0xF1); }
void pendsv(void) { say(0xF8); }

int main(void) {
  start_serial();
  static const uint8_t level[5] = {0x80, 0x40, 0xC0, 0x80, 0x00};
  for (int i = 0; i < 5; i++) REG8(0xE000E400 + 10 + i) = level[i];
  REG(0xE000ED1C) = 0xA0u << 24; /* SVC */
  REG(0xE000ED20) = 0xF0u << 16; /* PendSV */
  REG(0xE000E100) = 0x1Fu << 10;
  float kept[4] = {1.25f, 2.5f, -3.0f, 9.0f}, after[4];
  __asm volatile(
      "vldm %0, {s0-s3}\n vmov.f32 s14, s0\n vmov.f32 s20, s3\n"
      "ldr r1, =0xE000E200\n mov r2, #0x400\n str r2, [r1]\n dsb\n isb\n" /* interrupt 10 */
      "vadd.f32 s3, s3, s20\n vsub.f32 s0, s0, s14\n vstm %1, {s0-s3}\n"
      ::"r"(kept), "r"(after) : "r1", "r2", "s0", "s1", "s2", "s3", "s14", "s20", "memory");
  put('\n');
  for (int i = 0; i < 4; i++) put_hex(((uint32_t *)after)[i]);
  put('\n');
  __asm volatile("cpsid i");
  pend(14); pend(12); pend(10);
  say(1);
  __asm volatile("cpsie i\n isb");
  say(2);
  put('\n');
  __asm volatile("msr basepri, %0\n isb" ::"r"(0x80)); /* only 0x40 and 0x00 come */
  pend(10); say(3); pend(11); say(4);
  __asm volatile("msr basepri, %0\n isb" ::"r"(0));
  say(5);
  put('\n');
  __asm volatile("svc 7");
  say(6);
  put('\n');
  REG(0xE000ED0C) = 0x05FA0000u | 6 << 8; /* one bit of preemption: 0x80 and 0xC0 are one group */
  pend(12); pend(13); say(7);
  uint32_t control;
  __asm volatile("mrs %0, control" : "=r"(control));
  put_hex(control & 4);
  put_text("done\n");
  for (;;) __asm volatile("wfi");
}

typedef void (*vector)(void);
__attribute__((section(".vectors"), used)) const vector vectors[16 + 82] = {
    (vector)stack_top, reset_handler, [2 ... 10] = unused_handler, [11] = svc_call, [12 ... 13] = unused_handler,
    [14] = pendsv, [15 ... 25] = unused_handler,
    [26] = handler_10, [27] = handler_11, [28] = handler_12, [29] = handler_13, [30] = handler_14,
    [31 ... 97] = unused_handler,
};
