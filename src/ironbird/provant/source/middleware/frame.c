#include "frame.h"

uint16_t frame_sum(const uint8_t *bytes, uint32_t count) {
  uint32_t a = 0, b = 0;
  for (uint32_t i = 0; i < count; i++) {
    a = (a + bytes[i]) % 255;
    b = (b + a) % 255;
  }
  return (uint16_t)(b << 8 | a);
}

static uint32_t put(uint8_t *out, uint8_t byte) {
  if (byte != FRAME_FLAG && byte != FRAME_ESCAPE) {
    out[0] = byte;
    return 1;
  }
  out[0] = FRAME_ESCAPE;
  out[1] = byte ^ FRAME_FLIP;
  return 2;
}

uint32_t frame_write(uint8_t *out, const void *payload, uint32_t count) {
  const uint8_t *bytes = payload;
  uint32_t at = 0;
  uint16_t sum = frame_sum(bytes, count);
  out[at++] = FRAME_FLAG;
  for (uint32_t i = 0; i < count; i++) at += put(out + at, bytes[i]);
  at += put(out + at, (uint8_t)sum);
  at += put(out + at, (uint8_t)(sum >> 8));
  out[at++] = FRAME_FLAG;
  return at;
}

int frame_read(frame_reader *r, uint8_t byte) {
  if (byte == FRAME_FLAG) {
    uint32_t count = r->count, whole = !r->broken && !r->escaped && count > 2;
    uint32_t empty = !count && !r->broken && !r->escaped;
    r->count = r->escaped = r->broken = 0;
    if (empty) return 0;
    if (whole && frame_sum(r->bytes, count - 2) == (r->bytes[count - 2] | r->bytes[count - 1] << 8)) {
      r->good++;
      return (int)count - 2;
    }
    r->bad++;
    return 0;
  }
  if (byte == FRAME_ESCAPE) {
    r->broken |= r->escaped;
    r->escaped = 1;
    return 0;
  }
  if (r->escaped) byte ^= FRAME_FLIP;
  r->escaped = 0;
  if (r->count < sizeof r->bytes) r->bytes[r->count++] = byte;
  else r->broken = 1;
  return 0;
}
