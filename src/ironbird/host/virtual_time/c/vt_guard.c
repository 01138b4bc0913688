/* Calls by number: those that are waits or clocks are ours. */
static long futex_call(uint32_t *at, int operation, uint32_t value, uintptr_t limit)
{
    const int command = operation & FUTEX_CMD_MASK;
    const uint64_t key = operation & FUTEX_PRIVATE_FLAG ? (uint64_t)at : SHARED_KEY;
    if (command == FUTEX_WAKE || command == FUTEX_WAKE_BITSET)
        return wake(W_FUTEX, key, key == SHARED_KEY ? -1 : (int)value);
    if (command == FUTEX_WAIT || command == FUTEX_WAIT_BITSET) {
        if (__atomic_load_n(at, __ATOMIC_SEQ_CST) != value) return problem(EAGAIN);
        const struct timespec *t = (const struct timespec *)limit;
        const clockid_t clock = operation & FUTEX_CLOCK_REALTIME ? CLOCK_REALTIME : CLOCK_MONOTONIC;
        const uint64_t deadline = !t ? NEVER : command == FUTEX_WAIT ? after(of_timespec(t)) : moment_of(clock, t);
        const int why = block(W_FUTEX, key, deadline);
        return why == WOKEN ? 0 : problem(why == TIMED_OUT ? ETIMEDOUT : EINTR);
    }
    return problem(ENOSYS);
}

EXPORT long syscall(long number, ...)
{
    long a[6];
    va_list list;
    va_start(list, number);
    for (int i = 0; i < 6; i++) a[i] = va_arg(list, long);
    va_end(list);
    if (inside()) switch (number) {
        case SYS_futex: charge(CALL_NS); return futex_call((uint32_t *)a[0], (int)a[1], (uint32_t)a[2], (uintptr_t)a[3]);
        case SYS_clock_gettime: return clock_gettime((clockid_t)a[0], (struct timespec *)a[1]);
        case SYS_gettimeofday: return gettimeofday((struct timeval *)a[0], (void *)a[1]);
        case SYS_nanosleep: return nanosleep((struct timespec *)a[0], (struct timespec *)a[1]);
        case SYS_getrandom: return getrandom((void *)a[0], (size_t)a[1], (unsigned)a[2]);
        case SYS_gettid: return gettid();
        case SYS_getpid: return getpid();
        case SYS_sched_yield: return sched_yield();
        default: break;
        }
    const long r = kernel(number, a[0], a[1], a[2], a[3], a[4], a[5]);
    if (r < 0 && r > -4096) {
        errno = (int)-r;
        return -1;
    }
    return r;
}
