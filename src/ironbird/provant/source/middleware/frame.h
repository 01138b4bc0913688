/* Low level protocol [ProVANT] Sec. 2.1: 0x7E, payload, Fletcher-16, 0x7E, with 0x7D and XOR 0x20 for both inside. */
#ifndef FRAME_H
#define FRAME_H
#include <stdint.h>

enum { FRAME_FLAG = 0x7E, FRAME_ESCAPE = 0x7D, FRAME_FLIP = 0x20, FRAME_PAYLOAD = 132, FRAME_MOST = 2 * (FRAME_PAYLOAD + 2) + 2 };

typedef struct {
  uint8_t bytes[FRAME_PAYLOAD + 2];
  uint32_t count, escaped, broken;
  uint32_t good, bad;
} frame_reader;

uint32_t frame_write(uint8_t *out, const void *payload, uint32_t count); /* bytes written */
int frame_read(frame_reader *r, uint8_t byte);                           /* length of the payload that ends here; or 0 */
uint16_t frame_sum(const uint8_t *bytes, uint32_t count);
#endif
