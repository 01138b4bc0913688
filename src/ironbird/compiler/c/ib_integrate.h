/* One step of the continuous states, and what happens to states after it: shared by the run loop (ib_loop.h) and by
 * exported code. The generated file defines the sizes, ib_model_rates and ib_model_project before it includes this one.
 */
#ifndef IB_INTEGRATE_H
#define IB_INTEGRATE_H

#define IB_DIVERGENCE_LIMIT 1e12
#ifndef IB_NOTHING
#define IB_NOTHING 1e-150
#endif
#define IB_SWEEP_EVERY 32 /* ticks between two looks at the sampled states */

/* One fixed step of the continuous states from time t. */
static inline void ib_integrate(ib_s t, ib_f *x, const ib_f *tk, const ib_f *pre, const ib_f *p) {
#if IB_NX > 0
  const ib_s h = IB_S(IB_STEP_S);
#if IB_METHOD == 1 /* explicit Euler */
  ib_f k[IB_NX];
  ib_model_rates(t, x, tk, pre, p, k);
  for (int i = 0; i < IB_NX; ++i) x[i] = x[i] + ib_splat(h) * k[i];
#elif IB_METHOD == 2 /* midpoint */
  ib_f k[IB_NX], s[IB_NX];
  ib_model_rates(t, x, tk, pre, p, k);
  for (int i = 0; i < IB_NX; ++i) s[i] = x[i] + ib_splat(IB_S(0.5) * h) * k[i];
  ib_model_rates(t + IB_S(0.5) * h, s, tk, pre, p, k);
  for (int i = 0; i < IB_NX; ++i) x[i] = x[i] + ib_splat(h) * k[i];
#else /* classical Runge-Kutta of order four */
  ib_f k[IB_NX], s[IB_NX], a[IB_NX];
  ib_model_rates(t, x, tk, pre, p, k);
  for (int i = 0; i < IB_NX; ++i) { a[i] = k[i]; s[i] = x[i] + ib_splat(IB_S(0.5) * h) * k[i]; }
  ib_model_rates(t + IB_S(0.5) * h, s, tk, pre, p, k);
  for (int i = 0; i < IB_NX; ++i) { a[i] = a[i] + (k[i] + k[i]); s[i] = x[i] + ib_splat(IB_S(0.5) * h) * k[i]; }
  ib_model_rates(t + IB_S(0.5) * h, s, tk, pre, p, k);
  for (int i = 0; i < IB_NX; ++i) { a[i] = a[i] + (k[i] + k[i]); s[i] = x[i] + ib_splat(h) * k[i]; }
  ib_model_rates(t + h, s, tk, pre, p, k);
  for (int i = 0; i < IB_NX; ++i) x[i] = x[i] + ib_splat(h / IB_S(6.0)) * (a[i] + k[i]);
#endif
  ib_model_project(x, pre, p);
#else
  (void)t; (void)x; (void)tk; (void)pre; (void)p;
#endif
}

/* One state: zero if it has decayed to nothing (subnormal numbers would slow the processor a hundredfold), and
 * whether it is a number within bounds. */
static inline ib_i ib_sweep(ib_f *x) {
  const ib_f size = ib_fabs(*x);
  *x = ib_select(ib_lt(size, ib_splat(IB_S(IB_NOTHING))), ib_splat(IB_S(0.0)), *x);
  return ib_lt(size, ib_splat(IB_S(IB_DIVERGENCE_LIMIT)));
}

/* Lanes with a state that is not a number or beyond all bounds; sampled ones are looked at now and then. */
static inline ib_i ib_diverged(ib_f *x, ib_f *xd, int64_t tick) {
  ib_i good = ib_lt(ib_splat(IB_S(0.0)), ib_splat(IB_S(1.0)));
  (void)x; (void)xd; /* a model may have neither kind */
  for (int i = 0; i < IB_NX; ++i) good = ib_and(good, ib_sweep(&x[i]));
  if (tick % IB_SWEEP_EVERY == 0)
    for (int i = 0; i < IB_NSWEPT; ++i) good = ib_and(good, ib_sweep(&xd[ib_swept_rows[i]]));
  return ib_not(good);
}

#endif
