/* Application level: the four tasks of [ProVANT] Fig. 8. The sensor task wakes every 12 ms; what it gets wakes the control
 * task, whose result wakes the actuator task; references come when they come. */
#include "../core/kernel.h"
#include "../core/stm32f4.h"
#include "../middleware/client.h"
#include "../middleware/serial.h"
#include "law.h"

enum { PERIOD = 12, PATIENCE = 10, SENSOR_TASK = 0, CONTROL_TASK = 1, ACTUATOR_TASK = 2, REFERENCE_TASK = 3 };

static float measured[SENSORS], wanted[ACTUATORS], reference[REFERENCES];
static semaphore measured_ready, wanted_ready;
static uint32_t sensor_stack[256], control_stack[1024], actuator_stack[256], reference_stack[256];

/* One turn of each task: places at which a task can be made to hang. */
__attribute__((noinline)) void sensor_turn(uint32_t start) {
  float values[SENSORS];
  os_sleep_until(start);
  counters.periods++;
  if (client_sensors(values, PATIENCE)) {
    for (int i = 0; i < SENSORS; i++) measured[i] = values[i];
    os_give(&measured_ready);
  }
  os_alive(SENSOR_TASK);
}

__attribute__((noinline)) void control_turn(void) {
  float state[SENSORS], now[REFERENCES], result[ACTUATORS];
  if (os_take(&measured_ready, PERIOD)) {
    for (int i = 0; i < SENSORS; i++) state[i] = measured[i];
    __asm volatile("cpsid i" ::: "memory"); /* references come in the middle of everything */
    for (int i = 0; i < REFERENCES; i++) now[i] = reference[i];
    __asm volatile("cpsie i" ::: "memory");
    law_step(state, now, result);
    for (int i = 0; i < ACTUATORS; i++) wanted[i] = result[i];
    os_give(&wanted_ready);
  }
  os_alive(CONTROL_TASK);
}

__attribute__((noinline)) void actuator_turn(void) {
  if (os_take(&wanted_ready, PERIOD)) client_actuators(wanted);
  os_alive(ACTUATOR_TASK);
}

__attribute__((noinline)) void reference_turn(void) {
  float values[REFERENCES];
  if (client_reference(values, PERIOD)) {
    __asm volatile("cpsid i" ::: "memory");
    for (int i = 0; i < REFERENCES; i++) reference[i] = values[i];
    __asm volatile("cpsie i" ::: "memory");
  }
  os_alive(REFERENCE_TASK);
}

static void sensor_task(void) {
  client_start();
  for (uint32_t start = os_now() + PERIOD;; start += PERIOD) {
    GPIO_BSRR(GPIOD) = 1u << (start / PERIOD % 50 < 25 ? 12 : 28); /* a light that blinks */
    sensor_turn(start);
  }
}
static void control_task(void) {
  law_start();
  for (;;) control_turn();
}
static void actuator_task(void) {
  for (;;) actuator_turn();
}
static void reference_task(void) {
  for (;;) reference_turn();
}

int main(void) {
  serial_start();
  GPIO_MODER(GPIOD) |= 0x55000000u;
  os_task(SENSOR_TASK, sensor_task, sensor_stack, 256);
  os_task(CONTROL_TASK, control_task, control_stack, 1024);
  os_task(ACTUATOR_TASK, actuator_task, actuator_stack, 256);
  os_task(REFERENCE_TASK, reference_task, reference_stack, 256);
  os_start();
}
