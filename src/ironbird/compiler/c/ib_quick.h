/* Small helpers of ib_math.h as expressions, for the quick build of a kernel that is flown while the optimised one is
 * made: without optimisation each call of a helper costs the compiler a copy of its body. For one lane the same operations
 * as expressions take a quarter less time to compile. Included by ib_math.h with IB_QUICK; not part of exported code. */
#if IB_W == 1
#define ib_splat(x) ((ib_f)(x))
#define ib_lt(a, b) (-(ib_i)((a) < (b)))
#define ib_le(a, b) (-(ib_i)((a) <= (b)))
#define ib_eq(a, b) (-(ib_i)((a) == (b)))
#define ib_ne(a, b) (-(ib_i)((a) != (b)))
#define ib_select(mask, a, b) ((mask) ? (a) : (b))
#define ib_any(mask) ((mask) != 0)
#define ib_and(a, b) ((a) & (b))
#define ib_or(a, b) ((a) | (b))
#define ib_not(a) (~(a))
#define ib_truth(x) (-(ib_i)((x) != 0.0))
#endif
