/* Two serial ports at 921600 baud by DMA: port 0 is USART2 (sensors and actuators), port 1 is USART3 (references). */
#ifndef SERIAL_H
#define SERIAL_H
#include "../core/kernel.h"
#include <stdint.h>

enum { SERIAL_RING = 512 };
void serial_start(void);
int serial_send(uint32_t port, const uint8_t *bytes, uint32_t count); /* 0 while the last frame is still leaving */
int serial_byte(uint32_t port);                                      /* -1 if there is none */
int serial_wait(uint32_t port, uint32_t ticks);                      /* until something came; 0 if the time is over */
#endif
