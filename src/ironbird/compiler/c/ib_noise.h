/* Counter-based random numbers: the value depends only on (seed, stream, tick, pair).
 *
 * Generator: Philox4x32-10 of J. K. Salmon, M. A. Moraes, R. O. Dror and D. E. Shaw, "Parallel
 * random numbers: as easy as 1, 2, 3", SC 2011.  There is no state, so a run can be repeated from
 * any tick and a lane gives the same bits whatever the other lanes do.  The 32-bit words are
 * held in 64-bit lanes with the upper half zero, so that a product of two words is one
 * 32 x 32 -> 64 bit multiplication per lane.
 */
#ifndef IB_NOISE_H
#define IB_NOISE_H

#include "ib_math.h"

#define IB_WORD UINT64_C(0xffffffff)

/* The same integer in every lane. */
IB_SMALL ib_u ib_splat_u(uint64_t x) {
#if IB_W == 1
  return x;
#else
  return x + (ib_u){0};
#endif
}

/* One Philox round on c[0..3]; only the lower halves of the lanes count. */
IB_SMALL void ib_philox_round(ib_u key0, ib_u key1, ib_u c[4]) {
  ib_u p0 = (c[0] & IB_WORD) * UINT64_C(0xd2511f53);
  ib_u p1 = (c[2] & IB_WORD) * UINT64_C(0xcd9e8d57);
  c[0] = (p1 >> 32) ^ c[1] ^ key0;
  c[2] = (p0 >> 32) ^ c[3] ^ key1;
  c[1] = p1;
  c[3] = p0;
}

/* Philox4x32-10: four random 32-bit words from a 64-bit key and a 128-bit counter, exact.  Ten
 * rounds written out; the key of round i is key + i w with the Weyl constants w of the paper. */
static inline void ib_philox(ib_u key0, ib_u key1, ib_u c0, ib_u c1, ib_u c2, ib_u c3,
                             ib_u out[4]) {
  const uint64_t w0 = UINT64_C(0x9e3779b9);
  const uint64_t w1 = UINT64_C(0xbb67ae85);
  ib_u c[4] = {c0, c1, c2, c3};
  ib_philox_round(key0, key1, c);
  ib_philox_round(key0 + w0, key1 + w1, c);
  ib_philox_round(key0 + 2 * w0, key1 + 2 * w1, c);
  ib_philox_round(key0 + 3 * w0, key1 + 3 * w1, c);
  ib_philox_round(key0 + 4 * w0, key1 + 4 * w1, c);
  ib_philox_round(key0 + 5 * w0, key1 + 5 * w1, c);
  ib_philox_round(key0 + 6 * w0, key1 + 6 * w1, c);
  ib_philox_round(key0 + 7 * w0, key1 + 7 * w1, c);
  ib_philox_round(key0 + 8 * w0, key1 + 8 * w1, c);
  ib_philox_round(key0 + 9 * w0, key1 + 9 * w1, c);
  out[0] = c[0] & IB_WORD;
  out[1] = c[1] & IB_WORD;
  out[2] = c[2] & IB_WORD;
  out[3] = c[3] & IB_WORD;
}

/* (k + 1/2) 2^-52 in (0, 1), exact, with k the 52 upper bits of high 2^32 + low. */
IB_SMALL ib_f ib_unit(ib_u high, ib_u low) {
  ib_u k = ((high << 32) | low) >> 12;
  return ib_as_f(k | UINT64_C(0x3ff0000000000000)) - 0x1.fffffffffffffp-1;
}

/* Two independent uniform numbers in the open interval (0, 1), multiples of 2^-53.
 * Key: the low and high 32 bits of the seed of the run.  Counter: c0 = tick bits 0..31,
 * c1 = tick bits 32..55 | pair << 24, c2 and c3 = low and high 32 bits of the stream.
 * So tick < 2^56 and pair < 256 (a tick can draw 512 numbers from one stream). */
static inline void ib_uniform2(ib_u seed, uint64_t stream, uint64_t tick, uint32_t pair, ib_f *a,
                               ib_f *b) {
  uint64_t middle = ((tick >> 32) & 0xffffff) | ((uint64_t)(pair & 0xff) << 24);
  ib_u word[4];
  ib_philox(seed & IB_WORD, seed >> 32, ib_splat_u(tick & IB_WORD), ib_splat_u(middle),
            ib_splat_u(stream & IB_WORD), ib_splat_u(stream >> 32), word);
  *a = ib_unit(word[0], word[1]);
  *b = ib_unit(word[2], word[3]);
}

/* Two independent standard normal numbers by Box-Muller from the pair of ib_uniform2; the largest
 * magnitude is sqrt(106 ln 2) = 8.57.  The logarithm is that of ib_log without its special cases,
 * sine and cosine are those of ib_sincos with an exact reduction of the angle in turns. */
static inline void ib_normal2(ib_u seed, uint64_t stream, uint64_t tick, uint32_t pair, ib_f *a,
                              ib_f *b) {
  ib_f u, turns;
  ib_uniform2(seed, stream, tick, pair, &u, &turns);
  ib_f k, q;
  ib_f f = ib_log_parts(u, &k, &q);
  ib_f radius = ib_sqrt(-2.0 * (k * IB_LN2_HI + (f - (q - k * IB_LN2_LO))));
  ib_f t = turns * 4.0 + IB_MAGIC;
  ib_f angle = (turns - (t - IB_MAGIC) * 0.25) * 0x1.921fb54442d18p+2;
  ib_f sine, cosine;
  ib_sincos_quadrant(angle, ib_as_u(t), ib_splat_u(0), &sine, &cosine);
  *a = radius * cosine;
  *b = radius * sine;
}

#endif
