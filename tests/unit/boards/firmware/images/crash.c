/* Ways to crash, chosen by `how`, which the host sets. */
#include "common.h"
volatile uint32_t how, turns;
int main(void) {
  for (;;) {
    turns++;
    switch (how) {
      case 1: (void)REG(0x60000000); break;            /* a load from nowhere */
      case 2: __asm volatile("udf #1"); break;         /* an undefined instruction */
      case 3: ((void (*)(void))0x30000001)(); break;   /* a jump to nowhere */
      case 4: __asm volatile("mov sp, %0\n svc 0" ::"r"(0x70000000)); break; /* a stack nowhere */
      default: break;
    }
  }
}
volatile uint32_t caught[2];
void fault_handler(void) {
  caught[0]++;
  caught[1] = REG(0xE000ED28);
  for (;;) {}
}
typedef void (*vector)(void);
__attribute__((section(".vectors"), used)) const vector vectors[16] = {
    (vector)stack_top, reset_handler, unused_handler, fault_handler, [4 ... 15] = unused_handler};
