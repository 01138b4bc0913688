/* A board in one piece of memory that processes may share: chips, wires, what is wrong with them, twins on whole wires,
 * and the first level that differs.  The same as ironbird/boards/wiring.py, request for request.
 *
 * Nothing here has a clock: every request brings its time in nanoseconds.  Whoever feeds the chips moves them to a
 * moment first (`ib_board_tick`).  Addresses of chips and operations are set anew for each request, because another
 * process may have made the last one. */
#ifndef IB_BOARD_H
#define IB_BOARD_H

#include "ib_pins.h"

#define IB_DEVICES 16
#define IB_PAIRS 4    /* I2C buses */
#define IB_ROOM 32768 /* bytes of one chip */
#define IB_NAME 64
#define IB_INPUTS 16
#define IB_LONGEST 4096 /* bytes of one request */
#define IB_BOARD_MAGIC INT64_C(0x647261426e6f7249)
#define IB_BOARD_RECORD (36 * 29 * 64)
#define IB_PULSES 16 /* outputs and pins under /sys/class (boards/c/sysfs.c) */
#define IB_PINS 64
enum { IB_SPI, IB_I2C, IB_UART, IB_SYSFS };

typedef struct ib_first { /* the first level on a wire that differs from the twin's; slot -1: none */
  int64_t watch, time, request, line, slot;
} ib_first;

typedef struct ib_serial {
  int64_t baud, frame, free, asked; /* of the host; when the line from the chip is free; the last look at it */
} ib_serial;

typedef struct ib_device {
  int64_t chip, kind, bus, select, twinned, off, nack, lost, doubled, swapped, stretch;
  double drift;
  ib_line draw, tx, rx;
  ib_spi spi, twin_spi;
  ib_serial serial, twin_serial;
  ib_first first;
  char name[IB_NAME], file[IB_NAME];
} ib_device;

typedef struct ib_pair {
  int64_t number, twinned, count, device[IB_MOST_CHIPS];
  ib_i2c wires, twin;
  ib_first first;
  char file[IB_NAME];
} ib_pair;

typedef struct ib_pulse {
  int64_t chip, channel, exported, period_ns, duty_ns, enabled, inversed;
} ib_pulse;

typedef struct ib_pin {
  int64_t exported, out, value;
} ib_pin;

typedef struct ib_board {
  int64_t magic, size, devices, pairs, zero_ns, lock, requests, virtual_time, by_socket, traced;
  uint64_t hash; /* over every request and answer */
  int64_t pulses, first_pin, pins;
  ib_pulse pulse[IB_PULSES];
  ib_pin pin[IB_PINS];
  ib_device device[IB_DEVICES];
  ib_pair pair[IB_PAIRS];
  uint8_t chip[IB_DEVICES][IB_ROOM] __attribute__((aligned(16)));
  uint8_t twin[IB_DEVICES][IB_ROOM] __attribute__((aligned(16)));
} ib_board;

static uint8_t ib_record_here[IB_BOARD_RECORD], ib_record_there[IB_BOARD_RECORD]; /* under the board's lock */
static uint8_t ib_twin_got[IB_LONGEST], ib_levels[12 * IB_LONGEST], ib_clean[12 * IB_LONGEST];
static uint8_t ib_frames[12 * IB_LONGEST], ib_doubled[24 * IB_LONGEST];

static void ib_board_hash(ib_board *b, const void *data, int64_t n) {
  const uint8_t *at = data;
  uint64_t h = b->hash;
  for (int64_t i = 0; i < n; i++) h = (h ^ at[i]) * UINT64_C(0x100000001b3);
  b->hash = h ^ h >> 29;
}

static const ib_operations *ib_board_operations(const ib_device *d) { return ib_operations_of(d->chip); }

/* ---------------------------------------------------------------------------------- twins */

/* Note the first slot in which two records differ; records of unequal length differ where the shorter one ends. */
static void ib_board_compare(ib_board *b, ib_first *f, int64_t t, const uint8_t *here, int64_t n, const uint8_t *there,
                             int64_t m, int64_t same, int64_t line) {
  if (!f->watch) return;
  int64_t shorter = n < m ? n : m, slot = 0;
  while (slot < shorter && here[slot] == there[slot]) slot++;
  if (slot == n && slot == m) {
    if (same) return;
    slot = 0;
  } else if (slot < shorter && line < 0) {
    int64_t different = here[slot] ^ there[slot];
    line = 0;
    while (!(different >> line & 1)) line++;
  }
  f->watch = 0;
  f->time = t, f->request = b->requests, f->slot = slot, f->line = line < 0 ? -line : line;
}

/* ---------------------------------------------------------------------------------- SPI */

static void ib_spi_bytes(const ib_operations *o, void *chip, int64_t t, const uint8_t *sent, uint8_t *got, int64_t n) {
  o->spi_begin(chip, t);
  for (int64_t i = 0; i < n; i++) {
    const int64_t value = sent[i];
    got[i] = (uint8_t)o->spi_peek(chip);
    o->spi_commit(chip);
    o->spi_byte(chip, value);
  }
  o->spi_end(chip);
}

static int ib_spi_whole(const ib_spi *s) {
  return !(ib_broken(&s->cs) || ib_broken(&s->sck) || ib_broken(&s->mosi) || ib_broken(&s->miso));
}

static int64_t ib_board_spi_(ib_board *b, int64_t t, int64_t bus, int64_t select, const uint8_t *sent, uint8_t *got,
                             int64_t n) {
  int64_t number = -1, chosen;
  for (int64_t i = 0; i < b->devices; i++)
    if (b->device[i].kind == IB_SPI && b->device[i].bus == bus && b->device[i].select == select) number = i;
  if (number < 0) {
    for (int64_t i = 0; i < n; i++) got[i] = 0xFF;
    return 0;
  }
  ib_device *d = &b->device[number];
  chosen = number;
  if (d->swapped)
    for (int64_t k = 1; k <= b->devices; k++) {
      const ib_device *other = &b->device[(number + k) % b->devices];
      if (other->kind == IB_SPI && other->bus == bus) {
        chosen = (number + k) % b->devices;
        break;
      }
    }
  ib_device *c = &b->device[chosen];
  const ib_operations *o = ib_board_operations(c);
  const int watching = d->twinned && d->first.watch && 16 * n + 3 <= IB_BOARD_RECORD;
  int64_t here = 0;
  if (d->off)
    for (int64_t i = 0; i < n; i++) got[i] = 0xFF;
  else if (!watching && ib_spi_whole(&c->spi))
    ib_spi_bytes(o, b->chip[chosen], t, sent, got, n);
  else
    here = ib_spi_run(&c->spi, o, b->chip[chosen], t, sent, got, n, watching ? ib_record_here : 0);
  if (d->twinned) {
    const int64_t there = ib_spi_run(&d->twin_spi, ib_board_operations(d), b->twin[number], t, sent, ib_twin_got, n,
                                     watching ? ib_record_there : 0);
    if (watching) ib_board_compare(b, &d->first, t, ib_record_here, here, ib_record_there, there, 1, -3);
  }
  return 0;
}

/* ---------------------------------------------------------------------------------- I2C */

/* A transaction without wires, with those chips that are not deaf; all that match take part. */
static int64_t ib_i2c_bytes(ib_board *b, const ib_pair *p, const uint8_t *deaf, int64_t t, int64_t address,
                            const uint8_t *sent, int64_t count, uint8_t *got, int64_t length) {
  uint8_t on[IB_MOST_CHIPS];
  int64_t some = 0;
#define IB_EACH for (int64_t i = 0; i < p->count; i++) if (on[i])
#define IB_CALL(name, ...) ib_board_operations(&b->device[p->device[i]])->name(b->chip[p->device[i]], ##__VA_ARGS__)
  for (int64_t i = 0; i < p->count; i++) on[i] = !deaf[i] && IB_CALL(i2c_match, address);
  if (count || !length) {
    IB_EACH some += on[i] = IB_CALL(i2c_begin, t, 0) != 0;
    if (!some) return IB_NACK;
    for (int64_t k = 0; k < count; k++) {
      int64_t taken = 0;
      IB_EACH taken += IB_CALL(i2c_byte, sent[k]) != 0;
      if (!taken) {
        IB_EACH IB_CALL(i2c_end);
        return IB_NACK;
      }
    }
  }
  if (length) {
    uint8_t written[IB_MOST_CHIPS];
    int64_t reading = 0;
    for (int64_t i = 0; i < p->count; i++) written[i] = on[i] && some;
    IB_EACH reading += on[i] = IB_CALL(i2c_begin, t, 1) != 0;
    if (!reading) {
      for (int64_t i = 0; i < p->count; i++)
        if (written[i]) IB_CALL(i2c_end);
      return IB_NACK;
    }
    for (int64_t k = 0; k < length; k++) {
      int64_t value = 0xFF;
      IB_EACH {
        value &= IB_CALL(i2c_peek);
        IB_CALL(i2c_commit);
        IB_CALL(i2c_done);
      }
      got[k] = (uint8_t)value;
    }
    if (length == IB_QUICK_READ) { /* the stop comes with the first bit; a chip that sends all zeros ends its byte */
      IB_EACH {
        const int64_t value = IB_CALL(i2c_peek);
        IB_CALL(i2c_commit);
        if (!value) IB_CALL(i2c_done);
      }
    }
  }
  IB_EACH IB_CALL(i2c_end);
  return IB_OK;
#undef IB_EACH
#undef IB_CALL
}

static int64_t ib_board_i2c_(ib_board *b, int64_t t, int64_t bus, int64_t address, const uint8_t *sent, int64_t count,
                             uint8_t *got, int64_t length) {
  ib_pair *p = 0;
  for (int64_t i = 0; i < b->pairs; i++)
    if (b->pair[i].number == bus) p = &b->pair[i];
  if (!p) return IB_NACK;
  uint8_t deaf[IB_MOST_CHIPS], any = 0, slow = 0, watching = p->twinned && p->first.watch;
  for (int64_t i = 0; i < p->count; i++) {
    ib_device *d = &b->device[p->device[i]];
    deaf[i] = d->off != 0;
    if (d->nack && ib_board_operations(d)->i2c_match(b->chip[p->device[i]], address)) {
      d->draw.flip_high = d->nack;
      deaf[i] |= !ib_seen(&d->draw, 1);
    }
    any |= deaf[i];
    slow |= d->stretch > 0;
    p->wires.front[i].stretch = d->stretch;
    watching |= p->twinned && d->first.watch;
  }
  int64_t error, here = 0;
  if (any || (!watching && !slow && !ib_broken(&p->wires.scl) && !ib_broken(&p->wires.sda))) {
    error = ib_i2c_bytes(b, p, deaf, t, address, sent, count, got, length);
  } else {
    for (int64_t i = 0; i < p->count; i++) {
      p->wires.operations[i] = ib_board_operations(&b->device[p->device[i]]);
      p->wires.chip[i] = b->chip[p->device[i]];
    }
    p->wires.record = watching ? ib_record_here : 0, p->wires.room = IB_BOARD_RECORD;
    error = ib_i2c_go(&p->wires, t, address, sent, count, got, length);
    here = p->wires.slots < IB_BOARD_RECORD ? p->wires.slots : IB_BOARD_RECORD;
    p->wires.record = 0;
  }
  if (p->twinned) {
    for (int64_t i = 0; i < p->count; i++) {
      p->twin.operations[i] = ib_board_operations(&b->device[p->device[i]]);
      p->twin.chip[i] = b->twin[p->device[i]];
    }
    p->twin.record = watching ? ib_record_there : 0, p->twin.room = IB_BOARD_RECORD;
    const int64_t expected = ib_i2c_go(&p->twin, t, address, sent, count, ib_twin_got, length);
    int64_t there = p->twin.slots < IB_BOARD_RECORD ? p->twin.slots : IB_BOARD_RECORD;
    int64_t same = error == expected;
    for (int64_t i = 0; same && !error && i < length; i++) same = got[i] == ib_twin_got[i];
    if (any) here = there = 0; /* a chip that does not answer: what came back says it */
    p->twin.record = 0;
    if (watching) {
      ib_board_compare(b, &p->first, t, ib_record_here, here, ib_record_there, there, same, -1);
      for (int64_t i = 0; i < p->count; i++)
        ib_board_compare(b, &b->device[p->device[i]].first, t, ib_record_here, here, ib_record_there, there, same, -1);
    }
  }
  return error;
}

/* ---------------------------------------------------------------------------------- UART */

static int ib_serial_fits(int64_t here, int64_t there) {
  const int64_t apart = here > there ? here - there : there - here;
  return (double)apart <= 0.03 * (double)here;
}

/* Bytes lost and doubled at their shares. */
static int64_t ib_board_losses(ib_device *d, const uint8_t *data, int64_t n, uint8_t *out) {
  int64_t count = 0;
  for (int64_t i = 0; i < n; i++) {
    d->draw.flip_high = d->lost;
    if (d->lost && !ib_seen(&d->draw, 1)) continue;
    out[count++] = data[i];
    d->draw.flip_high = d->doubled;
    if (d->doubled && !ib_seen(&d->draw, 1)) out[count++] = data[i];
  }
  return count;
}

static int64_t ib_drifted(const ib_device *d, int64_t baud) { return (int64_t)((double)baud * (1.0 + d->drift) + 0.5); }

static int64_t ib_same_bytes(const uint8_t *a, int64_t n, const uint8_t *b, int64_t m) {
  if (n != m) return 0;
  for (int64_t i = 0; i < n; i++)
    if (a[i] != b[i]) return 0;
  return 1;
}

static void ib_board_send_(ib_board *b, int64_t t, int64_t number, const uint8_t *data, int64_t n) {
  ib_device *d = &b->device[number];
  const ib_operations *o = ib_board_operations(d);
  void *chip = b->chip[number];
  ib_line whole = {0};
  whole.before = 1;
  const int64_t baud = d->serial.baud > 0 ? d->serial.baud : 9600, far = ib_drifted(d, o->uart_baud(chip));
  const int64_t sends = d->serial.frame, hears = o->uart_frame(chip), slots = ib_frame_bits(sends);
  int64_t came = 0, levels = slots * n;
  const uint8_t *bytes = data;
  const int matched = ib_serial_fits(baud, far);
  if (!ib_broken(&d->tx) && d->drift == 0.0 && (sends == hears || !matched)) {
    came = matched ? n : 0;
    if (d->twinned) ib_uart_go(&whole, data, n, baud, baud, sends, hears, ib_levels, ib_frames);
  } else {
    came = ib_uart_go(&d->tx, data, n, baud, far > 0 ? far : 1, sends, hears, ib_levels, ib_frames);
    bytes = ib_frames;
  }
  if (d->lost || d->doubled) came = ib_board_losses(d, bytes, came, ib_doubled), bytes = ib_doubled;
  const int64_t step = slots * INT64_C(1000000000) / baud;
  for (int64_t k = 0; !d->off && k < came; k++) o->uart_byte(chip, t + (k + 1) * step, bytes[k]);
  if (d->twinned) {
    const int fits = sends == hears && ib_serial_fits(baud, o->uart_baud(b->twin[number]));
    for (int64_t k = 0; fits && k < n; k++) o->uart_byte(b->twin[number], t + (k + 1) * step, data[k]);
    const int64_t same = !d->off && ib_same_bytes(bytes, came, data, fits ? n : 0);
    ib_uart_go(&whole, data, n, baud, baud, sends, sends, ib_clean, ib_frames);
    ib_board_compare(b, &d->first, t, ib_levels, levels, ib_clean, levels, same, 0);
  }
}

/* Bytes that have left a chip whole until a moment, at its own rate. */
static int64_t ib_serial_take(ib_serial *s, const ib_operations *o, void *chip, int64_t t, uint8_t *out, int64_t room) {
  int64_t count = 0, at = s->free > s->asked ? s->free : s->asked;
  o->advance(chip, t);
  for (;;) {
    const int64_t baud = o->uart_baud(chip), slots = ib_frame_bits(o->uart_frame(chip));
    const int64_t step = slots * INT64_C(1000000000) / (baud > 0 ? baud : 1);
    if (at + step > t || count == room) {
      s->free = at;
      return count;
    }
    const int64_t value = o->uart_next(chip, t);
    if (value < 0) {
      s->free = at, s->asked = t;
      return count;
    }
    at += step;
    out[count++] = (uint8_t)value;
  }
}

/* Bytes that have come in at the host; `out` has room for IB_LONGEST. */
static int64_t ib_board_receive_(ib_board *b, int64_t t, int64_t number, uint8_t *out) {
  ib_device *d = &b->device[number];
  const ib_operations *o = ib_board_operations(d);
  ib_line whole = {0};
  whole.before = 1;
  static uint8_t raw[IB_LONGEST];
  const int64_t n = ib_serial_take(&d->serial, o, b->chip[number], t, raw, IB_LONGEST / 2);
  const int64_t baud = d->serial.baud > 0 ? d->serial.baud : 9600, near = ib_drifted(d, o->uart_baud(b->chip[number]));
  const int64_t sends = o->uart_frame(b->chip[number]), hears = d->serial.frame, slots = ib_frame_bits(sends);
  int64_t came = n;
  const uint8_t *bytes = raw;
  const int matched = ib_serial_fits(baud, near);
  if (!ib_broken(&d->rx) && d->drift == 0.0 && (sends == hears || !matched)) {
    came = matched ? n : 0;
    if (d->twinned) ib_uart_go(&whole, raw, n, near, near, sends, hears, ib_levels, ib_frames);
  } else {
    came = ib_uart_go(&d->rx, raw, n, near > 0 ? near : 1, baud, sends, hears, ib_levels, ib_frames);
    bytes = ib_frames;
  }
  if (d->lost || d->doubled) came = ib_board_losses(d, bytes, came, ib_doubled), bytes = ib_doubled;
  if (d->off) came = 0;
  if (came > IB_LONGEST) came = IB_LONGEST;
  for (int64_t i = 0; i < came; i++) out[i] = bytes[i];
  if (d->twinned) {
    const int64_t m = ib_serial_take(&d->twin_serial, o, b->twin[number], t, ib_twin_got, IB_LONGEST / 2);
    const int fits = sends == hears && ib_serial_fits(baud, o->uart_baud(b->twin[number]));
    ib_uart_go(&whole, ib_twin_got, m, near, near, sends, sends, ib_clean, ib_frames);
    const int64_t same = ib_same_bytes(out, came, ib_twin_got, fits ? m : 0);
    ib_board_compare(b, &d->first, t, ib_levels, slots * n, ib_clean, slots * m, same, 1);
  }
  return came;
}

/* ---------------------------------------------------------------------------------- for callers */

static void ib_board_note(ib_board *b, int64_t t, int64_t kind, int64_t bus, int64_t place, int64_t status,
                          const uint8_t *sent, int64_t n, const uint8_t *got, int64_t m) {
  const int64_t head[7] = {t, kind, bus, place, status, n, m};
  ib_board_hash(b, head, sizeof head);
  ib_board_hash(b, sent, n);
  ib_board_hash(b, got, m);
}

IB_EXPORT int64_t ib_board_size(void) { return sizeof(ib_board); }
/* Power for every chip and twin of a board whose devices are filled in. */
IB_EXPORT void ib_board_start(ib_board *b, int64_t t) {
  for (int64_t i = 0; i < b->devices; i++) {
    ib_chip_start(b->device[i].chip, b->chip[i], t);
    ib_chip_start(b->device[i].chip, b->twin[i], t);
  }
  for (int64_t k = 0; k < b->pairs; k++)
    for (int64_t i = 0; i < b->pair[k].count; i++) b->pair[k].wires.front[i].drive = b->pair[k].twin.front[i].drive = 1;
}
/* The board is one process's at a time. Whoever holds it for a second was killed meanwhile. Waiting threads sleep: one
 * of real-time priority would keep the holder from running. */
#define IB_SPINS 100
#define IB_PATIENCE (IB_SPINS + 10000)
#define IB_WAIT_NS 100000
IB_EXPORT void ib_board_take(ib_board *b) {
  for (int64_t tries = 0;; tries++) {
    int64_t nobody = 0;
    if (__atomic_compare_exchange_n(&b->lock, &nobody, 1, 0, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED) || tries > IB_PATIENCE) return;
#if defined(__x86_64__) && defined(__linux__)
    const int64_t wait[2] = {0, IB_WAIT_NS};
    long r;
    if (tries > IB_SPINS) __asm__ volatile("syscall" : "=a"(r) : "a"(35), "D"(wait), "S"(0) : "rcx", "r11", "memory"); /* nanosleep */
    else __builtin_ia32_pause();
#endif
  }
}
IB_EXPORT void ib_board_give(ib_board *b) { __atomic_store_n(&b->lock, 0, __ATOMIC_RELEASE); }

static int64_t ib_board_spi_noted(ib_board *b, int64_t t, int64_t bus, int64_t select, const uint8_t *sent, uint8_t *got,
                                  int64_t n) {
  if (n <= 0 || n > IB_LONGEST) return IB_BUSY;
  b->requests++;
  const int64_t error = ib_board_spi_(b, t, bus, select, sent, got, n);
  ib_board_note(b, t, IB_SPI, bus, select, error, sent, n, got, n);
  return error;
}
static int64_t ib_board_i2c_noted(ib_board *b, int64_t t, int64_t bus, int64_t address, const uint8_t *sent,
                                  int64_t count, uint8_t *got, int64_t length) {
  if (count < 0 || length < IB_QUICK_READ || count > IB_LONGEST || length > IB_LONGEST) return IB_BUSY;
  b->requests++;
  const int64_t error = ib_board_i2c_(b, t, bus, address, sent, count, got, length);
  ib_board_note(b, t, IB_I2C, bus, address, error, sent, count, got, error || length < 0 ? 0 : length);
  return error;
}

/* Move all chips to a moment; then what they measure changes. */
IB_EXPORT void ib_board_tick(ib_board *b, int64_t t, const double *inputs) {
  ib_board_take(b);
  for (int64_t i = 0; i < b->devices; i++) {
    const ib_operations *o = ib_board_operations(&b->device[i]);
    double *to = (double *)b->chip[i], *twin = (double *)b->twin[i]; /* `inputs` is the first field of every chip */
    o->advance(b->chip[i], t);
    if (b->device[i].twinned) o->advance(b->twin[i], t);
    for (int k = 0; k < IB_INPUTS; k++) to[k] = twin[k] = inputs[IB_INPUTS * i + k];
  }
  ib_board_give(b);
}
IB_EXPORT int64_t ib_board_spi(ib_board *b, int64_t t, int64_t bus, int64_t select, const uint8_t *sent, uint8_t *got,
                               int64_t n) {
  ib_board_take(b);
  const int64_t error = ib_board_spi_noted(b, t, bus, select, sent, got, n);
  ib_board_give(b);
  return error;
}
IB_EXPORT int64_t ib_board_i2c(ib_board *b, int64_t t, int64_t bus, int64_t address, const uint8_t *sent, int64_t count,
                               uint8_t *got, int64_t length) {
  ib_board_take(b);
  const int64_t error = ib_board_i2c_noted(b, t, bus, address, sent, count, got, length);
  ib_board_give(b);
  return error;
}
IB_EXPORT void ib_board_send(ib_board *b, int64_t t, int64_t number, const uint8_t *data, int64_t n) {
  if (n <= 0 || n > IB_LONGEST) return;
  ib_board_take(b);
  b->requests++;
  ib_board_send_(b, t, number, data, n);
  ib_board_note(b, t, IB_UART, number, 0, 0, data, n, data, 0);
  ib_board_give(b);
}
IB_EXPORT int64_t ib_board_receive(ib_board *b, int64_t t, int64_t number, uint8_t *out) {
  ib_board_take(b);
  const int64_t n = ib_board_receive_(b, t, number, out);
  if (n) {
    b->requests++;
    ib_board_note(b, t, IB_UART, number, 1, 0, out, 0, out, n);
  }
  ib_board_give(b);
  return n;
}
/* What happens to a chip at once: 1 power comes anew, 2 its FIFO overflows. */
IB_EXPORT void ib_board_happens(ib_board *b, int64_t number, int64_t t, int64_t what) {
  const ib_operations *o = ib_board_operations(&b->device[number]);
  if (what == 1) o->power_on(b->chip[number], t);
  if (what == 2) o->advance(b->chip[number], t), o->flood(b->chip[number]);
}

#endif
