#include "kernel.h"
#include "stm32f4.h"

typedef struct {
  uint32_t *sp; /* first: the switch knows its place */
  uint32_t wake;
  semaphore *wants;
  uint32_t waits; /* 1 while it waits for its tick or semaphore */
  uint32_t timed_out;
} task;

task os_tasks[TASKS];
task *os_current;
static volatile uint32_t os_ticks;
static volatile uint32_t os_signs;
static uint32_t idle_stack[64];

static inline uint32_t lock(void) {
  uint32_t before;
  __asm volatile("mrs %0, primask\n cpsid i" : "=r"(before)::"memory");
  return before;
}
static inline void unlock(uint32_t before) { __asm volatile("msr primask, %0" ::"r"(before) : "memory"); }
static inline void reschedule(void) {
  SCB_ICSR = 1u << 28;
  __asm volatile("dsb\n isb" ::: "memory");
}

void os_task(uint32_t number, void (*entry)(void), uint32_t *stack, uint32_t words) {
  uint32_t *sp = (uint32_t *)((uintptr_t)(stack + words) & ~7u);
  *--sp = 0x01000000u;            /* xPSR */
  *--sp = (uint32_t)entry & ~1u;  /* pc */
  *--sp = (uint32_t)entry;        /* lr: tasks do not return */
  for (int i = 0; i < 5; i++) *--sp = 0;
  *--sp = 0xFFFFFFFDu; /* to thread mode on the process stack, no floating-point frame */
  for (int i = 0; i < 8; i++) *--sp = 0;
  os_tasks[number].sp = sp;
  os_tasks[number].waits = 0;
}

static void idle(void) {
  for (;;) __asm volatile("wfi");
}

__attribute__((used)) void os_pick(void) {
  for (int i = 0; i < TASKS; i++)
    if (!os_tasks[i].waits) {
      os_current = &os_tasks[i];
      return;
    }
}

void os_start(void) {
  os_task(TASKS - 1, idle, idle_stack, 64);
  SCB_SHPR3 = 0xFFu << 16 | 0x40u << 24; /* PendSV last, SysTick before it */
  SYST_RVR = CORE_HZ / 1000 - 1;
  SYST_CVR = 0;
  SYST_CSR = 7;
#if WATCHDOG
  IWDG_KR = 0x5555;
  IWDG_PR = 0;
  IWDG_RLR = 799; /* 4 / 32 kHz * 800 = 100 ms */
  IWDG_KR = 0xCCCC;
#endif
  os_pick();
  __asm volatile("cpsie i\n svc 0");
  for (;;) {}
}

__attribute__((naked)) void svc_handler(void) {
  __asm volatile(
      "ldr r3, =os_current\n ldr r1, [r3]\n ldr r0, [r1]\n"
      "ldmia r0!, {r4-r11, lr}\n"
      "msr psp, r0\n isb\n bx lr\n");
}

__attribute__((naked)) void pendsv_handler(void) {
  __asm volatile(
      "mrs r0, psp\n isb\n"
      "ldr r3, =os_current\n ldr r2, [r3]\n"
      "tst lr, #0x10\n it eq\n vstmdbeq r0!, {s16-s31}\n"
      "stmdb r0!, {r4-r11, lr}\n str r0, [r2]\n"
      "push {r3, lr}\n cpsid i\n bl os_pick\n cpsie i\n pop {r3, lr}\n"
      "ldr r1, [r3]\n ldr r0, [r1]\n"
      "ldmia r0!, {r4-r11, lr}\n"
      "tst lr, #0x10\n it eq\n vldmiaeq r0!, {s16-s31}\n"
      "msr psp, r0\n isb\n bx lr\n");
}

void systick_handler(void) {
  uint32_t held = lock();
  os_ticks++;
  int woke = 0;
  for (int i = 0; i < TASKS - 1; i++) {
    task *t = &os_tasks[i];
    if (t->waits && t->wake != FOREVER && (int32_t)(os_ticks - t->wake) >= 0) {
      t->waits = 0;
      t->timed_out = 1;
      woke = 1;
    }
  }
  if (os_ticks % 24 == 0) {
    if (os_signs == 0xF) IWDG_KR = 0xAAAA;
    os_signs = 0;
  }
  unlock(held);
  if (woke) SCB_ICSR = 1u << 28;
}

uint32_t os_now(void) { return os_ticks; }

void os_alive(uint32_t number) {
  uint32_t held = lock();
  os_signs |= 1u << number;
  unlock(held);
}

static void wait(semaphore *s, uint32_t wake) {
  os_current->wants = s;
  os_current->wake = wake;
  os_current->timed_out = 0;
  os_current->waits = 1;
}

void os_sleep_until(uint32_t tick) {
  uint32_t held = lock();
  int later = (int32_t)(tick - os_ticks) > 0;
  if (later) wait(0, tick);
  unlock(held);
  if (later) reschedule();
}

int os_take(semaphore *s, uint32_t ticks) {
  uint32_t held = lock();
  if (!s->count) {
    wait(s, ticks == FOREVER ? FOREVER : os_ticks + ticks);
    unlock(held);
    reschedule();
    held = lock();
  }
  int got = s->count != 0;
  s->count = 0;
  unlock(held);
  return got;
}

void os_give(semaphore *s) {
  uint32_t held = lock();
  int woke = 0;
  s->count = 1;
  for (int i = 0; i < TASKS - 1 && !woke; i++)
    if (os_tasks[i].waits && os_tasks[i].wants == s) {
      os_tasks[i].waits = 0;
      woke = 1;
    }
  unlock(held);
  if (woke) reschedule();
}
