/* Core level: vectors, memory, clocks. Interrupts that nobody uses, and faults, end in a loop that the watchdog ends. */
#include "kernel.h"
#include "start.h"
#include "stm32f4.h"

int main(void);
void usart2_handler(void);
void usart3_handler(void);

volatile uint32_t fault_record[4]; /* exception, CFSR, and how often since the start: for a debugger */

static void clocks(void) {
  RCC_CR |= 1u << 16; /* HSE, 8 MHz */
  while (!(RCC_CR >> 17 & 1)) {}
  FLASH_ACR = 0x705; /* five wait states, caches */
  RCC_PLLCFGR = 8 | 336 << 6 | 0 << 16 | 1 << 22 | 7 << 24; /* 8 MHz / 8 * 336 / 2 = 168 MHz */
  RCC_CR |= 1u << 24;
  while (!(RCC_CR >> 25 & 1)) {}
  RCC_CFGR = 5 << 10 | 4 << 13; /* APB1 / 4, APB2 / 2 */
  RCC_CFGR |= 2;
  while ((RCC_CFGR >> 2 & 3) != 2) {}
}

void reset_handler(void) {
  start_memory();
  clocks();
  main();
  for (;;) {}
}

void unused_handler(void) {
  fault_record[0] = exception_number();
  fault_record[1] = SCB_CFSR;
  fault_record[2]++;
  __asm volatile("cpsid i");
  for (;;) {}
}

typedef void (*vector)(void);
__attribute__((section(".vectors"), used)) const vector vectors[16 + 40] = {
    (vector)stack_top, reset_handler,
    [2 ... 10] = unused_handler,
    [11] = svc_handler, [12] = unused_handler, [13] = unused_handler,
    [14] = pendsv_handler, [15] = systick_handler,
    [16 ... 53] = unused_handler,
    [16 + 38] = usart2_handler, [16 + 39] = usart3_handler,
};
