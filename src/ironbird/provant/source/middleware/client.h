/* High level protocol [ProVANT] Sec. 2.1: the board is the client. Numbers of the services as the paper or as the published
 * code has them (SERVICE_NUMBERS 0 or 1). */
#ifndef CLIENT_H
#define CLIENT_H
#include <stdint.h>

enum { SENSORS = 16, ACTUATORS = 4, REFERENCES = 9 };

typedef struct { /* what happened on the links; read by the bench */
  uint32_t periods, answers, timeouts, late, bad_frames, bad_lengths, references, bad_references, busy;
} client_counters;
extern volatile client_counters counters;

void client_start(void);                        /* service "start": no answer */
int client_sensors(float *values, uint32_t ticks); /* service "read sensors"; 0 if no answer came in time */
void client_actuators(const float *values);     /* service "actuators": no answer */
int client_reference(float *values, uint32_t ticks);
#endif
