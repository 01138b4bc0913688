/* What translated chips call, and the table by which buses call them.  The functions are those of
 * ironbird/boards/chips/numbers.py and of Python's integers, bit for bit. */
#ifndef IB_CHIPS_H
#define IB_CHIPS_H

#include <stdint.h>

static inline int64_t ib_floor_div(int64_t a, int64_t b) {
  int64_t q = a / b;
  return q - ((a % b != 0) && ((a < 0) != (b < 0)));
}

static inline int64_t ib_modulo(int64_t a, int64_t b) { return a - ib_floor_div(a, b) * b; }

static inline int64_t ib_min(int64_t a, int64_t b) { return b < a ? b : a; }
static inline int64_t ib_max(int64_t a, int64_t b) { return b > a ? b : a; }
static inline int64_t ib_abs(int64_t a) { return a < 0 ? -a : a; }

/* The nearest whole number within bounds, halves upwards; not a number is zero. */
static inline int64_t ib_quantise(double value, int64_t low, int64_t high) {
  if (!(value > (double)low)) return value <= (double)low ? low : 0;
  if (value >= (double)high) return high;
  double up = value + 0.5;
  int64_t whole = (int64_t)up;
  return whole - ((double)whole > up);
}

static inline double ib_root(double value) { return value > 0.0 ? __builtin_sqrt(value) : 0.0; }

typedef struct ib_operations {
  int64_t size;
  void (*initial)(void *);
  void (*power_on)(void *, int64_t);
  void (*advance)(void *, int64_t);
  void (*flood)(void *);
  int64_t (*interrupt_level)(void *, int64_t);
  void (*spi_begin)(void *, int64_t);
  int64_t (*spi_peek)(void *);
  void (*spi_commit)(void *);
  void (*spi_byte)(void *, int64_t);
  void (*spi_end)(void *);
  int64_t (*i2c_match)(void *, int64_t);
  int64_t (*i2c_begin)(void *, int64_t, int64_t);
  int64_t (*i2c_byte)(void *, int64_t);
  int64_t (*i2c_peek)(void *);
  void (*i2c_commit)(void *);
  void (*i2c_done)(void *);
  void (*i2c_end)(void *);
  void (*uart_byte)(void *, int64_t, int64_t);
  int64_t (*uart_next)(void *, int64_t);
  int64_t (*uart_baud)(void *);
  int64_t (*uart_frame)(void *);
} ib_operations;

#endif
