/* Threads, and what they wait for each other with. Locks are those of the C library, taken without waiting. */
typedef struct {
    void *(*function)(void *);
    void *argument;
    vt_slot *slot;
} beginning;

static pthread_key_t end_key;

static void finish_thread(void *slot)
{
    static __thread int rounds __attribute__((tls_model("initial-exec")));
    if (++rounds < PTHREAD_DESTRUCTOR_ITERATIONS) { /* after all others that clear up */
        pthread_setspecific(end_key, slot);
        return;
    }
    wake(W_JOIN, (uint64_t)me->thread, -1);
    me->state = ENDED;
    leave();
    me = 0;
}

/* What the kernel thread of a thread does while the carrier runs it. */
static void parked(void)
{
    vt_slot *s = me;
    __atomic_store_n(&s->tid, real_tid(), __ATOMIC_RELEASE);
    futex_wake(&s->tid, 1);
    while (!__atomic_load_n(&s->go, __ATOMIC_ACQUIRE)) futex_wait(&s->go, 0, 0);
    s->go = 0;
    uint64_t never;
    exchange(&never, s->stack, s->fs);
}

static void *first_steps(void *given)
{
    static char *park_stacks[SLOTS];
    const uint64_t all = ~(1ull << 32); /* but 33, with which the C library has every thread change its user */
    const beginning b = *(beginning *)given;
    free(given);
    me = b.slot;
    me->thread = (uint64_t)pthread_self();
    me->fs = own_fs();
    pthread_setspecific(end_key, me);
    K(SYS_rt_sigprocmask, SIG_SETMASK, &all, 0, 8);
    exchange(&me->stack, stack_for(&park_stacks[place_of(me)], parked), me->fs);
    release(); /* the carrier goes on from here when it has its first turn */
    deliver();
    return b.function(b.argument);
}

/* Threads that ended and that nobody joins give back their places before another begins. */
static void bury_threads(void)
{
    for (uint64_t i = 0; i < H.threads; i++) {
        vt_slot *s = &run->slot[i];
        if (s->state == ENDED && s->process == me->process && s->detached) free_slot(s);
    }
}

EXPORT int pthread_create(pthread_t *restrict out, const pthread_attr_t *restrict attributes, void *(*function)(void *),
                          void *restrict argument)
{
    if (!inside()) return REAL(pthread_create)(out, attributes, function, argument);
    charge(CALL_NS);
    bury_threads();
    beginning *b = malloc(sizeof *b);
    vt_slot *s = new_slot((int)me->process);
    *b = (beginning){function, argument, s};
    s->pid = me->pid;
    s->runner = me->runner;
    memcpy(s->name, me->name, sizeof s->name);
    s->mask = me->mask;
    int detached = PTHREAD_CREATE_JOINABLE;
    if (attributes) pthread_attr_getdetachstate(attributes, &detached);
    s->detached = detached == PTHREAD_CREATE_DETACHED;
    make_runnable(s, WOKEN);
    const int result = REAL(pthread_create)(out, attributes, first_steps, b);
    if (result) {
        free_slot(s);
        free(b);
        return result;
    }
    s->thread = (uint64_t)*out;
    while (!__atomic_load_n(&s->tid, __ATOMIC_ACQUIRE)) futex_wait(&s->tid, 0, 0); /* it is parked, and has a number */
    return 0;
}

static vt_slot *slot_of(pthread_t thread)
{
    for (uint64_t i = 0; i < H.threads; i++) {
        vt_slot *s = &run->slot[i];
        if (s->state != FREE && s->process == me->process && s->thread == (uint64_t)thread && !(s->state == ENDED && s->detached))
            return s;
    }
    return 0;
}

static int join(pthread_t thread, void **value, uint64_t deadline)
{
    charge(CALL_NS);
    vt_slot *s = slot_of(thread);
    if (s == me) return EDEADLK;
    while (s && s->state != ENDED) {
        if (H.now_ns >= deadline) return deadline ? ETIMEDOUT : EBUSY;
        block(W_JOIN, (uint64_t)thread, deadline);
    }
    const int result = REAL(pthread_join)(thread, value);
    if (s) free_slot(s);
    return result;
}

EXPORT int pthread_join(pthread_t thread, void **value)
{
    return inside() ? join(thread, value, NEVER) : REAL(pthread_join)(thread, value);
}

EXPORT int pthread_tryjoin_np(pthread_t thread, void **value)
{
    return inside() ? join(thread, value, 0) : REAL(pthread_tryjoin_np)(thread, value);
}

EXPORT int pthread_timedjoin_np(pthread_t thread, void **value, const struct timespec *until)
{
    if (!inside()) return REAL(pthread_timedjoin_np)(thread, value, until);
    return join(thread, value, moment_of(CLOCK_REALTIME, until));
}

EXPORT int pthread_detach(pthread_t thread)
{
    if (inside()) {
        vt_slot *s = slot_of(thread);
        if (s) s->detached = 1;
    }
    return REAL(pthread_detach)(thread);
}

EXPORT int pthread_cancel(pthread_t thread)
{
    if (!inside()) return REAL(pthread_cancel)(thread);
    charge(CALL_NS);
    vt_slot *s = slot_of(thread);
    const int result = REAL(pthread_cancel)(thread);
    if (s && s->state == WAITING && s->kind != W_MUTEX && s->kind != W_RWLOCK) {
        s->wanted = NEVER; /* it ends as soon as it runs */
        make_runnable(s, SIGNALLED);
    }
    return result;
}

/* Names are kept here: the carrier has that of its process. */
static void set_name(vt_slot *s, const char *name) { snprintf(s->name, sizeof s->name, "%s", name); }

EXPORT int pthread_setname_np(pthread_t thread, const char *name)
{
    vt_slot *s = inside() ? slot_of(thread) : 0;
    if (!s) return REAL(pthread_setname_np)(thread, name);
    if (strnlen(name, 16) > 15) return ERANGE;
    set_name(s, name);
    return 0;
}

EXPORT int pthread_getname_np(pthread_t thread, char *name, size_t size)
{
    vt_slot *s = inside() ? slot_of(thread) : 0;
    if (!s) return REAL(pthread_getname_np)(thread, name, size);
    if (size < 16) return ERANGE;
    thread_name(s, name, size);
    return 0;
}

EXPORT int prctl(int option, ...)
{
    unsigned long a[4];
    va_list list;
    va_start(list, option);
    for (int i = 0; i < 4; i++) a[i] = va_arg(list, unsigned long);
    va_end(list);
    if (inside() && option == PR_SET_NAME) {
        set_name(me, (const char *)a[0]);
        return 0;
    }
    if (inside() && option == PR_GET_NAME) {
        thread_name(me, (char *)a[0], 16);
        return 0;
    }
    const long r = K(SYS_prctl, option, a[0], a[1], a[2], a[3]);
    if (r >= 0) return (int)r;
    errno = (int)-r;
    return -1;
}

/* ---------------------------------------------------------------- mutexes */

static uint64_t mutex_key(const pthread_mutex_t *m) { return m->__data.__kind & 128 ? SHARED_KEY : (uint64_t)m; }

static int lock(pthread_mutex_t *m, uint64_t deadline)
{
    for (;;) {
        const int result = REAL(pthread_mutex_trylock)(m);
        if (result != EBUSY) return result;
        if ((m->__data.__kind & 3) == PTHREAD_MUTEX_ERRORCHECK && m->__data.__owner == me->tid) return EDEADLK;
        if (H.now_ns >= deadline) return ETIMEDOUT;
        block(W_MUTEX, mutex_key(m), deadline);
    }
}

static int unlock(pthread_mutex_t *m)
{
    const int result = REAL(pthread_mutex_unlock)(m);
    if (!result) wake(W_MUTEX, mutex_key(m), mutex_key(m) == SHARED_KEY ? -1 : 1);
    return result;
}

EXPORT int pthread_mutex_lock(pthread_mutex_t *m)
{
    if (!inside()) return REAL(pthread_mutex_lock)(m);
    charge(CALL_NS);
    return lock(m, NEVER);
}

EXPORT int pthread_mutex_trylock(pthread_mutex_t *m)
{
    if (inside()) charge(CALL_NS);
    return REAL(pthread_mutex_trylock)(m);
}

EXPORT int pthread_mutex_timedlock(pthread_mutex_t *restrict m, const struct timespec *restrict until)
{
    if (!inside()) return REAL(pthread_mutex_timedlock)(m, until);
    charge(CALL_NS);
    return lock(m, moment_of(CLOCK_REALTIME, until));
}

EXPORT int pthread_mutex_clocklock(pthread_mutex_t *restrict m, clockid_t clock, const struct timespec *restrict until)
{
    if (!inside()) return REAL(pthread_mutex_lock)(m);
    charge(CALL_NS);
    return lock(m, moment_of(clock, until));
}

EXPORT int pthread_mutex_unlock(pthread_mutex_t *m)
{
    if (!inside()) return REAL(pthread_mutex_unlock)(m);
    return unlock(m);
}

EXPORT int pthread_spin_lock(pthread_spinlock_t *lock)
{
    if (!inside()) return REAL(pthread_spin_lock)(lock);
    while (REAL(pthread_spin_trylock)(lock)) {
        charge(CALL_NS);
        yield_to_others();
    }
    return 0;
}

/* ---------------------------------------------------------------- conditions */

/* Ours alone, so what is kept in it is ours too: the insides differ from one glibc to the next. All zero is the default. */
typedef struct {
    uint32_t shared, steady;
} condition;

EXPORT int pthread_cond_init(pthread_cond_t *restrict c, const pthread_condattr_t *restrict attributes)
{
    if (!inside()) return REAL(pthread_cond_init)(c, attributes);
    clockid_t clock = CLOCK_REALTIME;
    int shared = PTHREAD_PROCESS_PRIVATE;
    if (attributes) {
        pthread_condattr_getclock(attributes, &clock);
        pthread_condattr_getpshared(attributes, &shared);
    }
    memset(c, 0, sizeof *c);
    *(condition *)c = (condition){shared == PTHREAD_PROCESS_SHARED, clock != CLOCK_REALTIME};
    return 0;
}

static uint64_t cond_key(const pthread_cond_t *c) { return ((const condition *)c)->shared ? SHARED_KEY : (uint64_t)c; }
static clockid_t cond_clock(const pthread_cond_t *c) { return ((const condition *)c)->steady ? CLOCK_MONOTONIC : CLOCK_REALTIME; }

static void relock(void *m)
{
    if (me) lock(m, NEVER);
}

static int cond_wait(pthread_cond_t *c, pthread_mutex_t *m, uint64_t deadline)
{
    charge(CALL_NS);
    pthread_testcancel();
    unlock(m);
    int why; /* a signal wakes too: as POSIX allows, for no reason that the caller sees */
    pthread_cleanup_push(relock, m);
    why = block(W_COND, cond_key(c), deadline);
    pthread_testcancel();
    pthread_cleanup_pop(0);
    const int result = lock(m, NEVER);
    return result ? result : why == TIMED_OUT ? ETIMEDOUT : 0;
}

EXPORT int pthread_cond_wait(pthread_cond_t *restrict c, pthread_mutex_t *restrict m)
{
    return inside() ? cond_wait(c, m, NEVER) : REAL(pthread_cond_wait)(c, m);
}

EXPORT int pthread_cond_timedwait(pthread_cond_t *restrict c, pthread_mutex_t *restrict m, const struct timespec *restrict until)
{
    if (!inside()) return REAL(pthread_cond_timedwait)(c, m, until);
    return cond_wait(c, m, moment_of(cond_clock(c), until));
}

EXPORT int pthread_cond_clockwait(pthread_cond_t *restrict c, pthread_mutex_t *restrict m, clockid_t clock,
                                  const struct timespec *restrict until)
{
    if (!inside()) return REAL(pthread_cond_timedwait)(c, m, until);
    return cond_wait(c, m, moment_of(clock, until));
}

EXPORT int pthread_cond_signal(pthread_cond_t *c)
{
    if (!inside()) return REAL(pthread_cond_signal)(c);
    charge(CALL_NS);
    wake(W_COND, cond_key(c), cond_key(c) == SHARED_KEY ? -1 : 1);
    return 0;
}

EXPORT int pthread_cond_broadcast(pthread_cond_t *c)
{
    if (!inside()) return REAL(pthread_cond_broadcast)(c);
    charge(CALL_NS);
    wake(W_COND, cond_key(c), -1);
    return 0;
}

EXPORT int pthread_cond_destroy(pthread_cond_t *c)
{
    return inside() ? 0 : REAL(pthread_cond_destroy)(c);
}

/* ---------------------------------------------------------------- read-write locks */

static int rwlock(pthread_rwlock_t *l, int write, uint64_t deadline)
{
    charge(CALL_NS);
    for (;;) {
        const int result = write ? REAL(pthread_rwlock_trywrlock)(l) : REAL(pthread_rwlock_tryrdlock)(l);
        if (result != EBUSY) return result;
        if (H.now_ns >= deadline) return ETIMEDOUT;
        block(W_RWLOCK, (uint64_t)l, deadline);
    }
}

EXPORT int pthread_rwlock_rdlock(pthread_rwlock_t *l) { return inside() ? rwlock(l, 0, NEVER) : REAL(pthread_rwlock_rdlock)(l); }
EXPORT int pthread_rwlock_wrlock(pthread_rwlock_t *l) { return inside() ? rwlock(l, 1, NEVER) : REAL(pthread_rwlock_wrlock)(l); }

EXPORT int pthread_rwlock_timedrdlock(pthread_rwlock_t *restrict l, const struct timespec *restrict until)
{
    return inside() ? rwlock(l, 0, moment_of(CLOCK_REALTIME, until)) : REAL(pthread_rwlock_timedrdlock)(l, until);
}

EXPORT int pthread_rwlock_timedwrlock(pthread_rwlock_t *restrict l, const struct timespec *restrict until)
{
    return inside() ? rwlock(l, 1, moment_of(CLOCK_REALTIME, until)) : REAL(pthread_rwlock_timedwrlock)(l, until);
}

EXPORT int pthread_rwlock_clockrdlock(pthread_rwlock_t *restrict l, clockid_t clock, const struct timespec *restrict until)
{
    return inside() ? rwlock(l, 0, moment_of(clock, until)) : REAL(pthread_rwlock_rdlock)(l);
}

EXPORT int pthread_rwlock_clockwrlock(pthread_rwlock_t *restrict l, clockid_t clock, const struct timespec *restrict until)
{
    return inside() ? rwlock(l, 1, moment_of(clock, until)) : REAL(pthread_rwlock_wrlock)(l);
}

EXPORT int pthread_rwlock_unlock(pthread_rwlock_t *l)
{
    const int result = REAL(pthread_rwlock_unlock)(l);
    if (inside()) wake(W_RWLOCK, (uint64_t)l, -1);
    return result;
}

/* ---------------------------------------------------------------- semaphores */

static uint64_t sem_key(sem_t *s)
{
    return ((int *)s)[2] ? SHARED_KEY : (uint64_t)s; /* whether processes share it: glibc's struct new_sem, 64 bits */
}

static int sem_take(sem_t *s, uint64_t deadline)
{
    charge(CALL_NS);
    while (REAL(sem_trywait)(s)) {
        if (errno != EAGAIN) return -1;
        if (H.now_ns >= deadline) {
            errno = ETIMEDOUT;
            return -1;
        }
        if (block(W_SEM, sem_key(s), deadline) == SIGNALLED) {
            pthread_testcancel();
            errno = EINTR;
            return -1;
        }
    }
    return 0;
}

EXPORT int sem_wait(sem_t *s) { return inside() ? sem_take(s, NEVER) : REAL(sem_wait)(s); }

EXPORT int sem_timedwait(sem_t *restrict s, const struct timespec *restrict until)
{
    return inside() ? sem_take(s, moment_of(CLOCK_REALTIME, until)) : REAL(sem_timedwait)(s, until);
}

EXPORT int sem_clockwait(sem_t *restrict s, clockid_t clock, const struct timespec *restrict until)
{
    return inside() ? sem_take(s, moment_of(clock, until)) : REAL(sem_timedwait)(s, until);
}

EXPORT int sem_trywait(sem_t *s)
{
    if (inside()) charge(CALL_NS);
    return REAL(sem_trywait)(s);
}

EXPORT int sem_post(sem_t *s)
{
    const int result = REAL(sem_post)(s);
    if (inside()) wake(W_SEM, sem_key(s), sem_key(s) == SHARED_KEY ? -1 : 1);
    return result;
}

/* ---------------------------------------------------------------- barriers, once, guards of C++ */

typedef struct {
    uint32_t mark, count, here, round;
} barrier;
#define BARRIER_MARK 0x62617272u

EXPORT int pthread_barrier_init(pthread_barrier_t *restrict b, const pthread_barrierattr_t *restrict attributes, unsigned count)
{
    if (!inside()) return REAL(pthread_barrier_init)(b, attributes, count);
    if (!count) return EINVAL;
    *(barrier *)b = (barrier){BARRIER_MARK, count, 0, 0};
    return 0;
}

EXPORT int pthread_barrier_wait(pthread_barrier_t *given)
{
    barrier *b = (barrier *)given;
    if (!inside() || b->mark != BARRIER_MARK) return REAL(pthread_barrier_wait)(given);
    charge(CALL_NS);
    const uint32_t round = b->round;
    if (++b->here == b->count) {
        b->here = 0;
        b->round++;
        wake(W_BARRIER, (uint64_t)b, -1);
        return PTHREAD_BARRIER_SERIAL_THREAD;
    }
    while (b->round == round) block(W_BARRIER, (uint64_t)b, NEVER);
    return 0;
}

EXPORT int pthread_barrier_destroy(pthread_barrier_t *b)
{
    return inside() && ((barrier *)b)->mark == BARRIER_MARK ? 0 : REAL(pthread_barrier_destroy)(b);
}

static struct {
    void *key;
    vt_slot *by;
} beginnings[64]; /* things that are being made, once for all */

static int being_made(void *key)
{
    for (int i = 0; i < 64; i++)
        if (beginnings[i].key == key) return beginnings[i].by == me ? -1 : 1;
    return 0;
}

static void make_once(void *key)
{
    for (int i = 0; i < 64; i++)
        if (!beginnings[i].key) {
            beginnings[i].key = key, beginnings[i].by = me;
            return;
        }
}

static void made(void *key)
{
    for (int i = 0; i < 64; i++)
        if (beginnings[i].key == key) beginnings[i].key = 0;
    wake(W_ONCE, (uint64_t)key, -1);
}

EXPORT int pthread_once(pthread_once_t *control, void (*function)(void))
{
    if (!inside()) return REAL(pthread_once)(control, function);
    while (being_made(control) > 0) block(W_ONCE, (uint64_t)control, NEVER);
    make_once(control);
    const int result = REAL(pthread_once)(control, function);
    made(control);
    return result;
}

/* Statics of functions in C++ (Itanium C++ ABI, 3.3.3): the first byte says that it is made. */
EXPORT int __cxa_guard_acquire(uint64_t *guard)
{
    volatile char *done = (char *)guard;
    if (*done) return 0;
    if (!inside()) return 1;
    while (being_made(guard) > 0) block(W_ONCE, (uint64_t)guard, NEVER);
    if (*done) return 0;
    make_once(guard);
    return 1;
}

EXPORT void __cxa_guard_release(uint64_t *guard)
{
    *(volatile char *)guard = 1;
    if (inside()) made(guard);
}

EXPORT void __cxa_guard_abort(uint64_t *guard)
{
    if (inside()) made(guard);
}

/* ---------------------------------------------------------------- priorities: taken note of by nobody */

EXPORT int pthread_setschedparam(pthread_t t, int policy, const struct sched_param *p) { return 0; }
EXPORT int pthread_setschedprio(pthread_t t, int priority) { return 0; }
EXPORT int pthread_attr_setinheritsched(pthread_attr_t *a, int inherit) { return 0; }
EXPORT int pthread_attr_setschedpolicy(pthread_attr_t *a, int policy) { return 0; }
EXPORT int pthread_attr_setschedparam(pthread_attr_t *restrict a, const struct sched_param *restrict p) { return 0; }
EXPORT int pthread_setaffinity_np(pthread_t t, size_t size, const cpu_set_t *set) { return 0; }
EXPORT int sched_setscheduler(pid_t pid, int policy, const struct sched_param *p) { return 0; }
EXPORT int sched_setparam(pid_t pid, const struct sched_param *p) { return 0; }
EXPORT int sched_setaffinity(pid_t pid, size_t size, const cpu_set_t *set) { return 0; }
EXPORT int setpriority(__priority_which_t which, id_t who, int value) { return 0; }
EXPORT int nice(int by) { return 0; }
EXPORT int mlockall(int flags) { return 0; }
EXPORT int munlockall(void) { return 0; }
EXPORT int mlock(const void *at, size_t size) { return 0; }
EXPORT int munlock(const void *at, size_t size) { return 0; }
EXPORT int sched_getcpu(void) { return 0; }
EXPORT int get_nprocs(void) { return 1; }
EXPORT int get_nprocs_conf(void) { return 1; }
EXPORT long sysconf(int name)
{
    return name == _SC_NPROCESSORS_ONLN || name == _SC_NPROCESSORS_CONF ? 1 : REAL(sysconf)(name);
}
