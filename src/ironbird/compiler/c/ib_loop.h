/* The run loop around a generated model: the same text for one lane and for IB_W lanes.
 *
 * The generated file defines, before it includes this one:
 *   sizes      IB_NX IB_NXD IB_NHELD IB_NU IB_NP IB_NPRE IB_NTICK IB_NNOISE IB_NLOG IB_NSTOP IB_STEP_S IB_METHOD
 *   rates      IB_TRIGGER_EVERY: ticks between two looks at the triggers
 *   functions  ib_model_prelude  what depends on parameters alone, after each change of one
 *              ib_model_tick     what is constant during a tick
 *              ib_model_rates    derivatives of the continuous states (called once per stage)
 *              ib_model_project  continuous states back to their manifold
 *              ib_model_noise    noise of continuous blocks, drawn every tick
 *              ib_model_samples  sampled blocks that are due: their noise, outputs and next states
 *              ib_model_log      the loggable signals of the parts that are wanted
 *              ib_model_stop     stop conditions
 *
 *   tables     ib_swept_rows[IB_NSWEPT]: the sampled states that are computed, not only moved
 *              ib_log_part[IB_NLOG]: the part that computes a loggable signal
 *
 * Data of a block of IB_W lanes is contiguous: arrays are [block][row][lane].
 * Order within tick k (time k h): parameter events, noise, sampled blocks, log, stop conditions, integration.
 */
#ifndef IB_LOOP_H
#define IB_LOOP_H

#include "ib_integrate.h"

enum { IB_REPLACE = 0, IB_SCALE = 1, IB_OFFSET = 2 };
enum { IB_SHAPE_STEP = 0, IB_SHAPE_RAMP = 1, IB_SHAPE_INTERMITTENT = 2 };
enum { IB_DIVERGED = -1 };
enum {
  IB_OP_PUSH_SIGNAL, IB_OP_PUSH_CONSTANT, IB_OP_PUSH_TIME,
  /* of one value */
  IB_OP_NEGATE, IB_OP_ABS, IB_OP_SQUARE, IB_OP_SQRT, IB_OP_COS, IB_OP_SIN, IB_OP_ACOS, IB_OP_NOT,
  /* of two values */
  IB_OP_ADD, IB_OP_SUBTRACT, IB_OP_MULTIPLY, IB_OP_DIVIDE, IB_OP_MINIMUM, IB_OP_MAXIMUM, IB_OP_HYPOT,
  IB_OP_LESS, IB_OP_LESS_EQUAL, IB_OP_GREATER, IB_OP_GREATER_EQUAL, IB_OP_AND, IB_OP_OR,
  /* of one value: margins of requirements */
  IB_OP_ALL_OR_NOTHING, IB_OP_SIGN_OF_MARGIN
};
#define IB_STACK 32           /* values that a program may stack; the host refuses deeper ones */
#define IB_BATCH 16           /* moments for which a program is evaluated at once */
#define IB_BATCH_VALUES 1024  /* signals x moments for which there is room */
#define IB_NEVER INT64_MAX

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

typedef struct {                   /* programs in postfix form */
  const int64_t *code;             /* pairs of operation and argument */
  const double *constants;
  const int64_t *first;            /* [program + 1], in pairs */
} ib_programs;

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
  ib_programs triggers;            /* predicates of events */
  int64_t log_every;               /* ticks between rows; 0 is no log */
  int64_t log_rows;                /* rows of `log` */
  int64_t log_first;               /* row of `log` that this call writes first */
  int64_t log_count;               /* columns of `log` */
  const int64_t *log_index;        /* which of the loggable signals */
  double *log;                     /* [block][row][column][lane] */
  ib_programs watched;             /* numbers whose extremes between two rows of the log are kept */
  int64_t watch_signals;           /* loggable signals that they read, at most IB_BATCH_VALUES: a program has their */
  const int64_t *watch_rows;       /* place in this list, not their row */
  int64_t watch_count;             /* most programs of a block; 0 is none */
  const int64_t *watch_first;      /* [block + 1], in `watch_list` */
  const int64_t *watch_list;       /* programs of each block */
  double *watch;                   /* [block][row][program of the block][least, greatest][lane] */
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

/* Truth of a comparison as a number: 1, 0, or NaN if one of both sides is NaN. */
static ib_f ib_compared(ib_i holds, ib_f a, ib_f b) {
  return ib_select(ib_or(ib_ne(a, a), ib_ne(b, b)), a + b, ib_num(holds));
}

#define IB_EACH for (int i = 0; i < n; ++i) v[i] =

/* The values of a program in postfix form at n moments t, for all lanes of a block: values[signal * stride + moment] are
 * the signals that it reads. Truth is 1 or 0; NaN spreads through all operations, so that a predicate with a value that
 * is not a number does not hold. */
static void ib_evaluate(const ib_programs *r, int64_t number, int n, const double *t, const ib_f *values,
                        int64_t stride, ib_f *result) {
  ib_f memory[IB_STACK][IB_BATCH];
  const ib_f *at[IB_STACK];
  int top = -1;
  for (int64_t place = r->first[number]; place < r->first[number + 1]; ++place) {
    const int64_t op = r->code[2 * place], arg = r->code[2 * place + 1];
    if (op == IB_OP_PUSH_SIGNAL) {
      at[++top] = values + arg * stride;
      continue;
    }
    if (op <= IB_OP_PUSH_TIME) ++top;
    const ib_f *b = at[top];
    if (op > IB_OP_NOT && op < IB_OP_ALL_OR_NOTHING) --top; /* of two values */
    const ib_f *a = at[top];
    ib_f *v = memory[top];
    switch (op) {
      case IB_OP_PUSH_CONSTANT: IB_EACH ib_splat(r->constants[arg]); break;
      case IB_OP_PUSH_TIME: IB_EACH ib_splat(t[i]); break;
      case IB_OP_NEGATE: IB_EACH -a[i]; break;
      case IB_OP_ABS: IB_EACH ib_fabs(a[i]); break;
      case IB_OP_SQUARE: IB_EACH a[i] * a[i]; break;
      case IB_OP_SQRT: IB_EACH ib_sqrt(a[i]); break;
      case IB_OP_COS: IB_EACH ib_cos(a[i]); break;
      case IB_OP_SIN: IB_EACH ib_sin(a[i]); break;
      case IB_OP_ACOS: IB_EACH ib_acos(ib_at_least(ib_at_most(a[i], 1.0), -1.0)); break;
      case IB_OP_NOT: IB_EACH ib_splat(1.0) - a[i]; break;
      case IB_OP_ADD: IB_EACH a[i] + b[i]; break;
      case IB_OP_SUBTRACT: IB_EACH a[i] - b[i]; break;
      case IB_OP_MULTIPLY: IB_EACH a[i] * b[i]; break;
      case IB_OP_DIVIDE: IB_EACH a[i] / b[i]; break;
      case IB_OP_MINIMUM: IB_EACH ib_select(ib_or(ib_lt(a[i], b[i]), ib_ne(a[i], a[i])), a[i], b[i]); break;
      case IB_OP_MAXIMUM: IB_EACH ib_select(ib_or(ib_lt(b[i], a[i]), ib_ne(a[i], a[i])), a[i], b[i]); break;
      case IB_OP_HYPOT: IB_EACH ib_hypot(a[i], b[i]); break;
      case IB_OP_LESS: IB_EACH ib_compared(ib_lt(a[i], b[i]), a[i], b[i]); break;
      case IB_OP_LESS_EQUAL: IB_EACH ib_compared(ib_le(a[i], b[i]), a[i], b[i]); break;
      case IB_OP_GREATER: IB_EACH ib_compared(ib_lt(b[i], a[i]), a[i], b[i]); break;
      case IB_OP_GREATER_EQUAL: IB_EACH ib_compared(ib_le(b[i], a[i]), a[i], b[i]); break;
      case IB_OP_AND: IB_EACH a[i] * b[i]; break;
      case IB_OP_OR: IB_EACH a[i] + b[i] - a[i] * b[i]; break;
      case IB_OP_ALL_OR_NOTHING: /* of a distance: an infinite margin with the sign of equality */
        IB_EACH ib_select(ib_lt(a[i], ib_splat(0.5)), ib_splat(IB_INF),
                          ib_select(ib_ne(a[i], a[i]), a[i], ib_splat(-IB_INF)));
        break;
      case IB_OP_SIGN_OF_MARGIN: /* infinite, with the sign of a margin */
        IB_EACH ib_select(ib_le(ib_splat(0.0), a[i]), ib_splat(IB_INF),
                          ib_select(ib_ne(a[i], a[i]), a[i], ib_splat(-IB_INF)));
        break;
    }
    at[top] = v;
  }
  for (int i = 0; i < n; ++i) result[i] = at[0][i];
}

/* Signals of some ticks of a block that watched programs will read: programs cost least for many ticks at once. */
typedef struct {
  int n, most;          /* ticks that are there, and for which there is room */
  int begins;           /* the first of them is that of a row: extremes start anew */
  double *to;           /* that row's extremes: [program of the block][least, greatest][lane] */
  double t[IB_BATCH];
  ib_i alive[IB_BATCH];
  ib_f values[IB_BATCH_VALUES]; /* [signal][tick] */
} ib_batch;

/* Least and greatest value of each watched program of a block, with the ticks of a batch; a value that is not a number
 * stays. The batch is empty afterwards. */
static void ib_watch(const ib_run_args *r, const int64_t *first, const int64_t *last, ib_batch *batch) {
  if (batch->n == 0) return;
  double *to = batch->to;
  for (const int64_t *number = first; number < last; ++number, to += 2 * IB_W) {
    ib_f v[IB_BATCH], low, high;
    ib_evaluate(&r->watched, *number, batch->n, batch->t, batch->values, batch->most, v);
    int i = 0;
    if (batch->begins) low = high = v[i++];
    else {
      __builtin_memcpy(&low, to, sizeof(low));
      __builtin_memcpy(&high, to + IB_W, sizeof(high));
    }
    for (; i < batch->n; ++i) {
      const ib_i none = ib_ne(v[i], v[i]), alive = batch->alive[i];
      low = ib_select(ib_and(alive, ib_or(none, ib_lt(v[i], low))), v[i], low);
      high = ib_select(ib_and(alive, ib_or(none, ib_lt(high, v[i]))), v[i], high);
    }
    __builtin_memcpy(to, &low, sizeof(low));
    __builtin_memcpy(to + IB_W, &high, sizeof(high));
  }
  batch->n = batch->begins = 0;
}

/* Add the parts of some loggable signals to those that are wanted. */
static void ib_want(ib_parts *parts, const int64_t *rows, int64_t count) {
  for (int64_t j = 0; j < count; ++j) {
    const uint16_t number = ib_log_part[rows[j]];
    if (!parts->wanted[number]) parts->number[parts->count++] = number;
    parts->wanted[number] = 1;
  }
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
  const int64_t *watch_first = 0, *watch_last = 0;
  ib_parts logged = {0}, triggered = {0}, watched = {0};
  ib_batch batch;
  batch.n = batch.begins = 0;
  ib_want(&logged, r->log_index, r->log_count);
  for (const ib_event *e = first; e < last; ++e) {
    if (e->trigger < 0) continue;
    for (int64_t i = r->triggers.first[e->trigger]; i < r->triggers.first[e->trigger + 1]; ++i)
      if (r->triggers.code[2 * i] == IB_OP_PUSH_SIGNAL) ib_want(&triggered, &r->triggers.code[2 * i + 1], 1);
  }
  if (r->watch_count > 0) {
    watch_first = r->watch_list + r->watch_first[block];
    watch_last = r->watch_list + r->watch_first[block + 1];
    ib_want(&watched, r->watch_rows, r->watch_signals);
    batch.most = (int)(IB_BATCH_VALUES / r->watch_signals < IB_BATCH ? IB_BATCH_VALUES / r->watch_signals : IB_BATCH);
  }
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
        ib_model_log(t, x, xd, held, u, p, pre, tk, noise, &logged, all);
        for (int64_t j = 0; j < r->log_count; ++j) {
          const ib_f v = ib_select(alive, all[r->log_index[j]], blank);
          for (int l = 0; l < IB_W; ++l) to[j * IB_W + l] = ((const double *)&v)[l];
        }
        ++row;
      }
      until_log = r->log_every;
    }
    if (watch_first < watch_last && row > 0) {
      ib_f all[IB_ROWS(IB_NLOG)];
      const int begins = until_log == r->log_every;
      if (begins || batch.n == batch.most) ib_watch(r, watch_first, watch_last, &batch);
      batch.begins |= begins;
      batch.to = r->watch + (block * r->log_rows + row - 1) * r->watch_count * 2 * IB_W;
      ib_model_log(t, x, xd, held, u, p, pre, tk, noise, &watched, all);
      for (int64_t j = 0; j < r->watch_signals; ++j) batch.values[j * batch.most + batch.n] = all[r->watch_rows[j]];
      batch.alive[batch.n] = alive;
      batch.t[batch.n++] = t;
    }
    --until_log;

    if (waiting > 0 && tick % IB_TRIGGER_EVERY == 0) {
      ib_f all[IB_ROWS(IB_NLOG)];
      ib_model_log(t, x, xd, held, u, p, pre, tk, noise, &triggered, all);
      for (const ib_event *e = first; e < last; ++e) {
        if (e->trigger < 0 || fired[e - first] >= 0) continue;
        ib_f holds;
        ib_evaluate(&r->triggers, e->trigger, 1, &t, all, 1, &holds);
        if (((const double *)&holds)[e->lane] == 1.0) {
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

  ib_watch(r, watch_first, watch_last, &batch);
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
IB_API int64_t ib_rows(int64_t i) {
  static const int64_t rows[] = {IB_NX, IB_NXD, IB_NHELD, IB_NU, IB_NP, IB_NLOG, IB_NSTOP};
  return i >= 0 && i < (int64_t)(sizeof(rows) / sizeof(rows[0])) ? rows[i] : -1;
}

/* What the host mirrors of this file: offsets of fields, sizes, and the values of names; entry by entry until no name
 * is left, so that the host can compare them with its own. */
#define IB_FIELD(type, field) {#type "." #field, (int64_t)__builtin_offsetof(type, field)}
#define IB_SIZE(type) {"sizeof(" #type ")", (int64_t)sizeof(type)}
#define IB_VALUE(name) {#name, name}
static const struct { const char *name; int64_t value; } ib_mirrored[] = {
  IB_FIELD(ib_event, lane), IB_FIELD(ib_event, param), IB_FIELD(ib_event, effect), IB_FIELD(ib_event, shape),
  IB_FIELD(ib_event, start), IB_FIELD(ib_event, end), IB_FIELD(ib_event, trigger), IB_FIELD(ib_event, rise),
  IB_FIELD(ib_event, period), IB_FIELD(ib_event, on), IB_FIELD(ib_event, value), IB_SIZE(ib_event),
  IB_FIELD(ib_run_args, first_block), IB_FIELD(ib_run_args, last_block), IB_FIELD(ib_run_args, tick),
  IB_FIELD(ib_run_args, ticks), IB_FIELD(ib_run_args, x), IB_FIELD(ib_run_args, xd), IB_FIELD(ib_run_args, held),
  IB_FIELD(ib_run_args, param), IB_FIELD(ib_run_args, input), IB_FIELD(ib_run_args, seed),
  IB_FIELD(ib_run_args, stop_tick), IB_FIELD(ib_run_args, stop_reason), IB_FIELD(ib_run_args, stop_row),
  IB_FIELD(ib_run_args, events), IB_FIELD(ib_run_args, event_first), IB_FIELD(ib_run_args, event_fired),
  IB_FIELD(ib_programs, code), IB_FIELD(ib_programs, constants), IB_FIELD(ib_programs, first), IB_SIZE(ib_programs),
  IB_FIELD(ib_run_args, triggers),
  IB_FIELD(ib_run_args, log_every), IB_FIELD(ib_run_args, log_rows), IB_FIELD(ib_run_args, log_first),
  IB_FIELD(ib_run_args, log_count), IB_FIELD(ib_run_args, log_index), IB_FIELD(ib_run_args, log),
  IB_FIELD(ib_run_args, watched), IB_FIELD(ib_run_args, watch_signals), IB_FIELD(ib_run_args, watch_rows),
  IB_FIELD(ib_run_args, watch_count), IB_FIELD(ib_run_args, watch_first),
  IB_FIELD(ib_run_args, watch_list), IB_FIELD(ib_run_args, watch), IB_SIZE(ib_run_args),
  IB_VALUE(IB_STACK), IB_VALUE(IB_BATCH_VALUES),
  IB_VALUE(IB_REPLACE), IB_VALUE(IB_SCALE), IB_VALUE(IB_OFFSET),
  IB_VALUE(IB_SHAPE_STEP), IB_VALUE(IB_SHAPE_RAMP), IB_VALUE(IB_SHAPE_INTERMITTENT),
  IB_VALUE(IB_OP_PUSH_SIGNAL), IB_VALUE(IB_OP_PUSH_CONSTANT), IB_VALUE(IB_OP_PUSH_TIME), IB_VALUE(IB_OP_NEGATE),
  IB_VALUE(IB_OP_ABS), IB_VALUE(IB_OP_SQUARE), IB_VALUE(IB_OP_SQRT), IB_VALUE(IB_OP_COS), IB_VALUE(IB_OP_SIN),
  IB_VALUE(IB_OP_ACOS), IB_VALUE(IB_OP_NOT), IB_VALUE(IB_OP_ADD), IB_VALUE(IB_OP_SUBTRACT), IB_VALUE(IB_OP_MULTIPLY),
  IB_VALUE(IB_OP_DIVIDE), IB_VALUE(IB_OP_MINIMUM), IB_VALUE(IB_OP_MAXIMUM), IB_VALUE(IB_OP_HYPOT),
  IB_VALUE(IB_OP_LESS), IB_VALUE(IB_OP_LESS_EQUAL), IB_VALUE(IB_OP_GREATER), IB_VALUE(IB_OP_GREATER_EQUAL),
  IB_VALUE(IB_OP_AND), IB_VALUE(IB_OP_OR), IB_VALUE(IB_OP_ALL_OR_NOTHING), IB_VALUE(IB_OP_SIGN_OF_MARGIN),
};
IB_API const char *ib_mirrored_name(int64_t i) {
  return i >= 0 && i < (int64_t)(sizeof(ib_mirrored) / sizeof(ib_mirrored[0])) ? ib_mirrored[i].name : 0;
}
IB_API int64_t ib_mirrored_value(int64_t i) {
  return i >= 0 && i < (int64_t)(sizeof(ib_mirrored) / sizeof(ib_mirrored[0])) ? ib_mirrored[i].value : -1;
}

#endif
