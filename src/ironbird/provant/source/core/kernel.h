/* A small real-time kernel: fixed priorities, preemption, one tick a millisecond, semaphores with a time limit. */
#ifndef KERNEL_H
#define KERNEL_H
#include <stdint.h>

enum { TASKS = 5 }; /* the last is the idle task */
#define FOREVER 0xFFFFFFFFu

typedef struct { volatile uint32_t count; } semaphore;

void os_task(uint32_t number, void (*entry)(void), uint32_t *stack, uint32_t words); /* number is priority: 0 first */
void os_start(void);
uint32_t os_now(void);                          /* ticks */
void os_sleep_until(uint32_t tick);
int os_take(semaphore *s, uint32_t ticks);      /* 0 if the time is over */
void os_give(semaphore *s);                     /* from tasks and interrupts; counts to one */
void os_alive(uint32_t number);                 /* the watchdog is fed while all four say so */

void svc_handler(void);
void pendsv_handler(void);
void systick_handler(void);
#endif
