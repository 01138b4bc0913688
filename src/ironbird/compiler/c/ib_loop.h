/* The run loop around a generated model: the same text for one lane and for IB_W lanes.
 *
 * The generated file defines, before it includes this one:
 *   sizes      IB_NX IB_NXD IB_NHELD IB_NU IB_NP IB_NPRE IB_NTICK IB_NNOISE IB_NLOG IB_NSTOP IB_STEP_S IB_METHOD
 *   functions  ib_model_prelude  what depends on parameters alone, after each change of one
 *              ib_model_tick     what is constant during a tick
 *              ib_model_rates    derivatives of the continuous states (called once per stage)
 *              ib_model_project  continuous states back to their manifold
 *              ib_model_noise    noise of continuous blocks, drawn every tick
 *              ib_model_samples  sampled blocks that are due: their noise, outputs and next states
 *              ib_model_log      all loggable signals
 *              ib_model_stop     stop conditions
 *
 *   table      ib_swept_rows[IB_NSWEPT]: the sampled states that are computed, not only moved
 *
 * Data of a block of IB_W lanes is contiguous: arrays are [block][row][lane].
 * Order within tick k (time k h): parameter events, noise, sampled blocks, log, stop conditions, integration.
 */
#ifndef IB_LOOP_H
#define IB_LOOP_H

enum { IB_REPLACE = 0, IB_SCALE = 1, IB_OFFSET = 2 };
enum { IB_SHAPE_STEP = 0, IB_SHAPE_RAMP = 1, IB_SHAPE_INTERMITTENT = 2 };
enum { IB_DIVERGED = -1 };
enum {
  IB_PUSH_SIGNAL, IB_PUSH_CONSTANT, IB_LESS, IB_LESS_EQUAL, IB_GREATER, IB_GREATER_EQUAL, IB_EQUAL, IB_NOT_EQUAL,
  IB_AND, IB_OR, IB_NOT, IB_ADD, IB_SUBTRACT, IB_MULTIPLY, IB_ABS
};
#define IB_STACK 32           /* depth of a predicate */
#define IB_TRIGGER_EVERY 10   /* ticks between two looks at the triggers */
#define IB_NEVER INT64_MAX
#define IB_DIVERGENCE_LIMIT 1e12
#define IB_NOTHING 1e-150
#define IB_SWEEP_EVERY 32     /* ticks between two looks at the sampled states */

typedef struct {
  int64_t lane;         /* lane within its block */
  int64_t param;        /* row of the parameter */
  int64_t effect;       /* IB_REPLACE, IB_SCALE, IB_OFFSET */
  int64_t shape;        /* IB_SHAPE_* */
  int64_t start, end;   /* ticks; active in [start, end); counted from the firing of the trigger if there is one */
  int64_t trigger;      /* number of the predicate that fires it, or -1 */
  int64_t rise;         /* ticks of a ramp */
  int64_t period, on;   /* ticks of an intermittent shape */
  double value;
} ib_event;

typedef struct {
  int64_t first_block, last_block; /* lane blocks to run: [first, last) */
  int64_t tick, ticks;             /* first tick and how many */
  double *x, *xd, *held;           /* [block][row][lane] */
  const double *param;             /* base values */
  const double *input;             /* held for the whole call */
  const uint64_t *seed;            /* [block][lane] */
  int64_t *stop_tick;              /* [block][lane]; -1 while running */
  int64_t *stop_reason;            /* index of the stop condition, or IB_DIVERGED */
  int64_t *stop_row;               /* for IB_DIVERGED: row of the state (continuous first, then sampled) */
  const ib_event *events;
  const int64_t *event_first;      /* [block + 1] */
  int64_t *event_fired;            /* tick at which the trigger of an event fired, or -1 */
  const int64_t *code;             /* predicates in postfix form, pairs of operation and argument */
  const double *constants;
  const int64_t *code_first;       /* [predicate + 1], in pairs */
  int64_t log_every;               /* ticks between rows; 0 is no log */
  int64_t log_rows;                /* rows of `log` */
  int64_t log_first;               /* row of `log` that this call writes first */
  int64_t log_count;               /* columns of `log` */
  const int64_t *log_index;        /* which of the loggable signals */
  double *log;                     /* [block][row][column][lane] */
} ib_run_args;

#define IB_ROWS(n) ((n) > 0 ? (n) : 1)

/* How much of an event acts at a tick, 0 to 1, and the next tick at which that changes. */
static double ib_event_weight(const ib_event *e, int64_t fired, int64_t tick, int64_t *next) {
  *next = IB_NEVER;
  if (e->trigger >= 0 && fired < 0) return 0.0;
  const int64_t base = e->trigger >= 0 ? fired : 0;
  const int64_t start = base + e->start, end = e->end == IB_NEVER ? IB_NEVER : base + e->end;
  if (tick < start) { *next = start; return 0.0; }
  if (tick >= end) return 0.0;
  *next = end;
  if (e->shape == IB_SHAPE_RAMP && tick - start < e->rise) {
    *next = tick + 1;
    return (double)(tick - start) / (double)e->rise;
  }
  if (e->shape == IB_SHAPE_INTERMITTENT) {
    const int64_t phase = (tick - start) % e->period;
    const int64_t change = tick + (phase < e->on ? e->on - phase : e->period - phase);
    if (change < *next) *next = change;
    return phase < e->on ? 1.0 : 0.0;
  }
  return 1.0;
}

/* Parameters in force at a tick; returns the next tick at which they change. */
static int64_t ib_apply_events(const ib_event *first, const ib_event *last, const int64_t *fired, int64_t tick,
                               const double *base, double *param) {
  int64_t next = IB_NEVER;
  for (const ib_event *e = first; e < last; ++e) param[e->param * IB_W + e->lane] = base[e->param * IB_W + e->lane];
  for (const ib_event *e = first; e < last; ++e) {
    int64_t change;
    const double w = ib_event_weight(e, fired[e - first], tick, &change);
    double *p = &param[e->param * IB_W + e->lane];
    if (change < next) next = change;
    if (w == 0.0) continue;
    if (e->effect == IB_REPLACE) *p = w == 1.0 ? e->value : *p + w * (e->value - *p);
    else if (e->effect == IB_SCALE) *p = *p * (1.0 + w * (e->value - 1.0));
    else *p = *p + w * e->value;
  }
  return next;
}

/* Value of a predicate for one lane, from the loggable signals. */
static int ib_predicate(const ib_run_args *r, int64_t number, const double *all, int lane) {
  double stack[IB_STACK];
  int n = 0;
  for (int64_t i = r->code_first[number]; i < r->code_first[number + 1]; ++i) {
    const int64_t op = r->code[2 * i], arg = r->code[2 * i + 1];
    if (op == IB_PUSH_SIGNAL) { stack[n++] = all[arg * IB_W + lane]; continue; }
    if (op == IB_PUSH_CONSTANT) { stack[n++] = r->constants[arg]; continue; }
    if (op == IB_NOT) { stack[n - 1] = stack[n - 1] == 0.0; continue; }
    if (op == IB_ABS) { stack[n - 1] = stack[n - 1] < 0.0 ? -stack[n - 1] : stack[n - 1]; continue; }
    const double b = stack[--n], a = stack[n - 1];
    double v = 0.0;
    switch (op) {
      case IB_LESS: v = a < b; break;
      case IB_LESS_EQUAL: v = a <= b; break;
      case IB_GREATER: v = a > b; break;
      case IB_GREATER_EQUAL: v = a >= b; break;
      case IB_EQUAL: v = a == b; break;
      case IB_NOT_EQUAL: v = a != b; break;
      case IB_AND: v = a != 0.0 && b != 0.0; break;
      case IB_OR: v = a != 0.0 || b != 0.0; break;
      case IB_ADD: v = a + b; break;
      case IB_SUBTRACT: v = a - b; break;
      case IB_MULTIPLY: v = a * b; break;
    }
    stack[n - 1] = v;
  }
  return n > 0 && stack[0] != 0.0;
}

/* One fixed step of the continuous states from time t. */
static inline void ib_integrate(double t, ib_f *x, const ib_f *tk, const ib_f *pre, const ib_f *p) {
  const double h = IB_STEP_S;
#if IB_NX > 0
#if IB_METHOD == 1 /* explicit Euler */
  ib_f k[IB_NX];
  ib_model_rates(t, x, tk, pre, p, k);
  for (int i = 0; i < IB_NX; ++i) x[i] = x[i] + ib_splat(h) * k[i];
#elif IB_METHOD == 2 /* midpoint */
  ib_f k[IB_NX], s[IB_NX];
  ib_model_rates(t, x, tk, pre, p, k);
  for (int i = 0; i < IB_NX; ++i) s[i] = x[i] + ib_splat(0.5 * h) * k[i];
  ib_model_rates(t + 0.5 * h, s, tk, pre, p, k);
  for (int i = 0; i < IB_NX; ++i) x[i] = x[i] + ib_splat(h) * k[i];
#else /* classical Runge-Kutta of order four */
  ib_f k[IB_NX], s[IB_NX], a[IB_NX];
  ib_model_rates(t, x, tk, pre, p, k);
  for (int i = 0; i < IB_NX; ++i) { a[i] = k[i]; s[i] = x[i] + ib_splat(0.5 * h) * k[i]; }
  ib_model_rates(t + 0.5 * h, s, tk, pre, p, k);
  for (int i = 0; i < IB_NX; ++i) { a[i] = a[i] + (k[i] + k[i]); s[i] = x[i] + ib_splat(0.5 * h) * k[i]; }
  ib_model_rates(t + 0.5 * h, s, tk, pre, p, k);
  for (int i = 0; i < IB_NX; ++i) { a[i] = a[i] + (k[i] + k[i]); s[i] = x[i] + ib_splat(h) * k[i]; }
  ib_model_rates(t + h, s, tk, pre, p, k);
  for (int i = 0; i < IB_NX; ++i) x[i] = x[i] + ib_splat(h / 6.0) * (a[i] + k[i]);
#endif
  ib_model_project(x, pre, p);
#endif
}

/* One state: zero if it has decayed to nothing (subnormal numbers would slow the processor a hundredfold), and
 * whether it is a number within bounds. */
static inline ib_i ib_sweep(ib_f *x) {
  const ib_f size = ib_fabs(*x);
  *x = ib_select(ib_lt(size, ib_splat(IB_NOTHING)), ib_splat(0.0), *x);
  return ib_lt(size, ib_splat(IB_DIVERGENCE_LIMIT));
}

/* Lanes with a state that is not a number or beyond all bounds; sampled ones are looked at now and then. */
static inline ib_i ib_diverged(ib_f *x, ib_f *xd, int64_t tick) {
  ib_i good = ib_lt(ib_splat(0.0), ib_splat(1.0));
  for (int i = 0; i < IB_NX; ++i) good = ib_and(good, ib_sweep(&x[i]));
  if (tick % IB_SWEEP_EVERY == 0)
    for (int i = 0; i < IB_NSWEPT; ++i) good = ib_and(good, ib_sweep(&xd[ib_swept_rows[i]]));
  return ib_not(good);
}

/* The first bad state of a lane. */
static int64_t ib_first_bad(const double *x, int n, int lane) {
  for (int i = 0; i < n; ++i) {
    const double v = x[i * IB_W + lane];
    if (!(v < IB_DIVERGENCE_LIMIT && v > -IB_DIVERGENCE_LIMIT)) return i;
  }
  return -1;
}

static void ib_copy_lane(double *to, const double *from, int rows, int lane) {
  for (int i = 0; i < rows; ++i) to[i * IB_W + lane] = from[i * IB_W + lane];
}

static void ib_run_block(const ib_run_args *r, int64_t block) {
  ib_f x[IB_ROWS(IB_NX)], xd[IB_ROWS(IB_NXD)], held[IB_ROWS(IB_NHELD)], p[IB_ROWS(IB_NP)], u[IB_ROWS(IB_NU)];
  ib_f before[IB_ROWS(IB_NX)];
  ib_f frozen_x[IB_ROWS(IB_NX)], frozen_xd[IB_ROWS(IB_NXD)], frozen_held[IB_ROWS(IB_NHELD)];
  ib_f pre[IB_ROWS(IB_NPRE)], tk[IB_ROWS(IB_NTICK)], noise[IB_ROWS(IB_NNOISE)];
  double *gx = r->x + block * IB_NX * IB_W, *gxd = r->xd + block * IB_NXD * IB_W;
  double *gheld = r->held + block * IB_NHELD * IB_W;
  const double *base = r->param + block * IB_NP * IB_W, *gu = r->input + block * IB_NU * IB_W;
  int64_t *stop_tick = r->stop_tick + block * IB_W, *stop_reason = r->stop_reason + block * IB_W;
  int64_t *stop_row = r->stop_row + block * IB_W;
  const ib_event *first = r->events + r->event_first[block], *last = r->events + r->event_first[block + 1];
  int64_t *fired = r->event_fired + r->event_first[block];
  int64_t next_event = first < last ? r->tick : IB_NEVER, waiting = 0;
  int dirty = 1, running = 0;
  ib_u seed;
  ib_i alive;

  for (int i = 0; i < IB_NX * IB_W; ++i) ((double *)x)[i] = gx[i];
  for (int i = 0; i < IB_NXD * IB_W; ++i) ((double *)xd)[i] = gxd[i];
  for (int i = 0; i < IB_NHELD * IB_W; ++i) ((double *)held)[i] = gheld[i];
  for (int i = 0; i < IB_NP * IB_W; ++i) ((double *)p)[i] = base[i];
  for (int i = 0; i < IB_NU * IB_W; ++i) ((double *)u)[i] = gu[i];
  for (int i = 0; i < IB_NNOISE; ++i) noise[i] = ib_splat(0.0);
  for (int l = 0; l < IB_W; ++l) {
    ((uint64_t *)&seed)[l] = r->seed[block * IB_W + l];
    ((int64_t *)&alive)[l] = stop_tick[l] < 0 ? -1 : 0;
    running += stop_tick[l] < 0;
    if (stop_tick[l] >= 0) {
      ib_copy_lane((double *)frozen_x, (double *)x, IB_NX, l);
      ib_copy_lane((double *)frozen_xd, (double *)xd, IB_NXD, l);
      ib_copy_lane((double *)frozen_held, (double *)held, IB_NHELD, l);
    }
  }

  for (const ib_event *e = first; e < last; ++e) waiting += e->trigger >= 0 && fired[e - first] < 0;
  int64_t row = r->log_first, until_log = r->log_every > 0 ? (r->log_every - r->tick % r->log_every) % r->log_every : -1;
  for (int64_t tick = r->tick; tick < r->tick + r->ticks && running > 0; ++tick) {
    const double t = (double)tick * IB_STEP_S;
    if (tick >= next_event) {
      next_event = ib_apply_events(first, last, fired, tick, base, (double *)p);
      dirty = 1;
    }
    if (dirty) ib_model_prelude(p, pre);
    ib_model_noise(seed, tick, noise);
    const int sampled = ib_model_samples(t, tick, seed, x, xd, held, u, p, pre, noise);
    if (dirty || sampled || IB_TICK_ALWAYS) ib_model_tick(held, u, p, pre, noise, tk);
    dirty = 0;

    if (until_log == 0) {
      if (row < r->log_rows) {
        ib_f all[IB_ROWS(IB_NLOG)];
        const ib_f blank = ib_splat(__builtin_nan(""));
        double *to = r->log + ((block * r->log_rows + row) * r->log_count) * IB_W;
        ib_model_log(t, x, xd, held, u, p, pre, tk, noise, all);
        for (int64_t j = 0; j < r->log_count; ++j) {
          const ib_f v = ib_select(alive, all[r->log_index[j]], blank);
          for (int l = 0; l < IB_W; ++l) to[j * IB_W + l] = ((const double *)&v)[l];
        }
        ++row;
      }
      until_log = r->log_every;
    }
    --until_log;

    if (waiting > 0 && tick % IB_TRIGGER_EVERY == 0) {
      ib_f all[IB_ROWS(IB_NLOG)];
      ib_model_log(t, x, xd, held, u, p, pre, tk, noise, all);
      for (const ib_event *e = first; e < last; ++e) {
        if (e->trigger < 0 || fired[e - first] >= 0) continue;
        if (ib_predicate(r, e->trigger, (const double *)all, (int)e->lane)) {
          fired[e - first] = tick + 1; /* parameters change from the next tick on */
          next_event = tick + 1;
          --waiting;
        }
      }
    }

#if IB_NSTOP > 0
    ib_f flag[IB_NSTOP];
    ib_i hit = ib_lt(ib_splat(1.0), ib_splat(0.0));
    ib_model_stop(t, x, xd, held, u, p, pre, tk, noise, flag);
    for (int j = 0; j < IB_NSTOP; ++j) hit = ib_or(hit, ib_lt(ib_splat(0.5), flag[j]));
    hit = ib_and(hit, alive);
    if (ib_any(hit)) {
      for (int l = 0; l < IB_W; ++l) {
        if (!((const int64_t *)&hit)[l]) continue;
        int j = 0;
        while (!(((const double *)&flag[j])[l] > 0.5)) ++j;
        stop_tick[l] = tick;
        stop_reason[l] = j;
        ib_copy_lane((double *)frozen_x, (double *)x, IB_NX, l);
        ib_copy_lane((double *)frozen_xd, (double *)xd, IB_NXD, l);
        ib_copy_lane((double *)frozen_held, (double *)held, IB_NHELD, l);
        ((int64_t *)&alive)[l] = 0;
        --running;
      }
      if (running == 0) break;
    }
#endif

    for (int i = 0; i < IB_NX; ++i) before[i] = x[i];
    ib_integrate(t, x, tk, pre, p);
    const ib_i bad = ib_and(ib_diverged(x, xd, tick), alive);
    if (ib_any(bad)) {
      for (int l = 0; l < IB_W; ++l) {
        if (!((const int64_t *)&bad)[l]) continue;
        /* A bad sampled state comes before the continuous ones that it spoils within a tick or two. */
        const int64_t sampled_at = ib_first_bad((double *)xd, IB_NXD, l);
        const int64_t at = sampled_at >= 0 ? IB_NX + sampled_at : ib_first_bad((double *)x, IB_NX, l);
        stop_tick[l] = tick;
        stop_reason[l] = IB_DIVERGED;
        stop_row[l] = at;
        ib_copy_lane((double *)frozen_x, (double *)before, IB_NX, l); /* the last good state */
        ib_copy_lane((double *)frozen_xd, (double *)xd, IB_NXD, l);
        ib_copy_lane((double *)frozen_held, (double *)held, IB_NHELD, l);
        ((int64_t *)&alive)[l] = 0;
        --running;
      }
    }
  }

  if (r->log_every > 0) { /* rows that no lane of this block lived to see */
    const int64_t every = r->log_every, last_tick = r->tick + r->ticks;
    int64_t end = r->log_first + (last_tick + every - 1) / every - (r->tick + every - 1) / every;
    if (end > r->log_rows) end = r->log_rows;
    double *to = r->log + (block * r->log_rows + row) * r->log_count * IB_W;
    for (int64_t i = 0; i < (end - row) * r->log_count * IB_W; ++i) to[i] = __builtin_nan("");
  }
  for (int l = 0; l < IB_W; ++l) {
    if (stop_tick[l] < 0) continue;
    ib_copy_lane((double *)x, (double *)frozen_x, IB_NX, l);
    ib_copy_lane((double *)xd, (double *)frozen_xd, IB_NXD, l);
    ib_copy_lane((double *)held, (double *)frozen_held, IB_NHELD, l);
  }
  for (int i = 0; i < IB_NX * IB_W; ++i) gx[i] = ((double *)x)[i];
  for (int i = 0; i < IB_NXD * IB_W; ++i) gxd[i] = ((double *)xd)[i];
  for (int i = 0; i < IB_NHELD * IB_W; ++i) gheld[i] = ((double *)held)[i];
}

/* Advance lane blocks; the only function that the host calls. */
IB_API void ib_run(const ib_run_args *r) {
  for (int64_t block = r->first_block; block < r->last_block; ++block) ib_run_block(r, block);
}

/* What this library was built for, so that the host can check it. */
IB_API int64_t ib_lanes(void) { return IB_W; }
IB_API int64_t ib_args_size(void) { return (int64_t)(sizeof(ib_run_args) + 1000 * sizeof(ib_event)); }

#endif
