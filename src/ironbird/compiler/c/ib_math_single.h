/* Elementary functions and random numbers in single precision, for exported code on processors without double
 * arithmetic (Cortex-M4F). It takes the place of ib_math.h and ib_noise.h; one lane, no library, no branch on data in
 * the elementary functions, so that the same compiler flags (-ffp-contract=off) give the same bits on every processor.
 *
 * The polynomials are the first terms of those in ib_math.h: what is left out is below 2^-26 of the result. Errors are
 * a few units in the last place of a float; tests/unit/export/test_single.py states and checks them. Not as in
 * ib_math.h: sine and cosine lose accuracy beyond |x| = 1e4 and are NaN beyond 2^22, pow loses digits as |y ln x|
 * grows, and fmod and remainder are exact for |x/y| < 2^23 only as far as the product with the quotient is.
 */
#ifndef IB_MATH_SINGLE_H
#define IB_MATH_SINGLE_H

#include <stdint.h>

#ifdef __FAST_MATH__
#error "ib_math_single.h needs IEEE arithmetic: do not compile with -ffast-math"
#endif
#if defined(__clang__)
#pragma STDC FP_CONTRACT OFF
#endif

#define IB_W 1
typedef float ib_f;
typedef int32_t ib_i;
typedef uint64_t ib_u; /* seeds and counters of random numbers */
typedef float ib_s;
#define IB_S(v) ((ib_s)(v))

#define IB_SMALL static inline
#define IB_SIGN32 UINT32_C(0x80000000)
#define IB_NOTHING 1e-30 /* states below it are zero */
#define IB_MAGIC32 12582912.0f /* 1.5 2^23: adding it rounds |x| < 2^22 to an integer in the low bits */

IB_SMALL uint32_t ib_bits(ib_f x) {
  union { float f; uint32_t u; } pun;
  pun.f = x;
  return pun.u;
}
IB_SMALL ib_f ib_from_bits(uint32_t x) {
  union { uint32_t u; float f; } pun;
  pun.u = x;
  return pun.f;
}
#define IB_INF ib_from_bits(UINT32_C(0x7f800000))
#define IB_NAN ib_from_bits(UINT32_C(0x7fc00000))

IB_SMALL ib_f ib_splat(ib_s x) { return x; }
IB_SMALL ib_i ib_lt(ib_f a, ib_f b) { return -(ib_i)(a < b); }
IB_SMALL ib_i ib_le(ib_f a, ib_f b) { return -(ib_i)(a <= b); }
IB_SMALL ib_i ib_eq(ib_f a, ib_f b) { return -(ib_i)(a == b); }
IB_SMALL ib_i ib_ne(ib_f a, ib_f b) { return -(ib_i)(a != b); }
IB_SMALL ib_f ib_select(ib_i mask, ib_f a, ib_f b) { return (mask != 0) ? a : b; }
IB_SMALL int ib_any(ib_i mask) { return mask != 0; }
IB_SMALL ib_i ib_and(ib_i a, ib_i b) { return a & b; }
IB_SMALL ib_i ib_or(ib_i a, ib_i b) { return a | b; }
IB_SMALL ib_i ib_not(ib_i a) { return ~a; }
IB_SMALL ib_f ib_num(ib_i mask) { return (mask != 0) ? 1.0f : 0.0f; }
IB_SMALL ib_i ib_truth(ib_f x) { return ib_ne(x, 0.0f); }
IB_SMALL ib_f ib_flip(ib_f x, uint32_t s) { return ib_from_bits(ib_bits(x) ^ s); }

/* Square root: the processor's instruction, correctly rounded. */
IB_SMALL ib_f ib_sqrt(ib_f x) { return __builtin_sqrtf(x); }
IB_SMALL ib_f ib_fabs(ib_f x) { return ib_from_bits(ib_bits(x) & ~IB_SIGN32); }
IB_SMALL ib_f ib_copysign(ib_f x, ib_f y) {
  return ib_from_bits((ib_bits(x) & ~IB_SIGN32) | (ib_bits(y) & IB_SIGN32));
}
IB_SMALL ib_f ib_sign(ib_f x) { return ib_select(ib_lt(0.0f, ib_fabs(x)), ib_copysign(1.0f, x), x); }
IB_SMALL ib_f ib_round_even(ib_f x) {
  const ib_f a = ib_fabs(x);
  const ib_f r = (a + 8388608.0f) - 8388608.0f;
  return ib_select(ib_lt(a, 8388608.0f), ib_copysign(r, x), x);
}
IB_SMALL ib_f ib_floor(ib_f x) {
  const ib_f r = ib_round_even(x);
  return r - ib_num(ib_lt(x, r));
}
IB_SMALL ib_f ib_ceil(ib_f x) {
  const ib_f r = ib_round_even(x);
  return ib_copysign(r + ib_num(ib_lt(r, x)), x);
}
IB_SMALL ib_f ib_fmin(ib_f a, ib_f b) { return ib_select(ib_or(ib_lt(a, b), ib_ne(b, b)), a, b); }
IB_SMALL ib_f ib_fmax(ib_f a, ib_f b) { return ib_select(ib_or(ib_lt(b, a), ib_ne(b, b)), a, b); }

/* C fmod: x - n y with n = trunc(x/y), corrected by one y where the quotient was rounded up. */
static inline ib_f ib_fmod(ib_f x, ib_f y) {
  const ib_f a = ib_fabs(x);
  const ib_f b = ib_fabs(y);
  ib_f r = a - ib_floor(a / b) * b;
  r = ib_select(ib_lt(r, 0.0f), r + b, r);
  return ib_copysign(ib_select(ib_lt(a, b), a, r), x);
}
/* IEEE remainder: n = x/y to the nearest integer. */
static inline ib_f ib_remainder(ib_f x, ib_f y) { return x - ib_round_even(x / y) * y; }

/* Cody-Waite with three parts of pi/2; quadrant in the two lowest bits. */
static inline void ib_sincos(ib_f x, ib_f *sine, ib_f *cosine) {
  const ib_f a = ib_fabs(x);
  const ib_f t = a * 0.636619772f + IB_MAGIC32;
  const ib_f n = t - IB_MAGIC32;
  ib_f r = ((a - n * 1.5703125f) - n * 4.8351287841796875e-4f) - n * 3.138553622e-7f;
  r = ib_select(ib_lt(4194304.0f, a), IB_NAN, r);
  const uint32_t q = ib_bits(t);
  const ib_f z = r * r;
  const ib_f sn = r + r * (z * (-0x1.555556p-3f + z * (0x1.111112p-7f + z * (-0x1.a01a02p-13f + z * 0x1.71de36p-19f))));
  const ib_f cs = 1.0f - z * (0.5f - z * (0x1.555556p-5f + z * (-0x1.6c16c2p-10f + z * 0x1.a01a02p-16f)));
  const ib_i swap = -(ib_i)(q & 1u);
  *sine = ib_flip(ib_select(swap, cs, sn), ((q << 30) & IB_SIGN32) ^ (ib_bits(x) & IB_SIGN32));
  *cosine = ib_flip(ib_select(swap, sn, cs), ((q + 1u) << 30) & IB_SIGN32);
}
static inline ib_f ib_sin(ib_f x) {
  ib_f s, c;
  ib_sincos(x, &s, &c);
  return s;
}
static inline ib_f ib_cos(ib_f x) {
  ib_f s, c;
  ib_sincos(x, &s, &c);
  return c;
}
static inline ib_f ib_tan(ib_f x) {
  ib_f s, c;
  ib_sincos(x, &s, &c);
  return s / c;
}

/* atan(num/den) for 0 <= num <= den, den > 0, around 0, 1/2 or 1. */
IB_SMALL ib_f ib_atan_ratio(ib_f num, ib_f den) {
  const ib_i m1 = ib_lt(0.4375f * den, num);
  const ib_i m2 = ib_lt(0.6875f * den, num);
  const ib_f c = ib_select(m2, 1.0f, ib_select(m1, 0.5f, 0.0f));
  const ib_f base = ib_select(m2, 0x1.921fb6p-1f, ib_select(m1, 0x1.dac670p-2f, 0.0f));
  const ib_f u = (num - c * den) / (den + c * num);
  const ib_f z = u * u;
  const ib_f p = -0x1.555556p-2f + z * (0x1.99999ap-3f + z * (-0x1.249249p-3f + z * (0x1.c71c70p-4f +
                 z * (-0x1.745cdcp-4f + z * (0x1.3b0f1ep-4f + z * -0x1.10d5e4p-4f)))));
  return base + (u + u * (z * p));
}
static inline ib_f ib_atan2(ib_f y, ib_f x) {
  const ib_f ax = ib_fmin(ib_fabs(x), 1e38f);
  const ib_f ay = ib_fmin(ib_fabs(y), 1e38f);
  const ib_i swap = ib_lt(ax, ay);
  const ib_f num = ib_select(swap, ax, ay);
  ib_f den = ib_select(swap, ay, ax);
  den = den + ib_num(ib_eq(den, 0.0f));
  ib_f r = ib_atan_ratio(num, den);
  r = ib_select(swap, 0x1.921fb6p+0f - r, r);
  r = ib_select(-(ib_i)(ib_bits(x) >> 31), 0x1.921fb6p+1f - r, r);
  r = ib_select(ib_or(ib_ne(x, x), ib_ne(y, y)), IB_NAN, r);
  return ib_copysign(r, y);
}
static inline ib_f ib_atan(ib_f x) { return ib_atan2(x, 1.0f); }

/* asin(s) for |s| <= 1/2; beyond by the half-angle formula. */
IB_SMALL ib_f ib_asin_inside(ib_f s, ib_f z) {
  return s + s * (z * (0x1.555556p-3f + z * (0x1.333334p-4f + z * (0x1.6db6dcp-5f + z * (0x1.f1c72cp-6f +
         z * (0x1.6e89f4p-6f + z * (0x1.1c6be0p-6f + z * (0x1.c6fde0p-7f + z * 0x1.8ec23ap-7f))))))));
}
static inline ib_f ib_acos(ib_f x) {
  const ib_f a = ib_fabs(x);
  const ib_i big = ib_lt(0.5f, a);
  const ib_f z = ib_select(big, (1.0f - a) * 0.5f, a * a);
  const ib_f s = ib_select(big, ib_sqrt(z), a);
  const ib_f v = ib_asin_inside(s, z);
  const ib_f near = ib_select(big, 2.0f * v, 0x1.921fb6p+0f - v); /* acos(|x|) */
  return ib_select(ib_lt(x, 0.0f), 0x1.921fb6p+1f - near, near);
}
static inline ib_f ib_asin(ib_f x) {
  const ib_f a = ib_fabs(x);
  const ib_i big = ib_lt(0.5f, a);
  const ib_f z = ib_select(big, (1.0f - a) * 0.5f, a * a);
  const ib_f s = ib_select(big, ib_sqrt(z), a);
  const ib_f v = ib_asin_inside(s, z);
  return ib_copysign(ib_select(big, 0x1.921fb6p+0f - 2.0f * v, v), x);
}

/* exp(r) - 1 - r for |r| <= ln(2)/2. */
IB_SMALL ib_f ib_exp_rest(ib_f r) {
  return (r * r) * (0x1.0p-1f + r * (0x1.555556p-3f + r * (0x1.555556p-5f + r * (0x1.111112p-7f + r * 0x1.6c16c2p-10f))));
}
static inline ib_f ib_exp(ib_f x) {
  const ib_f c = ib_select(ib_lt(89.0f, x), 89.0f, ib_select(ib_lt(x, -104.0f), -104.0f, x));
  const ib_f t = c * 0x1.715476p+0f + IB_MAGIC32;
  const ib_f n = t - IB_MAGIC32;
  const ib_f r = (c - n * 0x1.62e4p-1f) - n * 0x1.7f7d1cp-20f;
  const int32_t k = (int32_t)(ib_bits(t) << 9) >> 9; /* n: the low 23 bits hold 2^22 + n */
  const int32_t whole = k - 4194304;
  const int32_t half = whole / 2;
  const ib_f p = 1.0f + (r + ib_exp_rest(r));
  const ib_f result = (p * ib_from_bits((uint32_t)(half + 127) << 23)) * ib_from_bits((uint32_t)(whole - half + 127) << 23);
  return ib_select(ib_ne(x, x), x, result);
}
static inline ib_f ib_expm1(ib_f x) {
  return ib_select(ib_lt(ib_fabs(x), 0.34f), x + ib_exp_rest(x), ib_exp(x) - 1.0f);
}
static inline ib_f ib_sinh(ib_f x) {
  const ib_f e = ib_expm1(ib_fabs(x));
  return ib_copysign(ib_select(ib_lt(88.0f, ib_fabs(x)), e, 0.5f * (e + e / (1.0f + e))), x);
}
static inline ib_f ib_cosh(ib_f x) {
  const ib_f e = ib_exp(ib_fabs(x));
  return 0.5f * e + 0.5f / e;
}
static inline ib_f ib_tanh(ib_f x) {
  const ib_f e = ib_expm1(-2.0f * ib_fabs(x));
  return ib_copysign(-e / (2.0f + e), x);
}

/* x = 2^k m with sqrt(1/2) <= m < sqrt(2); log(x) = k ln(2) + f - q. Subnormal numbers are scaled up first. */
static inline ib_f ib_log(ib_f x) {
  const ib_i small = ib_lt(x, 0x1p-126f);
  const uint32_t t = ib_bits(ib_select(small, x * 8388608.0f, x)) + UINT32_C(0x004afb0d);
  const ib_f k = (ib_f)((int32_t)(t >> 23) - 127) - ib_select(small, 23.0f, 0.0f);
  const ib_f f = ib_from_bits((t & UINT32_C(0x007fffff)) + UINT32_C(0x3f3504f3)) - 1.0f;
  const ib_f s = f / (2.0f + f);
  const ib_f z = s * s;
  const ib_f p = 0x1.555556p-1f + z * (0x1.99999ap-2f + z * (0x1.24924ap-2f + z * 0x1.c71c52p-3f));
  const ib_f r = k * 0x1.62e4p-1f + (f - (s * (f - z * p) - k * 0x1.7f7d1cp-20f));
  const ib_f other = ib_select(ib_eq(x, 0.0f), -IB_INF, IB_NAN);
  return ib_select(ib_eq(x, IB_INF), x, ib_select(ib_lt(0.0f, x), r, other));
}
static inline ib_f ib_log1p(ib_f x) {
  const ib_f u = 1.0f + x;
  const ib_f r = ib_log(u) + ib_select(ib_lt(u, IB_INF), (x - (u - 1.0f)) / u, 0.0f);
  return ib_select(ib_eq(u, 1.0f), x, r);
}
static inline ib_f ib_asinh(ib_f x) {
  const ib_f a = ib_fabs(x);
  const ib_f r = ib_log1p(a + (a * a) / (1.0f + ib_sqrt(1.0f + a * a)));
  return ib_copysign(ib_select(ib_lt(1e9f, a), ib_log(a) + 0x1.62e430p-1f, r), x);
}
static inline ib_f ib_acosh(ib_f x) {
  const ib_f t = x - 1.0f;
  return ib_select(ib_lt(1e9f, x), ib_log(x) + 0x1.62e430p-1f, ib_log1p(t + ib_sqrt(2.0f * t + t * t)));
}
static inline ib_f ib_atanh(ib_f x) {
  const ib_f a = ib_fabs(x);
  return ib_copysign(0.5f * ib_log1p((2.0f * a) / (1.0f - a)), x);
}
/* x^y as exp(y log x): the relative error grows with |y log x|. Special values as C pow. */
static inline ib_f ib_pow(ib_f x, ib_f y) {
  const ib_f ax = ib_fabs(x);
  const ib_i whole = ib_eq(ib_floor(y), y);
  const ib_i odd = ib_and(whole, ib_ne(ib_floor(0.5f * y), 0.5f * y));
  ib_f r = ib_exp(y * ib_log(ax));
  r = ib_select(ib_and(ib_lt(x, 0.0f), ib_not(whole)), IB_NAN, r);
  r = ib_flip(r, (ib_bits(x) & IB_SIGN32) & (uint32_t)odd);
  return ib_select(ib_or(ib_eq(y, 0.0f), ib_eq(x, 1.0f)), 1.0f, r);
}
/* Error function: x + x p(x^2) up to 1, then 1 - exp(-x^2) p(2/(x + 2)), with the polynomials of ib_math.h. */
static inline ib_f ib_erf(ib_f x) {
  const ib_f a = ib_fabs(x);
  const ib_f z = a * a;
  const ib_f low = a + a * (0x1.06eba8p-3f + z * (-0x1.812746p-2f + z * (0x1.ce2f22p-4f + z * (-0x1.b82ce4p-6f +
                   z * (0x1.565bccp-8f + z * (-0x1.c02db0p-11f + z * (0x1.f9a2bcp-14f + z * (-0x1.f4ca54p-17f +
                   z * (0x1.b9800ap-20f + z * (-0x1.5c0854p-23f + z * 0x1.d72288p-27f))))))))));
  const ib_f b = ib_fmin(a, 4.0f);
  const ib_f t = 2.0f / (b + 2.0f);
  const ib_f u = t * t;
  const ib_f even = -0x1.a7e648p-19f + u * (0x1.1f94dep-2f + u * (0x1.ebee54p-4f + u * (-0x1.4117d6p-1f +
                    u * (-0x1.f4fe32p+0f + u * (-0x1.1aa27ap+0f + u * -0x1.9d3ab0p-5f)))));
  const ib_f odd = 0x1.20f5d8p-2f + u * (0x1.073968p-2f + u * (0x1.367de2p-2f + u * (0x1.3b1422p+0f +
                   u * (0x1.e84460p+0f + u * 0x1.6dbaccp-2f))));
  const ib_f high = 1.0f - (even + t * odd) * ib_exp(-(b * b));
  return ib_copysign(ib_select(ib_lt(a, 1.0f), low, high), x);
}
static inline ib_f ib_hypot(ib_f x, ib_f y) {
  const ib_f ax = ib_fabs(x);
  const ib_f ay = ib_fabs(y);
  const ib_f top = ib_fmax(ax, ay);
  const ib_f down = ib_select(ib_lt(1e18f, top), 0x1p-64f, ib_select(ib_lt(top, 1e-18f), 0x1p64f, 1.0f));
  const ib_f sx = ax * down;
  const ib_f sy = ay * down;
  return ib_sqrt(sx * sx + sy * sy) / down;
}

/* Philox4x32-10 as in ib_noise.h; of each 64-bit number the upper 24 bits are used. */
static inline void ib_uniform2(ib_u seed, uint64_t stream, uint64_t tick, uint32_t pair, ib_f *a, ib_f *b) {
  uint32_t c0 = (uint32_t)tick, c1 = (uint32_t)((tick >> 32) & 0xffffffu) | ((pair & 0xffu) << 24);
  uint32_t c2 = (uint32_t)stream, c3 = (uint32_t)(stream >> 32);
  uint32_t k0 = (uint32_t)seed, k1 = (uint32_t)(seed >> 32);
  for (int round = 0; round < 10; ++round) {
    const uint64_t p0 = (uint64_t)c0 * UINT32_C(0xd2511f53), p1 = (uint64_t)c2 * UINT32_C(0xcd9e8d57);
    c0 = (uint32_t)(p1 >> 32) ^ c1 ^ k0;
    c2 = (uint32_t)(p0 >> 32) ^ c3 ^ k1;
    c1 = (uint32_t)p1;
    c3 = (uint32_t)p0;
    k0 += UINT32_C(0x9e3779b9);
    k1 += UINT32_C(0xbb67ae85);
  }
  *a = ((ib_f)(c0 >> 8) + 0.5f) * 0x1p-24f;
  *b = ((ib_f)(c2 >> 8) + 0.5f) * 0x1p-24f;
}
static inline void ib_normal2(ib_u seed, uint64_t stream, uint64_t tick, uint32_t pair, ib_f *a, ib_f *b) {
  ib_f u, turns, sine, cosine;
  ib_uniform2(seed, stream, tick, pair, &u, &turns);
  const ib_f radius = ib_sqrt(-2.0f * ib_log(u));
  ib_sincos(0x1.921fb6p+2f * (turns - 0.5f), &sine, &cosine);
  *a = -radius * cosine;
  *b = -radius * sine;
}

#endif
