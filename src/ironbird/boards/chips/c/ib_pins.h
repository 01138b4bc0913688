/* Buses at the level of pins: the same as ironbird/boards/chips/pins.py, slot for slot and bit for bit. */
#ifndef IB_PINS_H
#define IB_PINS_H

#include "ib_chips.h"

#define IB_EXPORT __attribute__((visibility("default")))

typedef struct ib_line {
  int64_t random, flip_low, flip_high, hold; /* shares of 2^32 */
  int64_t open, pull, shorted, level;
  uint64_t key, counter;
  int64_t before;
} ib_line;

static inline int64_t ib_broken(const ib_line *l) {
  return l->random || l->flip_low || l->flip_high || l->hold || l->open || l->shorted;
}

/* The level that the far end reads: random numbers by splitmix64. */
static int64_t ib_seen(ib_line *l, int64_t x) {
  if (l->random || l->flip_low || l->flip_high || l->hold) {
    uint64_t z = l->key + l->counter * UINT64_C(0x9E3779B97F4A7C15);
    l->counter++;
    z = (z ^ z >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ z >> 27) * UINT64_C(0x94D049BB133111EB);
    z ^= z >> 31;
    int64_t draw = (int64_t)(z & 0xFFFFFFFFu), was = l->before;
    l->before = x;
    if (x != was && draw < l->hold) x = was;
    if (draw < l->random)
      x = (int64_t)(z >> 63);
    else if (draw < (x ? l->flip_high : l->flip_low))
      x ^= 1;
  }
  if (l->open) x = l->pull;
  if (l->shorted) x = l->level;
  return x;
}

/* -------------------------------------------------------------------------------------- SPI */

typedef struct ib_spi {
  ib_line cs, sck, mosi, miso;
  int64_t was_cs, was_sck, bits, shift, out, ahead;
} ib_spi;

/* One slot of the chip's side; the level that it puts on the wire to the host. */
static inline __attribute__((always_inline)) int64_t ib_spi_slot(
    ib_spi *s, const ib_operations *o, void *chip, int64_t t, int64_t cs, int64_t sck, int64_t mosi) {
  if (s->was_cs != cs) {
    if (!cs) {
      o->spi_begin(chip, t);
      s->bits = s->shift = 0;
      s->out = s->ahead = o->spi_peek(chip);
    } else {
      o->spi_end(chip);
    }
    s->was_cs = cs;
  }
  if (!cs && s->was_sck != sck) {
    if (sck) {
      if (s->bits == 0) o->spi_commit(chip);
      s->shift = (s->shift << 1 | mosi) & 0xFF;
      if (++s->bits == 8) {
        o->spi_byte(chip, s->shift);
        s->bits = 0;
        s->ahead = o->spi_peek(chip);
      }
    } else {
      s->out = s->bits == 0 ? s->ahead : s->out << 1 & 0xFF;
    }
  }
  s->was_sck = sck;
  return cs ? 1 : s->out >> 7;
}

#define IB_SLOT(CS_, SCK_, MOSI_)                                                        \
  do {                                                                                   \
    int64_t c_ = (CS_), k_ = (SCK_), m_ = (MOSI_);                                       \
    if (broken) c_ = ib_seen(&s.cs, c_), k_ = ib_seen(&s.sck, k_), m_ = ib_seen(&s.mosi, m_); \
    miso = ib_spi_slot(&s, o, chip, t, c_, k_, m_);                                      \
    if (broken) miso = ib_seen(&s.miso, miso);                                           \
    if (record) record[slot] = (uint8_t)(c_ | k_ << 1 | m_ << 2 | miso << 3);            \
    slot++;                                                                              \
  } while (0)

/* One transaction; returns the number of slots. `record` has room for 16 n + 3, or is NULL. */
static int64_t ib_spi_run(ib_spi *wires, const ib_operations *o, void *chip, int64_t t, const uint8_t *sent,
                          uint8_t *got, int64_t n, uint8_t *record) {
  ib_spi s = *wires;
  int64_t slot = 0, miso = 1;
  if (n <= 0) return 0;
  const int64_t broken =
      ib_broken(&s.cs) || ib_broken(&s.sck) || ib_broken(&s.mosi) || ib_broken(&s.miso);
  IB_SLOT(0, 0, sent[0] >> 7);
  for (int64_t i = 0; i < n; i++) {
    int64_t value = sent[i], byte = 0;
    for (int bit = 7; bit >= 0; bit--) {
      IB_SLOT(0, 0, value >> bit & 1);
      IB_SLOT(0, 1, value >> bit & 1);
      byte = byte << 1 | miso;
    }
    got[i] = (uint8_t)byte;
  }
  IB_SLOT(0, 0, sent[n - 1] & 1);
  IB_SLOT(1, 0, sent[n - 1] & 1);
  *wires = s;
  return slot;
}

/* -------------------------------------------------------------------------------------- I2C */

#define IB_MOST_CHIPS 8
enum { IB_OK, IB_NACK, IB_TIMEOUT, IB_BUSY };
#define IB_QUICK_READ (-1) /* as a length: the address for reading, and no byte */

typedef struct ib_front {
  int64_t state, bits, shift, out, drive, reading, active, more;
  int64_t stretch, held; /* slots for which the clock is held low after each byte, and how many are left */
} ib_front;

typedef struct ib_i2c {
  ib_line scl, sda;
  int64_t was_scl, was_sda, count;
  ib_front front[IB_MOST_CHIPS];
  const ib_operations *operations[IB_MOST_CHIPS];
  void *chip[IB_MOST_CHIPS];
  int64_t time, slots;
  uint8_t *record;
  int64_t room;
} ib_i2c;

static void ib_i2c_falls(ib_i2c *w, ib_front *f, const ib_operations *o, void *chip) {
  if (f->state == 1 && f->bits == 8) {
    f->reading = f->shift & 1;
    if (o->i2c_match(chip, f->shift >> 1) && o->i2c_begin(chip, w->time, f->reading))
      f->state = 3, f->drive = 0, f->active = 1, f->held = f->stretch;
    else
      f->state = 0;
  } else if (f->state == 2 && f->bits == 8) {
    f->drive = o->i2c_byte(chip, f->shift) ? 0 : 1;
    f->state = 3, f->held = f->stretch;
  } else if ((f->state == 3 && f->reading) || (f->state == 5 && f->more)) {
    f->out = o->i2c_peek(chip);
    f->state = 4, f->bits = 0, f->drive = f->out >> 7;
  } else if (f->state == 3) {
    f->state = 2, f->bits = 0, f->shift = 0, f->drive = 1;
  } else if (f->state == 4) {
    if (f->bits == 8) {
      f->state = 5, f->drive = 1, f->held = f->stretch;
      o->i2c_done(chip);
    } else {
      f->drive = f->out >> (7 - f->bits) & 1;
    }
  } else if (f->state == 5) {
    f->state = 0;
  }
}

static void ib_i2c_chip(ib_i2c *w, int64_t i, int64_t scl, int64_t sda) {
  ib_front *f = &w->front[i];
  const ib_operations *o = w->operations[i];
  void *chip = w->chip[i];
  if (scl && w->was_scl) {
    if (w->was_sda && !sda) { /* start */
      f->state = 1, f->bits = 0, f->shift = 0, f->drive = 1;
    } else if (sda && !w->was_sda) { /* stop */
      if (f->active) o->i2c_end(chip);
      f->active = 0, f->state = 0, f->drive = 1;
    }
  } else if (scl) {
    if (f->state == 1 || f->state == 2) {
      f->shift = (f->shift << 1 | sda) & 0xFF;
      f->bits++;
    } else if (f->state == 4) {
      if (f->bits == 0) o->i2c_commit(chip);
      f->bits++;
    } else if (f->state == 5) {
      f->more = 1 - sda;
    }
  } else if (w->was_scl) {
    ib_i2c_falls(w, f, o, chip);
  }
}

#ifdef IB_WATCH /* for comparisons with hardware: what the host puts on the wires, and the first chip's pull */
static uint8_t ib_watched[IB_WATCH];
IB_EXPORT const uint8_t *ib_i2c_watched(void) { return ib_watched; }
#endif

static void ib_i2c_slot(ib_i2c *w, int64_t scl, int64_t sda) {
#ifdef IB_WATCH
  if (w->slots < IB_WATCH) ib_watched[w->slots] = (uint8_t)(scl | sda << 1 | w->front[0].drive << 2);
#endif
  for (int64_t i = 0; i < w->count; i++) {
    sda &= w->front[i].drive;
    if (w->front[i].held) scl = 0, w->front[i].held--;
  }
  scl = ib_seen(&w->scl, scl);
  sda = ib_seen(&w->sda, sda);
  for (int64_t i = 0; i < w->count; i++) ib_i2c_chip(w, i, scl, sda);
  w->was_scl = scl;
  w->was_sda = sda;
  if (w->record && w->slots < w->room) w->record[w->slots] = (uint8_t)(scl | sda << 1);
  w->slots++;
}

static int ib_i2c_raise(ib_i2c *w, int64_t sda) {
  for (int i = 0; i < 32; i++) {
    ib_i2c_slot(w, 1, sda);
    if (w->was_scl) return 1;
  }
  return 0;
}

static int ib_i2c_bit(ib_i2c *w, int64_t sda) {
  ib_i2c_slot(w, 0, sda);
  ib_i2c_slot(w, 0, sda);
  return ib_i2c_raise(w, sda);
}

static int ib_i2c_write(ib_i2c *w, int64_t value) {
  for (int bit = 7; bit >= 0; bit--) {
    int64_t level = value >> bit & 1;
    if (!ib_i2c_bit(w, level)) return IB_TIMEOUT;
    if (level && !w->was_sda) return IB_BUSY;
  }
  if (!ib_i2c_bit(w, 1)) return IB_TIMEOUT;
  return w->was_sda ? IB_NACK : IB_OK;
}

static int ib_i2c_run(ib_i2c *w, int64_t address, const uint8_t *sent, int64_t count, uint8_t *got,
                      int64_t length) {
  int error;
  ib_i2c_slot(w, 1, 0);
  if (count || !length) {
    if ((error = ib_i2c_write(w, address << 1))) return error;
    for (int64_t i = 0; i < count; i++)
      if ((error = ib_i2c_write(w, sent[i]))) return error;
    if (length) {
      if (!ib_i2c_bit(w, 1)) return IB_TIMEOUT;
      ib_i2c_slot(w, 1, 0);
    }
  }
  if (length) {
    if ((error = ib_i2c_write(w, address << 1 | 1))) return error;
    for (int64_t i = 0; i < length; i++) {
      int64_t value = 0;
      for (int bit = 0; bit < 8; bit++) {
        if (!ib_i2c_bit(w, 1)) return IB_TIMEOUT;
        value = value << 1 | w->was_sda;
      }
      got[i] = (uint8_t)value;
      if (!ib_i2c_bit(w, i == length - 1)) return IB_TIMEOUT;
    }
  }
  return IB_OK;
}

/* One transaction: 0 or the error; `slots` says how long it was. */
static int64_t ib_i2c_go(ib_i2c *w, int64_t t, int64_t address, const uint8_t *sent, int64_t count,
                         uint8_t *got, int64_t length) {
  w->time = t;
  w->slots = 0;
  ib_i2c_slot(w, 1, 1);
  for (int clocks = 0; !w->was_sda && clocks < 9; clocks++) {
    ib_i2c_slot(w, 0, 1);
    ib_i2c_slot(w, 0, 1);
    ib_i2c_slot(w, 1, 1);
  }
  if (!w->was_sda) return IB_BUSY;
  if (!w->was_scl && !ib_i2c_raise(w, 1)) return IB_TIMEOUT;
  int error = ib_i2c_run(w, address, sent, count, got, length);
  if (error == IB_OK || error == IB_NACK) {
    ib_i2c_slot(w, 0, 0);
    ib_i2c_slot(w, 0, 0);
    if (ib_i2c_raise(w, 0))
      ib_i2c_slot(w, 1, 1);
    else if (!error)
      error = IB_TIMEOUT;
  }
  ib_i2c_slot(w, 1, 1);
  return error;
}

/* -------------------------------------------------------------------------------------- UART */

/* Slots of a frame by its code: parity (1 odd, 2 even), and 4 for a second stop bit. */
static int64_t ib_frame_bits(int64_t code) { return 10 + ((code & 3) != 0) + (code >> 2); }

/* Bytes as they come in at the far end; `levels` has room for 12 n. `sends` and `hears` are the frames of both ends.
 * Returns how many came. */
static int64_t ib_uart_go(ib_line *l, const uint8_t *data, int64_t n, int64_t sender, int64_t receiver, int64_t sends,
                          int64_t hears, uint8_t *levels, uint8_t *got) {
  int64_t count = 0, end = 0, idle = l->shorted ? l->level : l->open ? l->pull : 1;
  for (int64_t i = 0; i < n; i++) {
    levels[end++] = (uint8_t)ib_seen(l, 0);
    for (int bit = 0; bit < 8; bit++) levels[end++] = (uint8_t)ib_seen(l, data[i] >> bit & 1);
    if (sends & 3) levels[end++] = (uint8_t)ib_seen(l, (__builtin_popcount(data[i]) + (sends & 3)) & 1);
    for (int64_t stop = 0; stop <= sends >> 2; stop++) levels[end++] = (uint8_t)ib_seen(l, 1);
  }
  for (int64_t at = 0; at < end;) {
    if (levels[at]) {
      at++;
      continue;
    }
    int64_t value = 0, parity = hears & 3, stop = 0, index = at;
    for (int64_t i = 0; i < (hears & 3 ? 10 : 9); i++) {
      index = (2 * at * receiver + sender * (3 + 2 * i)) / (2 * receiver);
      int64_t level = index < end ? levels[index] : idle;
      if (i < 8)
        value |= level << i, parity += level;
      else if (i == 8 && hears & 3)
        parity += level;
      else
        stop = level;
    }
    if (stop && !(hears & 3 && parity & 1)) got[count++] = (uint8_t)value;
    at = index > at ? index : at + 1;
  }
  return count;
}

/* -------------------------------------------------------------------------------------- for callers */

static const ib_operations *ib_operations_of(int64_t number);

IB_EXPORT int64_t ib_chip_size(int64_t number) { return ib_operations_of(number)->size; }
IB_EXPORT void ib_chip_start(int64_t number, void *chip, int64_t t) {
  ib_operations_of(number)->initial(chip);
  ib_operations_of(number)->power_on(chip, t);
}
IB_EXPORT void ib_chip_power(int64_t number, void *chip, int64_t t) { ib_operations_of(number)->power_on(chip, t); }
IB_EXPORT void ib_chip_advance(int64_t number, void *chip, int64_t t) { ib_operations_of(number)->advance(chip, t); }
IB_EXPORT void ib_chip_flood(int64_t number, void *chip) { ib_operations_of(number)->flood(chip); }
IB_EXPORT int64_t ib_spi_transfer(ib_spi *w, int64_t number, void *chip, int64_t t, const uint8_t *sent,
                                  uint8_t *got, int64_t n, uint8_t *record) {
  return ib_spi_run(w, ib_operations_of(number), chip, t, sent, got, n, record);
}
/* The same transaction many times, for measuring. */
IB_EXPORT int64_t ib_spi_repeat(ib_spi *w, int64_t number, void *chip, int64_t t, int64_t step, int64_t times,
                                const uint8_t *sent, uint8_t *got, int64_t n) {
  int64_t slots = 0;
  for (int64_t i = 0; i < times; i++)
    slots += ib_spi_run(w, ib_operations_of(number), chip, t + i * step, sent, got, n, 0);
  return slots;
}
IB_EXPORT void ib_i2c_attach(ib_i2c *w, int64_t place, int64_t number, void *chip) {
  w->operations[place] = ib_operations_of(number);
  w->chip[place] = chip;
  w->front[place].drive = 1;
}
IB_EXPORT int64_t ib_i2c_transfer(ib_i2c *w, int64_t t, int64_t address, const uint8_t *sent, int64_t count,
                                  uint8_t *got, int64_t length) {
  return ib_i2c_go(w, t, address, sent, count, got, length);
}
IB_EXPORT int64_t ib_uart_frames(ib_line *l, const uint8_t *data, int64_t n, int64_t sender, int64_t receiver,
                                 int64_t sends, int64_t hears, uint8_t *levels, uint8_t *got) {
  return ib_uart_go(l, data, n, sender, receiver, sends, hears, levels, got);
}
IB_EXPORT void ib_uart_byte(int64_t number, void *chip, int64_t t, int64_t value) {
  ib_operations_of(number)->uart_byte(chip, t, value);
}
IB_EXPORT int64_t ib_uart_next(int64_t number, void *chip, int64_t t) {
  return ib_operations_of(number)->uart_next(chip, t);
}
IB_EXPORT int64_t ib_uart_baud(int64_t number, void *chip) { return ib_operations_of(number)->uart_baud(chip); }
IB_EXPORT int64_t ib_uart_frame(int64_t number, void *chip) { return ib_operations_of(number)->uart_frame(chip); }

#endif
