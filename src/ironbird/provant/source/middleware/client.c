#include "client.h"
#include "frame.h"
#include "serial.h"

#if SERVICE_NUMBERS == 0
enum { ID_START = 1, ID_SENSORS = 2, ID_ACTUATORS = 3 };
#else
enum { ID_START = 3, ID_SENSORS = 1, ID_ACTUATORS = 0 };
#endif

volatile client_counters counters;
static frame_reader readers[2];

static void ask(float id, const float *values, uint32_t count) {
  float payload[1 + ACTUATORS];
  uint8_t bytes[2 * sizeof payload + 6];
  payload[0] = id; /* numbers travel as floats, as the published code sends them */
  for (uint32_t i = 0; i < count; i++) payload[1 + i] = values[i];
  if (!serial_send(0, bytes, frame_write(bytes, payload, 4 * (1 + count)))) counters.busy++;
}

void client_start(void) {
  static const float nothing[ACTUATORS];
  ask(ID_START, nothing, ACTUATORS);
}

void client_actuators(const float *values) { ask(ID_ACTUATORS, values, ACTUATORS); }

static int take(uint32_t port, float *values, uint32_t count) {
  int byte, found = 0;
  while ((byte = serial_byte(port)) >= 0) {
    int length = frame_read(&readers[port], (uint8_t)byte);
    if (!length) continue;
    if (length != (int)(4 * count)) {
      counters.bad_lengths++;
      continue;
    }
    const uint8_t *from = readers[port].bytes;
    uint8_t *to = (uint8_t *)values;
    for (uint32_t i = 0; i < 4 * count; i++) to[i] = from[i];
    found++;
  }
  return found;
}

int client_sensors(float *values, uint32_t ticks) {
  float old[SENSORS];
  counters.late += (uint32_t)take(0, old, SENSORS); /* answers that nobody waits for any more */
  ask(ID_SENSORS, 0, 0);
  uint32_t end = os_now() + ticks;
  for (;;) {
    int32_t left = (int32_t)(end - os_now());
    if (left <= 0 || !serial_wait(0, (uint32_t)left)) break;
    int found = take(0, values, SENSORS);
    counters.bad_frames = readers[0].bad;
    if (found) {
      counters.answers++;
      counters.late += (uint32_t)found - 1;
      return 1;
    }
  }
  counters.timeouts++;
  return 0;
}

int client_reference(float *values, uint32_t ticks) {
  if (!serial_wait(1, ticks)) return 0;
  int found = take(1, values, REFERENCES);
  counters.references += (uint32_t)found;
  counters.bad_references = readers[1].bad;
  return found;
}
