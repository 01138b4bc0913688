/* Elementary functions for one simulation or IB_W simulations per instruction.
 *
 * One source serves the scalar type (IB_W == 1) and the vector types (IB_W == 2, 4, 8, 16).
 * Every function is a fixed sequence of IEEE 754 operations (+ - * / sqrt, comparisons, bit and
 * integer operations).  There is no branch on data, no table, no fused multiply-add and no call
 * to a library, so every lane gives the same bits for any lane count, processor and compiler.
 * Only the sign and payload bits of a NaN are not specified: processors differ in them.
 *
 * Required compiler flags: -ffp-contract=off -fno-math-errno, and never -ffast-math.
 * Required mode: round to nearest, subnormal numbers enabled (the default of every process).
 *
 * Sources.  All polynomials are minimax fits computed by tools/fit_elementary.py (Remez
 * exchange on the reduced ranges).  The reductions are textbook methods:
 *   W. J. Cody and W. Waite, "Software Manual for the Elementary Functions", 1980;
 *   T. J. Dekker, "A floating-point technique for extending the available precision", 1971;
 *   J.-M. Muller, "Elementary Functions: Algorithms and Implementation", 3rd edition, 2016.
 *
 * "Measured" errors are the largest error found against a 50 digit reference, in ulp (units in
 * the last place of the exact result).  tests/unit/compiler/test_elementary.py checks them.
 */
#ifndef IB_MATH_H
#define IB_MATH_H

#include <stdint.h>

#ifdef __FAST_MATH__
#error "ib_math.h needs IEEE arithmetic: do not compile with -ffast-math"
#endif

#if defined(__clang__)
#pragma STDC FP_CONTRACT OFF
#elif defined(__GNUC__)
#pragma GCC diagnostic ignored "-Wpsabi"
#endif

#ifndef IB_W
#define IB_W 1
#endif

#if IB_W == 1
typedef double ib_f;
typedef int64_t ib_i;
typedef uint64_t ib_u;
#else
typedef double ib_f __attribute__((vector_size(8 * IB_W)));
typedef int64_t ib_i __attribute__((vector_size(8 * IB_W)));
typedef uint64_t ib_u __attribute__((vector_size(8 * IB_W)));
#endif

/* One number of one lane, and a constant of that type. */
typedef double ib_s;
#define IB_S(v) ((ib_s)(v))

/* Small helpers are always inlined; the compiler decides about the larger functions. */
#define IB_SMALL static inline __attribute__((always_inline))

#if defined(__clang__) && (defined(__SSE4_1__) || defined(__aarch64__)) && !defined(IB_NO_ROUND)
#define IB_HARDWARE_ROUND __has_builtin(__builtin_elementwise_floor)
#else
#define IB_HARDWARE_ROUND 0
#endif

#define IB_SIGN_BIT UINT64_C(0x8000000000000000)
#define IB_INF __builtin_inf()
#define IB_NAN __builtin_nan("")

#define IB_MAGIC 0x1.8p52             /* adding it rounds |x| < 2^51 to an integer in low bits */
#define IB_PI_HI 0x1.921fb54442d18p+1 /* pi */
#define IB_PI_LO 0x1.1a62633145c07p-53
#define IB_PIO2_HI 0x1.921fb54442d18p+0 /* pi/2 */
#define IB_PIO2_LO 0x1.1a62633145c07p-54
#define IB_LN2_HI 0x1.62e42fefa3p-1 /* ln(2), 41 bits: times an 11-bit integer is exact */
#define IB_LN2_LO 0x1.3de6af278ece6p-42
#define IB_LOG2E 0x1.71547652b82fep+0 /* 1/ln(2) */

/* ---- Types, masks and bits -------------------------------------------------------------- */

#if IB_W == 1

/* Bit pattern of a double as signed integer. */
IB_SMALL ib_i ib_as_i(ib_f x) {
  union { double f; int64_t i; } pun = {x};
  return pun.i;
}

/* Bit pattern of a double as unsigned integer. */
IB_SMALL ib_u ib_as_u(ib_f x) {
  union { double f; uint64_t u; } pun = {x};
  return pun.u;
}

/* Double with the given bit pattern. */
IB_SMALL ib_f ib_as_f(ib_u x) {
  union { uint64_t u; double f; } pun = {x};
  return pun.f;
}

/* The same value in every lane. */
IB_SMALL ib_f ib_splat(double x) { return x; }

/* Comparisons: mask lanes of -1 (true) or 0 (false); with a NaN only ib_ne is true. */
IB_SMALL ib_i ib_lt(ib_f a, ib_f b) { return -(ib_i)(a < b); }
IB_SMALL ib_i ib_le(ib_f a, ib_f b) { return -(ib_i)(a <= b); }
IB_SMALL ib_i ib_eq(ib_f a, ib_f b) { return -(ib_i)(a == b); }
IB_SMALL ib_i ib_ne(ib_f a, ib_f b) { return -(ib_i)(a != b); }

/* a where the mask is set, b elsewhere. */
IB_SMALL ib_f ib_select(ib_i mask, ib_f a, ib_f b) { return mask ? a : b; }

/* 1 if the mask is set in any lane. */
IB_SMALL int ib_any(ib_i mask) { return mask != 0; }

#else

/* Bit pattern of a double as signed integer. */
IB_SMALL ib_i ib_as_i(ib_f x) { return (ib_i)x; }

/* Bit pattern of a double as unsigned integer. */
IB_SMALL ib_u ib_as_u(ib_f x) { return (ib_u)x; }

/* Double with the given bit pattern. */
IB_SMALL ib_f ib_as_f(ib_u x) { return (ib_f)x; }

/* The same value in every lane (x - 0 keeps every value, also -0). */
IB_SMALL ib_f ib_splat(double x) { return x - (ib_f){0}; }

/* Comparisons: mask lanes of -1 (true) or 0 (false); with a NaN only ib_ne is true. */
IB_SMALL ib_i ib_lt(ib_f a, ib_f b) { return (ib_i)(a < b); }
IB_SMALL ib_i ib_le(ib_f a, ib_f b) { return (ib_i)(a <= b); }
IB_SMALL ib_i ib_eq(ib_f a, ib_f b) { return (ib_i)(a == b); }
IB_SMALL ib_i ib_ne(ib_f a, ib_f b) { return (ib_i)(a != b); }

/* a where the mask is set, b elsewhere. */
IB_SMALL ib_f ib_select(ib_i mask, ib_f a, ib_f b) {
  return (ib_f)((mask & (ib_i)a) | (~mask & (ib_i)b));
}

/* 1 if the mask is set in any lane. */
IB_SMALL int ib_any(ib_i mask) {
  int64_t any = 0;
  for (int lane = 0; lane < IB_W; ++lane) any |= mask[lane];
  return any != 0;
}

#endif

/* Logic on masks. */
IB_SMALL ib_i ib_and(ib_i a, ib_i b) { return a & b; }
IB_SMALL ib_i ib_or(ib_i a, ib_i b) { return a | b; }
IB_SMALL ib_i ib_not(ib_i a) { return ~a; }

/* x where the mask is set, +0 elsewhere. */
IB_SMALL ib_f ib_keep(ib_i mask, double x) {
  return ib_as_f((ib_u)mask & ib_as_u(ib_splat(x)));
}

/* A mask as the number 1 or 0. */
IB_SMALL ib_f ib_num(ib_i mask) { return ib_keep(mask, 1.0); }

/* A number as a mask: true if it is not zero (a NaN is true, as in C). */
IB_SMALL ib_i ib_truth(ib_f x) { return ib_ne(x, ib_splat(0.0)); }

#if defined(IB_QUICK)
#include "ib_quick.h"
#endif

/* Sign bit of x, all other bits zero. */
IB_SMALL ib_u ib_sign_bit(ib_f x) { return ib_as_u(x) & IB_SIGN_BIT; }

/* x with its sign flipped where the sign bit is set in s. */
IB_SMALL ib_f ib_flip(ib_f x, ib_u s) { return ib_as_f(ib_as_u(x) ^ s); }

/* x rounded towards zero to 26 bits, for exact partial products. */
IB_SMALL ib_f ib_head(ib_f x) { return ib_as_f(ib_as_u(x) & ~UINT64_C(0x7ffffff)); }

/* The smaller of x and a constant; a NaN stays. */
IB_SMALL ib_f ib_at_most(ib_f x, double limit) {
  return ib_select(ib_lt(ib_splat(limit), x), ib_splat(limit), x);
}

/* The larger of x and a constant; a NaN stays. */
IB_SMALL ib_f ib_at_least(ib_f x, double limit) {
  return ib_select(ib_lt(x, ib_splat(limit)), ib_splat(limit), x);
}

/* ---- Polynomials: lowest order first, even and odd terms as two shorter chains ----------- */

/* c0 + c1 x + c2 x^2 */
IB_SMALL ib_f ib_chain3(ib_f x, double c0, double c1, double c2) {
  return (c2 * x + c1) * x + c0;
}

/* c0 + ... + c3 x^3 */
IB_SMALL ib_f ib_chain4(ib_f x, double c0, double c1, double c2, double c3) {
  return ib_chain3(x, c1, c2, c3) * x + c0;
}

/* c0 + ... + c4 x^4 */
IB_SMALL ib_f ib_chain5(ib_f x, double c0, double c1, double c2, double c3, double c4) {
  return ib_chain4(x, c1, c2, c3, c4) * x + c0;
}

/* c0 + ... + c5 x^5 */
IB_SMALL ib_f ib_chain6(ib_f x, double c0, double c1, double c2, double c3, double c4, double c5) {
  return ib_chain5(x, c1, c2, c3, c4, c5) * x + c0;
}

/* c0 + ... + c6 x^6 */
IB_SMALL ib_f ib_chain7(ib_f x, double c0, double c1, double c2, double c3, double c4, double c5,
                        double c6) {
  return ib_chain6(x, c1, c2, c3, c4, c5, c6) * x + c0;
}

/* ---- Roots, signs and integers ---------------------------------------------------------- */

/* Square root: the processor's instruction, correctly rounded (0.5 ulp); NaN below zero. */
IB_SMALL ib_f ib_sqrt(ib_f x) {
#if IB_W == 1
  return __builtin_sqrt(x);
#elif defined(__clang__)
  return __builtin_elementwise_sqrt(x);
#else
  ib_f root = x;
  for (int lane = 0; lane < IB_W; ++lane) root[lane] = __builtin_sqrt(x[lane]);
  return root;
#endif
}

/* Absolute value: clears the sign bit, exact. */
IB_SMALL ib_f ib_fabs(ib_f x) { return ib_as_f(ib_as_u(x) & ~IB_SIGN_BIT); }

/* Magnitude of x with the sign of y, exact. */
IB_SMALL ib_f ib_copysign(ib_f x, ib_f y) {
  return ib_as_f((ib_as_u(x) & ~IB_SIGN_BIT) | ib_sign_bit(y));
}

/* Sign: -1, +1, or x itself if it is zero or NaN, exact. */
IB_SMALL ib_f ib_sign(ib_f x) {
  return ib_select(ib_lt(ib_splat(0.0), ib_fabs(x)), ib_copysign(ib_splat(1.0), x), x);
}

/* Nearest integer, ties to even, exact; keeps the sign of zero; |x| >= 2^52 is an integer. */
IB_SMALL ib_f ib_round_even(ib_f x) {
  ib_f a = ib_fabs(x);
  ib_f r = (a + 0x1p52) - 0x1p52;
  return ib_select(ib_lt(a, ib_splat(0x1p52)), ib_copysign(r, x), x);
}

/* Largest integer not above x, exact (instruction, or rounding by adding 2^52). */
IB_SMALL ib_f ib_floor(ib_f x) {
#if IB_HARDWARE_ROUND
  return __builtin_elementwise_floor(x);
#else
  ib_f r = ib_round_even(x);
  return r - ib_num(ib_lt(x, r));
#endif
}

/* Smallest integer not below x, exact (instruction, or rounding by adding 2^52). */
IB_SMALL ib_f ib_ceil(ib_f x) {
#if IB_HARDWARE_ROUND
  return __builtin_elementwise_ceil(x);
#else
  ib_f r = ib_round_even(x);
  return ib_copysign(r + ib_num(ib_lt(r, x)), x);
#endif
}

/* Smaller of two numbers; if one is NaN the other one. */
IB_SMALL ib_f ib_fmin(ib_f a, ib_f b) {
  return ib_select(ib_or(ib_lt(a, b), ib_ne(b, b)), a, b);
}

/* Larger of two numbers; if one is NaN the other one. */
IB_SMALL ib_f ib_fmax(ib_f a, ib_f b) {
  return ib_select(ib_or(ib_lt(b, a), ib_ne(b, b)), a, b);
}

/* For a, b >= 0 with a/b < 2^53: a - n b in [0, b) exactly, and the integer n; else NaN.
 * The product n b is formed exactly from 26-bit halves (Dekker), so nothing is rounded. */
static inline ib_f ib_divide_rest(ib_f a, ib_f b, ib_f *whole) {
  ib_f n = ib_floor(a / b);
  ib_f nh = ib_as_f((ib_as_u(n) + UINT64_C(0x4000000)) & ~UINT64_C(0x7ffffff));
  ib_f bh = ib_as_f((ib_as_u(b) + UINT64_C(0x4000000)) & ~UINT64_C(0x7ffffff));
  ib_f nl = n - nh;
  ib_f bl = b - bh;
  ib_f p = n * b;
  ib_f e = (((nh * bh - p) + nh * bl) + nl * bh) + nl * bl;
  ib_f r = (a - p) - e;
  ib_i below = ib_lt(r, ib_splat(0.0)); /* the quotient was rounded up to the next integer */
  r = r + ib_select(below, b, ib_splat(0.0));
  n = n - ib_num(below);
  r = ib_select(ib_lt(n, ib_splat(0x1p53)), r, ib_splat(IB_NAN));
  ib_i inside = ib_lt(a, b);
  *whole = ib_select(inside, ib_splat(0.0), n);
  return ib_select(inside, a, r);
}

/* C fmod (sign of x): exact for |x/y| < 2^53, |y| > 1e-280, |x| < 1e300; NaN for |x/y| >= 2^53. */
static inline ib_f ib_fmod(ib_f x, ib_f y) {
  ib_f n;
  ib_f r = ib_divide_rest(ib_fabs(x), ib_fabs(y), &n);
  return ib_flip(r, ib_sign_bit(x));
}

/* IEEE remainder (n nearest to x/y, ties to even): exact in the same domain as ib_fmod. */
static inline ib_f ib_remainder(ib_f x, ib_f y) {
  ib_f n;
  ib_f b = ib_fabs(y);
  ib_f r = ib_divide_rest(ib_fabs(x), b, &n);
  ib_f d = b - r;
  ib_f half = n * 0.5;
  ib_i odd = ib_ne(ib_floor(half), half);
  ib_i up = ib_or(ib_lt(d, r), ib_and(ib_eq(d, r), odd));
  return ib_flip(ib_select(up, -d, r), ib_sign_bit(x));
}

/* ---- Sine, cosine, tangent -------------------------------------------------------------- */

/* Reduces a >= 0 to r + rl in [-pi/4, pi/4] and returns the quadrant in the two lowest bits.
 * Cody-Waite with four parts of pi/2.  For a <= 1.6e6 the first two products and differences are
 * exact, the third is kept with its rounding error and the fourth part leaves 2^-119, so r is good
 * to 2^-59 even at the double nearest to a multiple of pi/2.  For 1.6e6 < a <= 2^40 the result is
 * that of an argument within one ulp of a.  Above 2^40 the result is NaN. */
IB_SMALL ib_u ib_reduce(ib_f a, ib_f *r, ib_f *rl) {
  ib_f t = a * 0x1.45f306dc9c883p-1 + IB_MAGIC;
  ib_f n = t - IB_MAGIC;
  ib_f r1 = (a - n * 0x1.921fb544p+0) - n * 0x1.0b46p-34;
  ib_f w = n * 0x1.1a626331p-54;
  ib_f r2 = r1 - w;
  ib_f c = n * 0x1.1701b839a252p-88 - ((r1 - r2) - w);
  ib_f x = r2 - c;
  *rl = (r2 - x) - c;
  *r = ib_as_f(ib_as_u(x) | (ib_u)ib_lt(ib_splat(0x1p40), a)); /* all bits set is a NaN */
  return ib_as_u(t);
}

/* sin(r) and cos(r) for |r| <= pi/4 and quadrant bits q; flips the sine by the sign bit s. */
IB_SMALL void ib_sincos_quadrant(ib_f r, ib_u q, ib_u s, ib_f *sine, ib_f *cosine) {
  ib_f z = r * r;
  ib_f z2 = z * z;
  ib_f ps = ib_chain3(z2, -0x1.5555555555548p-3, -0x1.a01a019bf9b7fp-13, -0x1.ae5e57810c6a8p-26) +
            z * ib_chain3(z2, 0x1.111111110f7bp-7, 0x1.71de3564094bap-19, 0x1.5d8ee772117d9p-33);
  ib_f pc = ib_chain3(z2, 0x1.555555555554cp-5, 0x1.a01a019caef52p-16, 0x1.1ee9ea6d23553p-29) +
            z * ib_chain3(z2, -0x1.6c16c16c15162p-10, -0x1.27e4f807d708fp-22,
                          -0x1.8fadd085d8478p-37);
  ib_f sn = r + r * (z * ps);
  ib_f cs = 1.0 - z * (0.5 - z * pc);
  ib_i swap = -(ib_i)(q & 1);
  *sine = ib_flip(ib_select(swap, cs, sn), ((q << 62) & IB_SIGN_BIT) ^ s);
  *cosine = ib_flip(ib_select(swap, sn, cs), ((q + 1) << 62) & IB_SIGN_BIT);
}

/* Sine and cosine together: Cody-Waite and minimax polynomials; measured as ib_sin, ib_cos. */
static inline void ib_sincos(ib_f x, ib_f *sine, ib_f *cosine) {
  ib_f r, rl;
  ib_u q = ib_reduce(ib_fabs(x), &r, &rl);
  ib_sincos_quadrant(r, q, ib_sign_bit(x), sine, cosine);
}

/* Sine (see ib_reduce for |x| > 1.6e6): same bits as ib_sincos; measured 1.52 ulp. */
static inline ib_f ib_sin(ib_f x) {
  ib_f sine, cosine;
  ib_sincos(x, &sine, &cosine);
  return sine;
}

/* Cosine (see ib_reduce for |x| > 1.6e6): same bits as ib_sincos; measured 1.52 ulp. */
static inline ib_f ib_cos(ib_f x) {
  ib_f sine, cosine;
  ib_sincos(x, &sine, &cosine);
  return cosine;
}

/* Tangent: minimax polynomial, in odd quadrants -1/tan with the division corrected to first order
 * in the rounding errors (see ib_reduce for |x| > 1.6e6); measured 1.47 ulp. */
static inline ib_f ib_tan(ib_f x) {
  ib_f r, rl;
  ib_u q = ib_reduce(ib_fabs(x), &r, &rl);
  ib_f z = r * r;
  ib_f z2 = z * z;
  ib_f p = ib_chain7(z2, 0x1.55555555554fp-2, 0x1.ba1ba1b454da6p-5, 0x1.226e11e684653p-7,
                     0x1.7d5a98cac5b4fp-10, 0x1.d2257507ea171p-13, -0x1.bfc8f06a20848p-16,
                     -0x1.79b98d89d3f88p-15) +
           z * ib_chain7(z2, 0x1.11111111184c6p-3, 0x1.664f49ac96089p-6, 0x1.d6d943ee469b3p-9,
                         0x1.3800f32ac1a35p-11, 0x1.1ec3f2257549cp-13, 0x1.785d96124ba97p-14,
                         0x1.5ea43f9e4ca2cp-16);
  ib_f rest = r * (z * p) + (rl + rl * z);
  ib_f t = r + rest;
  ib_f tl = (r - t) + rest;
  ib_f c = -1.0 / t;
  ib_f ch = ib_head(c);
  ib_f th = ib_head(t);
  ib_f cot = ch + c * ((1.0 + ch * th) + ch * ((t - th) + tl));
  return ib_flip(ib_select(-(ib_i)(q & 1), cot, t), ib_sign_bit(x));
}

/* ---- Inverse trigonometric functions ---------------------------------------------------- */

/* atan(num/den) as hi + lo for 0 <= num <= den, den > 0.  With c = 0, 1/2 or 1 the quotient
 * (num - c den)/(den + c num) lies in [-0.185, 7/16] and atan(c) is added in two parts. */
IB_SMALL ib_f ib_atan_ratio(ib_f num, ib_f den, ib_f *lo) {
  ib_i m1 = ib_lt(0.4375 * den, num);
  ib_i m2 = ib_lt(0.6875 * den, num);
  ib_f c = ib_keep(m1, 0.5) + ib_keep(m2, 0.5);
  ib_f bh = ib_select(m2, ib_splat(0x1.921fb54442d18p-1), ib_keep(m1, 0x1.dac670561bb4fp-2));
  ib_f bl = ib_select(m2, ib_splat(0x1.1a62633145c07p-55), ib_keep(m1, 0x1.a2b7f222f65e2p-56));
  ib_f u = (num - c * den) / (den + c * num);
  ib_f z = u * u;
  ib_f z2 = z * z;
  ib_f p = ib_chain6(z2, -0x1.555555555550bp-2, -0x1.2492491fee901p-3, -0x1.745cdb78f0a78p-4,
                     -0x1.10d5e4b72d58cp-4, -0x1.979a562402cd7p-5, -0x1.0a61ff7bc197ap-6) +
           z * ib_chain5(z2, 0x1.999999998e70fp-3, 0x1.c71c6fd9728b7p-4, 0x1.3b0f1d972735dp-4,
                         0x1.dddc2d6f43b1ap-5, 0x1.2b09546401a12p-5);
  ib_f rest = u + (u * (z * p) + bl);
  ib_f hi = bh + rest;
  *lo = (bh - hi) + rest;
  return hi;
}

/* (qh + ql) + (v + vl) rounded once, for qh = 0 or |qh| >= |v|. */
IB_SMALL ib_f ib_add_parts(ib_f qh, ib_f ql, ib_f v, ib_f vl) {
  ib_f t = qh + v;
  ib_f e = (qh - t) + v;
  return t + (e + (ql + vl));
}

/* Arc tangent: reduction to 7/16 and minimax polynomial; measured 0.85 ulp. */
static inline ib_f ib_atan(ib_f x) {
  ib_f a = ib_at_most(ib_fabs(x), 0x1p1000);
  ib_f one = ib_splat(1.0);
  ib_i swap = ib_lt(one, a);
  ib_f lo;
  ib_f hi = ib_atan_ratio(ib_select(swap, one, a), ib_select(swap, a, one), &lo);
  ib_u s = (ib_u)swap & IB_SIGN_BIT;
  ib_f r = ib_add_parts(ib_keep(swap, IB_PIO2_HI), ib_keep(swap, IB_PIO2_LO), ib_flip(hi, s),
                        ib_flip(lo, s));
  return ib_flip(r, ib_sign_bit(x));
}

/* Angle of the point (x, y) in all quadrants with signed zeros as in C; values above 8.9e307,
 * infinity included, count as 8.9e307; measured 1.48 ulp. */
static inline ib_f ib_atan2(ib_f y, ib_f x) {
  ib_f ax = ib_at_most(ib_fabs(x), 8.9e307);
  ib_f ay = ib_at_most(ib_fabs(y), 8.9e307);
  ib_i swap = ib_lt(ax, ay);
  ib_f num = ib_select(swap, ax, ay);
  ib_f den = ib_select(swap, ay, ax);
  den = den + ib_num(ib_eq(den, ib_splat(0.0)));
  ib_f lo;
  ib_f hi = ib_atan_ratio(num, den, &lo);
  ib_i left = -(ib_i)(ib_as_u(x) >> 63);
  ib_u s = ((ib_u)swap & IB_SIGN_BIT) ^ ib_sign_bit(x);
  ib_f qh = ib_select(swap, ib_splat(IB_PIO2_HI), ib_keep(left, IB_PI_HI));
  ib_f ql = ib_select(swap, ib_splat(IB_PIO2_LO), ib_keep(left, IB_PI_LO));
  ib_f r = ib_add_parts(qh, ql, ib_flip(hi, s), ib_flip(lo, s));
  return ib_flip(r, ib_sign_bit(y));
}

/* For a = |x|: big = a > 1/2; v + vl = asin(a), or 2 asin(sqrt((1-a)/2)) = acos(a) if big.
 * Above 1 the square root gives NaN. */
IB_SMALL ib_i ib_asin_parts(ib_f a, ib_f *v, ib_f *vl) {
  ib_i big = ib_lt(ib_splat(0.5), a);
  ib_f zb = (1.0 - a) * 0.5;
  ib_f z = ib_select(big, zb, a * a);
  ib_f s = ib_select(big, 2.0 * ib_sqrt(zb), a);
  ib_f z2 = z * z;
  ib_f p = ib_chain6(z2, 0x1.555555555539p-3, 0x1.6db6db427eca3p-5, 0x1.6e89f45d8934ep-6,
                     0x1.c6fde08ea8936p-7, 0x1.abd5bfb2b0829p-8, -0x1.09cca2f6e4d22p-6) +
           z * ib_chain6(z2, 0x1.333333336e791p-4, 0x1.f1c72c37a9db5p-6, 0x1.1c6be0032b663p-6,
                         0x1.8ec2397a10e99p-7, 0x1.3ff068f2f2e3p-6, 0x1.056b3bb8c437dp-5);
  *v = s;
  *vl = s * (z * p);
  return big;
}

/* Arc sine: minimax polynomial, above 1/2 by the half-angle formula; measured 1.26 ulp. */
static inline ib_f ib_asin(ib_f x) {
  ib_f v, vl;
  ib_i big = ib_asin_parts(ib_fabs(x), &v, &vl);
  ib_u s = (ib_u)big & IB_SIGN_BIT;
  ib_f r = ib_add_parts(ib_keep(big, IB_PIO2_HI), ib_keep(big, IB_PIO2_LO), ib_flip(v, s),
                        ib_flip(vl, s));
  return ib_flip(r, ib_sign_bit(x));
}

/* Arc cosine: minimax polynomial, above 1/2 by the half-angle formula; measured 1.23 ulp. */
static inline ib_f ib_acos(ib_f x) {
  ib_f v, vl;
  ib_i big = ib_asin_parts(ib_fabs(x), &v, &vl);
  ib_i left = -(ib_i)(ib_as_u(x) >> 63);
  ib_u s = (ib_u)(left ^ ~big) & IB_SIGN_BIT;
  ib_f qh = ib_select(big, ib_keep(left, IB_PI_HI), ib_splat(IB_PIO2_HI));
  ib_f ql = ib_select(big, ib_keep(left, IB_PI_LO), ib_splat(IB_PIO2_LO));
  return ib_add_parts(qh, ql, ib_flip(v, s), ib_flip(vl, s));
}

/* ---- Exponential and hyperbolic functions ------------------------------------------------ */

/* exp(r) - 1 - r for |r| <= ln(2)/2. */
IB_SMALL ib_f ib_exp_rest(ib_f r) {
  ib_f r2 = r * r;
  ib_f p = ib_chain5(r2, 0x1.000000000000ap-1, 0x1.5555555550773p-5, 0x1.6c16c1845f97dp-10,
                     0x1.a01999842e4adp-16, 0x1.28adea0700a34p-22) +
           r * ib_chain5(r2, 0x1.555555555556p-3, 0x1.111111110d96ep-7, 0x1.a01a01b9eb584p-13,
                         0x1.71dde1bdcfe15p-19, 0x1.af82b9b996d1dp-26);
  return r2 * p;
}

/* exp(x + xl) for -746 <= x <= 710 and |xl| small: x = n ln(2) + r, then 2^n in two factors so
 * that overflow gives infinity and underflow is gradual. */
IB_SMALL ib_f ib_exp_inside(ib_f x, ib_f xl) {
  const double magic = IB_MAGIC + 2046.0; /* the low bits hold n + 2046 */
  ib_f t = x * IB_LOG2E + magic;
  ib_f n = t - magic;
  ib_f rh = x - n * IB_LN2_HI;
  ib_f rl = n * IB_LN2_LO - xl;
  ib_f p = 1.0 + (rh + (ib_exp_rest(rh - rl) - rl));
  ib_u k = ib_as_u(t) & 0xfff;
  ib_u k1 = k >> 1;
  return (p * ib_as_f(k1 << 52)) * ib_as_f((k - k1) << 52);
}

/* Exponential: reduction by ln(2) and minimax polynomial; +inf above 709.78, gradual underflow to
 * zero below -745.13; measured 0.97 ulp. */
static inline ib_f ib_exp(ib_f x) {
  return ib_exp_inside(ib_at_least(ib_at_most(x, 710.0), -746.0), ib_splat(0.0));
}

/* (exp(x) - one)/4 as hi + lo for -80 <= x <= 710.6 and one = 0 or 1, good to about 0.1 ulp. */
IB_SMALL ib_f ib_exp_quarter(ib_f x, double one, ib_f *lo) {
  const double magic = IB_MAGIC + 1021.0; /* the low bits hold the exponent field of 2^n / 4 */
  ib_f t = x * IB_LOG2E + magic;
  ib_f n = t - magic;
  ib_f rh = x - n * IB_LN2_HI;
  ib_f rl = n * IB_LN2_LO;
  ib_f scale = ib_as_f(ib_as_u(t) << 52);
  ib_f a = scale - 0.25 * one;
  ib_f al = (scale - a) - 0.25 * one;
  ib_f b = scale * rh;
  ib_f h = a + b;
  ib_f e = ((a - h) + b) + (al + scale * (ib_exp_rest(rh - rl) - rl));
  ib_f hi = h + e;
  *lo = (h - hi) + e;
  return hi;
}

/* exp(x) - 1, accurate near zero: polynomial with the sum kept in two parts; measured 1.18 ulp. */
static inline ib_f ib_expm1(ib_f x) {
  ib_f lo;
  ib_f hi = ib_exp_quarter(ib_at_least(ib_at_most(x, 710.0), -40.0), 1.0, &lo);
  return ib_copysign(4.0 * hi, x);
}

/* Hyperbolic sine from e = exp(|x|) - 1 as (e + e/(1 + e))/2; measured 1.51 ulp. */
static inline ib_f ib_sinh(ib_f x) {
  ib_f lo;
  ib_f hi = ib_exp_quarter(ib_at_most(ib_fabs(x), 710.6), 1.0, &lo);
  ib_f v = hi / (1.0 + 4.0 * hi);
  ib_f t = hi + v;
  ib_f e = (hi - t) + v;
  ib_f w = 1.0 - 4.0 * v;
  return ib_copysign(2.0 * (t + (e + (lo + lo * (w * w)))), x);
}

/* Hyperbolic cosine from e = exp(|x|) as (e + 1/e)/2; measured 0.76 ulp. */
static inline ib_f ib_cosh(ib_f x) {
  ib_f lo;
  ib_f hi = ib_exp_quarter(ib_at_most(ib_fabs(x), 710.6), 0.0, &lo);
  ib_f v = 0.0625 / hi;
  ib_f t = hi + v;
  ib_f e = (hi - t) + v;
  return 2.0 * (t + (e + (lo - lo * (16.0 * (v * v)))));
}

/* Hyperbolic tangent from e = exp(-2|x|) - 1 as -e/(2 + e), with the quotient corrected for the
 * rounding of e and 2 + e; measured 1.49 ulp. */
static inline ib_f ib_tanh(ib_f x) {
  ib_f lo;
  ib_f hi = ib_exp_quarter(ib_at_least(-2.0 * ib_fabs(x), -80.0), 1.0, &lo);
  ib_f h = 2.0 * hi;
  ib_f l = 2.0 * lo;
  ib_f d = 1.0 + h;
  ib_f dl = ((1.0 - d) + h) + l;
  ib_f q = -h / d;
  return ib_copysign(q - (l + q * dl) * (1.0 + q), x);
}

/* ---- Logarithm and its relatives -------------------------------------------------------- */

/* x = 2^k m with sqrt(1/2) <= m < sqrt(2), for positive normal x. */
IB_SMALL ib_f ib_split_exponent(ib_f x, ib_f *k) {
  ib_u t = ib_as_u(x) + UINT64_C(0x00095f619980c433); /* 1.0 minus sqrt(1/2), as bits */
  *k = ib_as_f((t >> 52) | UINT64_C(0x4330000000000000)) - (0x1p52 + 1023.0);
  return ib_as_f((t & UINT64_C(0x000fffffffffffff)) + UINT64_C(0x3fe6a09e667f3bcd));
}

/* log(x) = k ln(2) + f - q for positive normal x, with s = f/(2 + f) and a polynomial in s^2. */
IB_SMALL ib_f ib_log_parts(ib_f x, ib_f *k, ib_f *q) {
  ib_f f = ib_split_exponent(x, k) - 1.0;
  ib_f s = f / (2.0 + f);
  ib_f z = s * s;
  ib_f z2 = z * z;
  ib_f p = ib_chain4(z2, 0x1.5555555555592p-1, 0x1.24924941f275ep-2, 0x1.74663f2a2b90bp-3,
                     0x1.2f05abb2db7c5p-3) +
           z * ib_chain3(z2, 0x1.999999997fda5p-2, 0x1.c71c52082ed77p-3, 0x1.39a1b3ccee52p-3);
  *q = s * (f - z * p);
  return f;
}

/* The logarithm r of x, corrected for x = 0 (-inf), x < 0 (NaN), NaN and infinity. */
IB_SMALL ib_f ib_log_special(ib_f x, ib_f r) {
  ib_f zero = ib_splat(0.0);
  r = ib_select(ib_eq(x, ib_splat(IB_INF)), x, r);
  ib_f other = ib_select(ib_eq(x, zero), ib_splat(-IB_INF), ib_splat(IB_NAN));
  return ib_select(ib_lt(zero, x), r, other);
}

/* Natural logarithm: exponent and minimax polynomial, subnormals included; measured 0.94 ulp. */
static inline ib_f ib_log(ib_f x) {
  ib_i small = ib_lt(x, ib_splat(0x1p-1022));
  ib_f k, q;
  ib_f f = ib_log_parts(ib_select(small, x * 0x1p54, x), &k, &q);
  k = k - ib_keep(small, 54.0);
  return ib_log_special(x, k * IB_LN2_HI + (f - (q - k * IB_LN2_LO)));
}

/* log((u + e) 2^extra) for u >= 2^-53 and |e| below one ulp of u. */
IB_SMALL ib_f ib_log_sum(ib_f u, ib_f e, ib_f extra) {
  ib_f k, q;
  ib_f f = ib_log_parts(u, &k, &q);
  k = k + extra;
  return ib_log_special(u, k * IB_LN2_HI + (f - (q - (k * IB_LN2_LO + e / u))));
}

/* Rounding error of u = 1 + v (Knuth). */
IB_SMALL ib_f ib_one_plus_error(ib_f u, ib_f v) {
  ib_f b = u - 1.0;
  return (1.0 - (u - b)) + (v - b);
}

/* log(1 + x), accurate near zero: logarithm of the rounded sum plus a correction; measured
 * 0.95 ulp. */
static inline ib_f ib_log1p(ib_f x) {
  ib_f u = 1.0 + x;
  ib_f r = ib_log_sum(u, ib_one_plus_error(u, x), ib_splat(0.0));
  return ib_copysign(r, x);
}

/* Inverse hyperbolic sine as log1p(a + a^2/(1 + sqrt(1 + a^2))), above 2^28 as log(2 a); measured
 * 1.31 ulp. */
static inline ib_f ib_asinh(ib_f x) {
  ib_f a = ib_fabs(x);
  ib_i big = ib_lt(ib_splat(0x1p28), a);
  ib_f a2 = a * a;
  ib_f w = a2 / (1.0 + ib_sqrt(1.0 + a2));
  ib_f v = a + w;
  ib_f u = 1.0 + v;
  ib_f e = ib_one_plus_error(u, v) + ((a - v) + w);
  u = ib_select(big, a, u);
  e = ib_select(big, ib_splat(0.0), e);
  return ib_copysign(ib_log_sum(u, e, ib_num(big)), x);
}

/* Inverse hyperbolic cosine as log1p(t + sqrt(2 t + t^2)), t = x - 1, above 2^28 as log(2 x); NaN
 * below 1; measured 1.82 ulp. */
static inline ib_f ib_acosh(ib_f x) {
  ib_i big = ib_lt(ib_splat(0x1p28), x);
  ib_f t = x - 1.0;
  ib_f w = ib_sqrt(2.0 * t + t * t);
  ib_f v = w + t;
  ib_f u = 1.0 + v;
  ib_f e = ib_one_plus_error(u, v) + ((w - v) + t);
  u = ib_select(big, x, u);
  e = ib_select(big, ib_splat(0.0), e);
  ib_f r = ib_log_sum(u, e, ib_num(big));
  return ib_select(ib_lt(x, ib_splat(1.0)), ib_splat(IB_NAN), r);
}

/* Inverse hyperbolic tangent as log1p(2 a/(1 - a))/2; infinite at 1, NaN beyond; measured
 * 1.66 ulp. */
static inline ib_f ib_atanh(ib_f x) {
  ib_f a = ib_fabs(x);
  ib_f d = 1.0 - a;
  ib_f dl = (1.0 - d) - a;
  ib_f v = (2.0 * a) / d;
  ib_f u = 1.0 + v;
  ib_f e = ib_one_plus_error(u, v) - (v * dl) * (1.0 + 0.5 * v);
  return ib_copysign(0.5 * ib_log_sum(u, e, ib_splat(0.0)), x);
}

/* x^y: logarithm in two parts (about 68 bits), product with y in two parts, then exponential.
 * Special values as C pow, e.g. x^0 = 1, negative x only with integer y; measured 1.28 ulp for
 * results between 1e-300 and 1e300. */
static inline ib_f ib_pow(ib_f x, ib_f y) {
  ib_f zero = ib_splat(0.0);
  ib_f one = ib_splat(1.0);
  ib_f inf = ib_splat(IB_INF);
  ib_f ax = ib_fabs(x);
  ib_i small = ib_lt(ax, ib_splat(0x1p-1022));
  ib_f k;
  ib_f m = ib_split_exponent(ib_select(small, ax * 0x1p54, ax), &k);
  k = k - ib_keep(small, 54.0);
  /* s + sl = (m - 1)/(m + 1) */
  ib_f f = m - 1.0;
  ib_f d = m + 1.0;
  ib_f dl = m - (d - 1.0);
  ib_f inverse = 1.0 / d;
  ib_f s = f * inverse;
  ib_f sh = ib_head(s);
  ib_f sb = s - sh;
  ib_f dh = ib_head(d);
  ib_f db = (d - dh) + dl;
  ib_f sl = (((f - sh * dh) - sh * db) - sb * (dh + db)) * inverse;
  /* z + zl = s^2 */
  ib_f z = s * s;
  ib_f zl = ((sh * sh - z) + 2.0 * (sh * sb)) + (sb * sb + 2.0 * (s * sl));
  /* ch + cl = z/3 + z^2 p(z), the head with 26 bits */
  ib_f z2 = z * z;
  ib_f p = ib_chain4(z2, 0x1.9999999999b3p-3, 0x1.c71c722d600abp-4, 0x1.3b1eeba0f06ddp-4,
                     0x1.0e424fbd66f5fp-4) +
           z * ib_chain3(z2, 0x1.2492492457da2p-3, 0x1.745ce9e599d77p-4, 0x1.0f7ff36fe8594p-4);
  ib_f zh = ib_head(z);
  ib_f c = zh * 0x1.555555p-2;
  ib_f rest = z2 * p + (z * 0x1.5555555555555p-28 + ((z - zh) + zl) * 0x1.555555p-2);
  ib_f ch = ib_head(c + rest);
  ib_f cl = (c - ch) + rest;
  /* lh + ll = log(ax) = k ln(2) + 2 (s + sl)(1 + ch + cl) */
  ib_f g = sh * ch;
  ib_f h = s + g;
  ib_f hl = ((s - h) + g) + ((sb * ch + s * cl) + (sl + sl * ch));
  ib_f kh = k * IB_LN2_HI;
  ib_f lh = kh + 2.0 * h;
  ib_f ll = ((kh - lh) + 2.0 * h) + (k * IB_LN2_LO + 2.0 * hl);
  /* ph + pl = y log(ax); beyond 2^65 only y's sign matters */
  ib_f yc = ib_at_least(ib_at_most(y, 0x1p65), -0x1p65);
  ib_f yh = ib_head(yc);
  ib_f yb = yc - yh;
  ib_f lhh = ib_head(lh);
  ib_f lhb = lh - lhh;
  ib_f ph = yc * lh;
  ib_f pl = (((yh * lhh - ph) + yh * lhb) + yb * lhh) + (yb * lhb + yc * ll);
  ib_f pc = ib_at_least(ib_at_most(ph, 710.0), -746.0);
  ib_f r = ib_exp_inside(pc, ib_select(ib_eq(pc, ph), pl, zero));
  /* special values */
  ib_f half = y * 0.5;
  ib_i whole = ib_eq(ib_floor(y), y);
  ib_i odd = ib_and(whole, ib_ne(ib_floor(half), half));
  ib_i bad = ib_or(ib_ne(x, x), ib_and(ib_lt(x, zero), ib_not(whole)));
  r = ib_select(bad, ib_splat(IB_NAN), r);
  ib_i infinite = ib_eq(ax, inf);
  ib_i extreme = ib_and(ib_or(infinite, ib_eq(ax, zero)), ib_eq(y, y));
  r = ib_select(extreme, ib_select(infinite ^ ib_lt(y, zero), inf, zero), r);
  r = ib_flip(r, ib_sign_bit(x) & (ib_u)odd);
  return ib_select(ib_or(ib_eq(y, zero), ib_eq(x, one)), one, r);
}

/* ---- Error function and hypotenuse ------------------------------------------------------ */

/* Error function: x + x p(x^2) up to 1, then 1 - exp(-x^2) p(2/(x + 2)); measured 1.39 ulp. */
static inline ib_f ib_erf(ib_f x) {
  ib_f a = ib_fabs(x);
  ib_f z = a * a;
  ib_f z2 = z * z;
  ib_f p = ib_chain6(z2, 0x1.06eba8214db68p-3, 0x1.ce2f21a040da6p-4, 0x1.565bccf9572aap-8,
                     0x1.f9a2bb1baca3ap-14, 0x1.b98009d782a31p-20, 0x1.d7228791629c5p-27) +
           z * ib_chain6(z2, -0x1.812746b0379bep-2, -0x1.b82ce311fc3f4p-6, -0x1.c02db0436052ep-11,
                         -0x1.f4ca5385d6678p-17, -0x1.5c0853ccd55a9p-23, -0x1.abc2f1bc0ef5bp-31);
  ib_f low = a + a * p;
  ib_f b = ib_at_most(a, 6.0);
  ib_f t = 2.0 / (b + 2.0);
  ib_f t2 = t * t;
  ib_f w = ib_chain7(t2, -0x1.a7e647e7b9fbbp-19, 0x1.1f94ddae0331ep-2, 0x1.ebee54ca0453cp-4,
                     -0x1.4117d54dabf79p-1, -0x1.f4fe327a74b13p+0, -0x1.1aa27aa82044dp+0,
                     -0x1.9d3aafe955dd8p-5) +
           t * ib_chain6(t2, 0x1.20f5d8438dbd8p-2, 0x1.0739678f9596cp-2, 0x1.367de130ca28dp-2,
                         0x1.3b1422bcee3b2p+0, 0x1.e84460c2eded2p+0, 0x1.6dbacacc1237ap-2);
  ib_f high = 1.0 - w * ib_exp_inside(-(b * b), ib_splat(0.0));
  return ib_copysign(ib_select(ib_lt(a, ib_splat(1.0)), low, high), x);
}

/* sqrt(x^2 + y^2), scaled by a power of two against overflow and underflow; measured 1.18 ulp. */
static inline ib_f ib_hypot(ib_f x, ib_f y) {
  ib_f ax = ib_fabs(x);
  ib_f ay = ib_fabs(y);
  ib_f top = ib_select(ib_lt(ax, ay), ay, ax);
  ib_i large = ib_lt(ib_splat(0x1p500), top);
  ib_i tiny = ib_lt(top, ib_splat(0x1p-400));
  ib_f one = ib_splat(1.0);
  ib_f down = ib_select(large, ib_splat(0x1p-600), ib_select(tiny, ib_splat(0x1p600), one));
  ib_f up = ib_select(large, ib_splat(0x1p600), ib_select(tiny, ib_splat(0x1p-600), one));
  ax = ax * down;
  ay = ay * down;
  return ib_sqrt(ax * ax + ay * ay) * up;
}

#endif
