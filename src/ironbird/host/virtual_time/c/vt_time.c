/* Clocks and sleeps. */
#define MONOTONIC_START SECOND

static uint64_t read_clock(clockid_t clock)
{
    switch (clock) {
    case CLOCK_REALTIME:
    case CLOCK_REALTIME_COARSE:
    case CLOCK_TAI: return H.epoch_ns + H.now_ns;
    case CLOCK_PROCESS_CPUTIME_ID:
    case CLOCK_THREAD_CPUTIME_ID: return me->used_ns;
    default: return clock < 0 ? me->used_ns : MONOTONIC_START + H.now_ns; /* below zero: of another thread */
    }
}

/* From a moment of a clock to one of the run. */
static uint64_t moment_of(clockid_t clock, const struct timespec *at)
{
    const uint64_t start = clock == CLOCK_REALTIME || clock == CLOCK_TAI ? H.epoch_ns : MONOTONIC_START;
    if (at->tv_sec < 0) return 0;
    if ((uint64_t)at->tv_sec > NEVER / SECOND / 2) return NEVER;
    const uint64_t ns = (uint64_t)at->tv_sec * SECOND + (uint64_t)at->tv_nsec;
    return ns > start ? ns - start : 0;
}

static struct timespec as_timespec(uint64_t ns) { return (struct timespec){(time_t)(ns / SECOND), (long)(ns % SECOND)}; }

EXPORT int clock_gettime(clockid_t clock, struct timespec *out)
{
    if (!inside()) {
        if (phase == 2) { /* a thread that is not ours still sees the time of the run */
            *out = as_timespec((clock == CLOCK_REALTIME ? H.epoch_ns : MONOTONIC_START) + H.now_ns);
            return 0;
        }
        return (int)K(SYS_clock_gettime, clock, out);
    }
    charge(CLOCK_NS);
    *out = as_timespec(read_clock(clock));
    return 0;
}

EXPORT int gettimeofday(struct timeval *restrict out, void *restrict zone)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (out) *out = (struct timeval){now.tv_sec, now.tv_nsec / 1000};
    if (zone) memset(zone, 0, sizeof(struct timezone));
    return 0;
}

EXPORT time_t time(time_t *out)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (out) *out = now.tv_sec;
    return now.tv_sec;
}

EXPORT int timespec_get(struct timespec *out, int base)
{
    if (base != TIME_UTC) return 0;
    clock_gettime(CLOCK_REALTIME, out);
    return base;
}

EXPORT clock_t clock(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (clock_t)(now.tv_sec * CLOCKS_PER_SEC + now.tv_nsec / 1000);
}

EXPORT clock_t times(struct tms *out)
{
    struct timespec now;
    if (out) memset(out, 0, sizeof *out);
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (clock_t)(now.tv_sec * 100 + now.tv_nsec / 10000000);
}

EXPORT int getrusage(__rusage_who_t who, struct rusage *out)
{
    if (!inside()) return REAL(getrusage)(who, out);
    memset(out, 0, sizeof *out);
    out->ru_utime = (struct timeval){(time_t)(me->used_ns / SECOND), (suseconds_t)(me->used_ns % SECOND / 1000)};
    return 0;
}

static int sleep_until(uint64_t moment, struct timespec *left)
{
    if (H.slack_ns && moment < NEVER - H.slack_ns) moment = (moment + H.slack_ns - 1) / H.slack_ns * H.slack_ns;
    if (block(W_SLEEP, 0, moment) != SIGNALLED) return 0;
    if (left) *left = as_timespec(moment > H.now_ns ? moment - H.now_ns : 0);
    return EINTR;
}

EXPORT int clock_nanosleep(clockid_t clock, int flags, const struct timespec *wanted, struct timespec *left)
{
    if (!inside()) return REAL(clock_nanosleep)(clock, flags, wanted, left);
    if (wanted->tv_nsec < 0 || wanted->tv_nsec >= (long)SECOND || wanted->tv_sec < 0) return EINVAL;
    const uint64_t moment = flags & TIMER_ABSTIME ? moment_of(clock, wanted)
                                                  : after((uint64_t)wanted->tv_sec * SECOND + (uint64_t)wanted->tv_nsec);
    return sleep_until(moment, flags & TIMER_ABSTIME ? 0 : left);
}

EXPORT int nanosleep(const struct timespec *wanted, struct timespec *left)
{
    if (!inside()) return REAL(nanosleep)(wanted, left);
    const int result = clock_nanosleep(CLOCK_MONOTONIC, 0, wanted, left);
    if (!result) return 0;
    errno = result;
    return -1;
}

EXPORT int usleep(useconds_t microseconds)
{
    const struct timespec wanted = {microseconds / 1000000, microseconds % 1000000 * 1000};
    return nanosleep(&wanted, 0);
}

EXPORT unsigned sleep(unsigned seconds)
{
    struct timespec wanted = {seconds, 0}, left = {0, 0};
    return nanosleep(&wanted, &left) ? (unsigned)left.tv_sec + (left.tv_nsec > 0) : 0;
}

EXPORT int sched_yield(void)
{
    if (!inside()) return (int)K(SYS_sched_yield);
    charge(CALL_NS);
    yield_to_others();
    return 0;
}

/* Timers that raise signals. */
static vt_timer *new_timer(int sig)
{
    for (int i = 0; i < TIMERS; i++)
        if (!run->timer[i].used) {
            H.timers++;
            run->timer[i] = (vt_timer){1, me->process, NEVER, 0, (uint64_t)sig, 0};
            return &run->timer[i];
        }
    return 0;
}

static void set_timer(vt_timer *t, uint64_t first, uint64_t interval)
{
    t->next = first;
    t->interval = interval;
}

static uint64_t of_timeval(const struct timeval *t) { return (uint64_t)t->tv_sec * SECOND + (uint64_t)t->tv_usec * 1000; }
static uint64_t of_timespec(const struct timespec *t) { return (uint64_t)t->tv_sec * SECOND + (uint64_t)t->tv_nsec; }

static vt_timer *alarm_timer(void)
{
    for (int i = 0; i < TIMERS; i++)
        if (run->timer[i].used == 2 && run->timer[i].process == me->process) return &run->timer[i];
    vt_timer *t = new_timer(SIGALRM);
    if (t) t->used = 2;
    return t;
}

EXPORT int setitimer(__itimer_which_t which, const struct itimerval *wanted, struct itimerval *before)
{
    if (!inside()) return REAL(setitimer)(which, wanted, before);
    vt_timer *t = which == ITIMER_REAL ? alarm_timer() : 0;
    if (!t) {
        errno = which == ITIMER_REAL ? EAGAIN : EINVAL;
        return -1;
    }
    if (before) {
        const uint64_t left = t->next == NEVER ? 0 : t->next - H.now_ns;
        before->it_value = (struct timeval){(time_t)(left / SECOND), (suseconds_t)(left % SECOND / 1000)};
        before->it_interval = (struct timeval){(time_t)(t->interval / SECOND), (suseconds_t)(t->interval % SECOND / 1000)};
    }
    const uint64_t first = of_timeval(&wanted->it_value);
    set_timer(t, first ? after(first) : NEVER, of_timeval(&wanted->it_interval));
    return 0;
}

EXPORT unsigned alarm(unsigned seconds)
{
    if (!inside()) return REAL(alarm)(seconds);
    struct itimerval wanted = {{0, 0}, {seconds, 0}}, before = {{0, 0}, {0, 0}};
    setitimer(ITIMER_REAL, &wanted, &before);
    return (unsigned)before.it_value.tv_sec + (before.it_value.tv_usec > 0);
}

EXPORT int timer_create(clockid_t clock, struct sigevent *restrict event, timer_t *restrict out)
{
    if (!inside()) return REAL(timer_create)(clock, event, out);
    if (event && event->sigev_notify != SIGEV_SIGNAL) { /* threads per expiry and targets are not known here */
        errno = ENOTSUP;
        return -1;
    }
    vt_timer *t = new_timer(event ? event->sigev_signo : SIGALRM);
    if (!t) {
        errno = EAGAIN;
        return -1;
    }
    t->overrun = (uint64_t)clock; /* kept here until it is set */
    *out = (timer_t)t;
    return 0;
}

EXPORT int timer_settime(timer_t id, int flags, const struct itimerspec *restrict wanted, struct itimerspec *restrict before)
{
    if (!inside()) return REAL(timer_settime)(id, flags, wanted, before);
    vt_timer *t = (vt_timer *)id;
    if (before) {
        before->it_value = as_timespec(t->next == NEVER ? 0 : t->next - H.now_ns);
        before->it_interval = as_timespec(t->interval);
    }
    const uint64_t first = of_timespec(&wanted->it_value);
    set_timer(t, !first ? NEVER : flags & TIMER_ABSTIME ? moment_of((clockid_t)t->overrun, &wanted->it_value) : after(first),
              of_timespec(&wanted->it_interval));
    return 0;
}

EXPORT int timer_gettime(timer_t id, struct itimerspec *out)
{
    if (!inside()) return REAL(timer_gettime)(id, out);
    const vt_timer *t = (vt_timer *)id;
    out->it_value = as_timespec(t->next == NEVER ? 0 : t->next - H.now_ns);
    out->it_interval = as_timespec(t->interval);
    return 0;
}

EXPORT int timer_delete(timer_t id)
{
    if (!inside()) return REAL(timer_delete)(id);
    ((vt_timer *)id)->used = 0;
    H.timers--;
    return 0;
}

EXPORT int timer_getoverrun(timer_t id) { return inside() ? 0 : REAL(timer_getoverrun)(id); }
