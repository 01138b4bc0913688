/* A loop that keeps time: the kernel a step at a time, each at its moment of an absolute clock, with an exchange after it.
 *
 * A step is computed before its moment, so that the time it takes makes nothing late. Nothing is left out: a step that
 * comes late is noted, and those behind it follow at once until they have caught up. Nothing here allocates, and nobody
 * waits for the host, which reads `steps` and `tick` and sets `stop`. Functions of the C library and of the kernel are
 * handed in: this code is linked against nothing. Follows ib_clock.h in one text.
 */
#include <stdint.h>

#define EXPORT __attribute__((visibility("default")))
#define ABSTIME 1
#define INTERRUPTED 4
#define LOOK_NS 50000 /* between two looks whether it may go on */
enum { ENDED = 0, STOPPED = 1, ASKED = 2, BROKEN = 3 };

typedef struct {
    const double *from;
    int64_t count;
} ib_part;

typedef struct {
    void (*run)(void *); /* the kernel and its arguments */
    void *args;
    int64_t *arg_tick, *arg_ticks, *arg_log_first; /* in the arguments */
    const int64_t *stop_tick;                      /* of the vehicle; negative while it runs */
    int64_t first_tick, log_from, until_tick, step_ticks, log_every; /* row of the log at the first tick */
    int64_t part_ticks; /* a step is made in parts of so many ticks, and `sample` is called between them */
    double tick_ns; /* of the wall */
    ib_clock *now;
    int (*sleep)(int, int, const struct ib_time *, struct ib_time *);
    int64_t begin_ns; /* moment of tick 0; negative: the first step begins at once */
    int64_t (*exchange)(void *, int64_t, int64_t); /* with whom, tick, moment of the wall; negative: it broke */
    void (*sample)(void *, int64_t); /* with whom, tick; may be null */
    void *with;
    double *late_s; /* of each step */
    int64_t most;   /* steps that there is room for */
    double *commands;
    const double *inputs;
    int64_t width;
    ib_part part[4]; /* what a copy of the state holds */
    int64_t copy_ticks, copy_size, next_copy;
    double *copies;
    int64_t *copy_at; /* tick of each */
    int64_t most_copies, copied;
    int64_t tick, steps, result, trouble, stop;
    int64_t hold, holds; /* the host asks it to stand between two steps; it does */
} ib_paced;

static void copy(ib_paced *a)
{
    double *to = a->copies + a->copied * a->copy_size;
    for (int k = 0; k < 4; k++) {
        for (int64_t i = 0; i < a->part[k].count; i++) to[i] = a->part[k].from[i];
        to += a->part[k].count;
    }
    a->copy_at[a->copied++] = a->tick;
}

static int64_t rows_before(int64_t tick, int64_t every) { return (tick + every - 1) / every; }

/* Wait until a moment, even if signals come. */
static void wait_for(const ib_paced *a, int64_t moment)
{
    const struct ib_time t = {moment / IB_SECOND, moment % IB_SECOND};
    while (a->sleep(IB_MONOTONIC, ABSTIME, &t, 0) == INTERRUPTED) continue;
}

/* Stand as long as the host asks for it. */
static void stand(ib_paced *a)
{
    __atomic_store_n(&a->holds, 1, __ATOMIC_RELEASE);
    while (__atomic_load_n(&a->hold, __ATOMIC_ACQUIRE) && !__atomic_load_n(&a->stop, __ATOMIC_ACQUIRE))
        wait_for(a, ib_now_ns(a->now) + LOOK_NS);
    __atomic_store_n(&a->holds, 0, __ATOMIC_RELEASE);
}

/* One step of the model, in its parts; whether the vehicle still runs. */
static int step(ib_paced *a, int64_t ticks)
{
    for (int64_t left = ticks; left > 0;) {
        const int64_t part = left > a->part_ticks ? a->part_ticks : left;
        *a->arg_tick = a->tick;
        *a->arg_ticks = part;
        *a->arg_log_first = a->log_from + rows_before(a->tick, a->log_every) - rows_before(a->first_tick, a->log_every);
        a->run(a->args);
        a->tick += part;
        left -= part;
        if (*a->stop_tick >= 0) return 0;
        if (left > 0 && a->sample) a->sample(a->with, a->tick);
    }
    return 1;
}

/* Go on for so many steps at most; why it ended is in `result`. */
EXPORT int64_t ib_keep_time(ib_paced *a, int64_t most)
{
    for (int64_t n = 0; n < most; n++) {
        int64_t ticks = a->until_tick - a->tick;
        if (ticks > a->step_ticks) ticks = a->step_ticks;
        if (ticks <= 0 || a->steps >= a->most) return a->result = ENDED;
        if (__atomic_load_n(&a->hold, __ATOMIC_ACQUIRE)) stand(a);
        if (__atomic_load_n(&a->stop, __ATOMIC_ACQUIRE)) return a->result = ASKED;
        if (!step(a, ticks)) return a->result = STOPPED;
        int64_t moment = a->begin_ns + (int64_t)((double)a->tick * a->tick_ns);
        if (a->begin_ns < 0) {
            moment = ib_now_ns(a->now);
            a->begin_ns = moment - (int64_t)((double)a->tick * a->tick_ns);
        } else if (moment > ib_now_ns(a->now)) {
            wait_for(a, moment);
        }
        const int64_t now = ib_now_ns(a->now);
        a->late_s[a->steps] = 1e-9 * (double)(now - moment);
        if (a->exchange && (a->trouble = a->exchange(a->with, a->tick, now)) < 0) return a->result = BROKEN;
        if (a->commands)
            for (int64_t i = 0; i < a->width; i++) a->commands[a->steps * a->width + i] = a->inputs[i];
        __atomic_store_n(&a->steps, a->steps + 1, __ATOMIC_RELEASE);
        if (a->copies && a->tick + a->step_ticks > a->next_copy && a->copied < a->most_copies) {
            copy(a);
            a->next_copy = a->tick + a->copy_ticks;
        }
    }
    return a->result = -1; /* not at its end yet */
}

LAYOUT(FIELD(ib_part, from), FIELD(ib_part, count), SIZE(ib_part),
       FIELD(ib_paced, run), FIELD(ib_paced, args), FIELD(ib_paced, arg_tick), FIELD(ib_paced, arg_ticks),
       FIELD(ib_paced, arg_log_first), FIELD(ib_paced, stop_tick), FIELD(ib_paced, first_tick), FIELD(ib_paced, log_from),
       FIELD(ib_paced, until_tick), FIELD(ib_paced, step_ticks), FIELD(ib_paced, log_every),
       FIELD(ib_paced, part_ticks), FIELD(ib_paced, tick_ns),
       FIELD(ib_paced, now), FIELD(ib_paced, sleep), FIELD(ib_paced, begin_ns), FIELD(ib_paced, exchange),
       FIELD(ib_paced, sample), FIELD(ib_paced, with), FIELD(ib_paced, late_s), FIELD(ib_paced, most), FIELD(ib_paced, commands),
       FIELD(ib_paced, inputs), FIELD(ib_paced, width), FIELD(ib_paced, part), FIELD(ib_paced, copy_ticks),
       FIELD(ib_paced, copy_size), FIELD(ib_paced, next_copy), FIELD(ib_paced, copies), FIELD(ib_paced, copy_at),
       FIELD(ib_paced, most_copies), FIELD(ib_paced, copied), FIELD(ib_paced, tick), FIELD(ib_paced, steps),
       FIELD(ib_paced, result), FIELD(ib_paced, trouble), FIELD(ib_paced, stop), FIELD(ib_paced, hold),
       FIELD(ib_paced, holds), SIZE(ib_paced))
