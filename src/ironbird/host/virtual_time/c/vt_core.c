/* One thread of all processes of a run runs at a time; when all of them wait, the clock jumps.
 *
 * Whoever holds the baton may run. A thread that must wait picks the next one that can run, first come, first served,
 * and hands the baton over. If none can, time goes to the next deadline. With a simulator it goes no further than that
 * one has allowed: then the turn is the simulator's, which has put its messages into the sockets before it allows more.
 */
static vt_run *run;
static int phase; /* 0: not begun, 1: beginning, 2: in the run */
static __thread vt_slot *me __attribute__((tls_model("initial-exec")));
static __thread int outside __attribute__((tls_model("initial-exec"))); /* calls of this thread pass through */
static char run_folder[PATH_MAX], own_path[PATH_MAX];

#define H (run->head)

static void begin(void);
static void deliver(void);
static void deadlock(void);
static void post_signal(int process, int sig);

/* Whether a call of this thread is ours to decide. */
static inline int inside(void)
{
    if (phase == 0) begin();
    return phase == 2 && me && !outside;
}

static int real_pid(void) { return (int)K(SYS_getpid); }
static int real_tid(void) { return (int)K(SYS_gettid); }

static void futex_wake(void *at, int count) { K(SYS_futex, at, FUTEX_WAKE, count); }
static int futex_wait(void *at, uint32_t value, long nanoseconds)
{
    struct timespec limit = {nanoseconds / (long)SECOND, nanoseconds % (long)SECOND};
    return (int)K(SYS_futex, at, FUTEX_WAIT, value, nanoseconds ? &limit : 0);
}

static int place_of(const vt_slot *s) { return (int)(s - run->slot); }

static void fail(int kind, const char *text)
{
    H.failure = kind;
    strncpy(H.text, text, sizeof H.text - 1);
    say("ironbird virtual time: ");
    say(text);
    say("\n");
    for (uint64_t i = 0; i < H.processes; i++)
        if (!run->process[i].finished && run->process[i].pid != real_pid()) K(SYS_kill, run->process[i].pid, SIGKILL);
    H.ended = 1;
    *(volatile uint32_t *)&H.turn = 1;
    futex_wake(&H.turn, 1);
    K(SYS_exit_group, 125);
}

static vt_slot *new_slot(int process)
{
    for (uint64_t i = 0; i < SLOTS; i++)
        if (run->slot[i].state == FREE) {
            vt_slot *s = &run->slot[i];
            memset(s, 0, sizeof *s);
            s->process = (uint32_t)process;
            run->deadline[i] = NEVER;
            run->key[i] = 0;
            if (i >= H.threads) H.threads = i + 1;
            return s;
        }
    fail(TOO_MANY, "more than 1024 threads");
    return 0;
}

static void waits_no_more(vt_slot *s)
{
    if (s->state == WAITING) H.waiting[s->kind]--;
    const int place = place_of(s);
    run->deadline[place] = NEVER;
    run->key[place] = 0;
}

static void free_slot(vt_slot *s)
{
    waits_no_more(s);
    s->state = FREE;
}

static int is_void(const vt_entry *e) { return run->slot[e->slot].state != RUNNABLE || run->slot[e->slot].order != e->order; }

static void make_runnable(vt_slot *s, int why)
{
    waits_no_more(s);
    s->state = RUNNABLE;
    s->why = (uint32_t)why;
    s->order = ++H.order;
    if (run->queue_end - run->queue_first == QUEUE) { /* void entries make room */
        uint64_t kept = run->queue_first;
        for (uint64_t i = run->queue_first; i < run->queue_end; i++)
            if (!is_void(&run->queue[i % QUEUE])) run->queue[kept++ % QUEUE] = run->queue[i % QUEUE];
        run->queue_end = kept;
    }
    run->queue[run->queue_end++ % QUEUE] = (vt_entry){s->order, (uint64_t)place_of(s)};
}

/* Random numbers that decide which thread runs. Their state is common to all processes of the run. */
static uint64_t order_word(void)
{
    uint64_t z = H.thread_state += 0x9e3779b97f4a7c15ull; /* splitmix64 */
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    return z ^ (z >> 31);
}

/* Any of the threads that can run comes first. */
static void draw_first(void)
{
    uint64_t threads = 0;
    for (uint64_t i = run->queue_first; i < run->queue_end; i++) threads += !is_void(&run->queue[i % QUEUE]);
    if (threads < 2) return;
    uint64_t before = order_word() % threads;
    for (uint64_t i = run->queue_first; i < run->queue_end; i++) {
        vt_entry *drawn = &run->queue[i % QUEUE], *first = &run->queue[run->queue_first % QUEUE];
        if (is_void(drawn) || before--) continue;
        const vt_entry moved = *first;
        *first = *drawn;
        *drawn = moved;
        return;
    }
}

static vt_slot *next_runnable(void)
{
    if (H.thread_state) draw_first();
    while (run->queue_first < run->queue_end) {
        const vt_entry *e = &run->queue[run->queue_first++ % QUEUE];
        if (!is_void(e)) return &run->slot[e->slot];
    }
    return 0;
}

static int is_gone(int pid)
{
    char path[64], text[512];
    if (K(SYS_kill, pid, 0) == -ESRCH) return 1;
    snprintf(path, sizeof path, "/proc/%d/stat", pid);
    const int f = (int)K(SYS_open, path, O_RDONLY | O_CLOEXEC);
    if (f < 0) return 1;
    const long n = K(SYS_read, f, text, sizeof text - 1);
    K(SYS_close, f);
    if (n <= 0) return 1;
    text[n] = 0;
    const char *after = strrchr(text, ')');
    return after && (after[2] == 'Z' || after[2] == 'X');
}

static void wake_children_waiters(int process);

/* A process is no more: its threads are not waited for, its parent may learn of it. */
static void forget_process(int place)
{
    run->process[place].finished = 1;
    if (run->process[place].parent < 0) run->process[place].reaped = 1; /* nobody waits for an orphan */
    for (uint64_t i = 0; i < H.processes; i++)
        if (run->process[i].parent == place) {
            run->process[i].parent = -1;
            if (run->process[i].finished) run->process[i].reaped = 1;
        }
    for (uint64_t i = 0; i < H.threads; i++)
        if (run->slot[i].state != FREE && run->slot[i].process == (uint32_t)place) free_slot(&run->slot[i]);
    for (int i = 0; i < TIMERS; i++)
        if (run->timer[i].used && run->timer[i].process == (uint64_t)place) run->timer[i].used = 0, H.timers--;
    H.file_changes++;
    wake_children_waiters(place);
}

static void note_switch(const vt_slot *to)
{
    const uint64_t words[3] = {(uint64_t)place_of(to), H.now_ns, to->kind * 4 + to->why};
    H.switches++;
    for (int i = 0; i < 3; i++) H.trace = (H.trace ^ words[i]) * 0x100000001b3ull, H.trace ^= H.trace >> 29;
}

static vt_slot *pick(void);
static vt_slot *to_release; /* a thread of this process that ended, for its own kernel thread */
static uint64_t carrier_fs; /* thread-local storage of the thread that the carrier began with */

/* The baton goes to a thread; that of another process is woken. */
static void hand_over(vt_slot *to)
{
    note_switch(to);
    H.holder = (uint64_t)place_of(to);
    if (to->process == me->process) return;
    vt_process *p = &run->process[to->process];
    __atomic_store_n(&p->go, 1, __ATOMIC_RELEASE);
    futex_wake(&p->go, 1);
}

/* Wait until the baton is a thread's of this process. If its holder was killed, whoever sees it first takes over. */
static void await_baton(int process)
{
    vt_process *own = &run->process[process];
    while (!__atomic_load_n(&own->go, __ATOMIC_ACQUIRE)) {
        if (futex_wait(&own->go, 0, 200000000) != -ETIMEDOUT) continue;
        const vt_slot *holder = &run->slot[H.holder];
        const int pid = holder->pid;
        if (holder->process == (uint32_t)process || !pid || !is_gone(pid)) continue;
        uint64_t nobody = 0;
        if (!__atomic_compare_exchange_n(&H.rescuer, &nobody, 1, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) continue;
        if (H.holder == (uint64_t)(holder - run->slot) && holder->pid == pid) {
            H.holder = (uint64_t)place_of(me);
            forget_process((int)holder->process);
            __atomic_store_n(&H.rescuer, 0, __ATOMIC_SEQ_CST);
            vt_slot *next = pick();
            hand_over(next);
            if (next->process == (uint32_t)process) return;
            continue;
        }
        __atomic_store_n(&H.rescuer, 0, __ATOMIC_SEQ_CST);
    }
    __atomic_store_n(&own->go, 0, __ATOMIC_RELEASE);
}

/* Let a thread that ended be ended by its own kernel thread, now that its stack is free for it, and wait for that: what
 * the C library gives back is given back at this moment of the run. */
static void release(void)
{
    vt_slot *s = to_release;
    if (!s) return;
    to_release = 0;
    const int pid = s->pid, tid = s->tid;
    __atomic_store_n(&s->go, 1, __ATOMIC_RELEASE);
    futex_wake(&s->go, 1);
    while (K(SYS_tgkill, pid, tid, 0) == 0) {
        struct timespec short_ = {0, 20000};
        K(SYS_nanosleep, &short_, 0);
    }
}

#define OF_THE_C_LIBRARY (3ull << 31) /* its signals 32 and 33 are never blocked */
static void mask_of(vt_slot *from, const vt_slot *to)
{
    const uint64_t wanted = (to->handling ? to->kernel_mask : to->mask) & ~OF_THE_C_LIBRARY;
    if (from->handling) K(SYS_rt_sigprocmask, SIG_SETMASK, &wanted, &from->kernel_mask, 8);
    else if (wanted != (from->mask & ~OF_THE_C_LIBRARY)) K(SYS_rt_sigprocmask, SIG_SETMASK, &wanted, 0, 8);
}

static void switch_to(vt_slot *to)
{
    vt_slot *from = me;
    mask_of(from, to);
    exchange(&from->stack, to->stack, to->fs);
    release();
}

static uint64_t first_deadline(void)
{
    uint64_t at = NEVER;
    for (uint64_t i = 0; i < H.threads; i++) at = run->deadline[i] < at ? run->deadline[i] : at;
    return at;
}

static vt_timer *first_timer(void)
{
    vt_timer *first = 0;
    if (!H.timers) return 0;
    for (int i = 0; i < TIMERS; i++)
        if (run->timer[i].used && run->timer[i].next < (first ? first->next : NEVER)) first = &run->timer[i];
    return first;
}

/* Deadlines that are over, the earliest first, and of equal ones that of the thread that has waited longest. */
static void expire(void)
{
    for (;;) {
        vt_timer *timer = first_timer();
        const uint64_t at = first_deadline();
        if (timer && timer->next <= H.now_ns && timer->next <= at) {
            timer->next = timer->interval ? timer->next + timer->interval : NEVER;
            post_signal((int)timer->process, (int)timer->signal);
            continue;
        }
        if (at > H.now_ns) return;
        vt_slot *first = 0;
        for (uint64_t i = 0; i < H.threads; i++)
            if (run->deadline[i] == at && (!first || run->slot[i].asked < first->asked)) first = &run->slot[i];
        make_runnable(first, TIMED_OUT);
    }
}

static uint64_t next_deadline(void)
{
    const vt_timer *timer = first_timer();
    const uint64_t at = first_deadline();
    return timer && timer->next < at ? timer->next : at;
}

static void ring_timers(void);

/* Threads that wait for files look again after something was written; those of other processes look themselves. All
 * files of this process are asked for at once. */
static void look_at_files(void)
{
    ring_timers();
    if (H.files_looked_at == H.file_changes) return;
    H.files_looked_at = H.file_changes;
    static struct pollfd files[FILES];
    static vt_slot *waiting[SLOTS];
    uint64_t count = 0, all = 0;
    for (uint64_t i = 0; i < H.threads; i++) {
        vt_slot *s = &run->slot[i];
        if (s->state != WAITING || s->kind != W_FILES || s->files_seen == H.file_changes) continue;
        s->files_seen = H.file_changes;
        uint64_t at = count++;
        for (; at > 0 && waiting[at - 1]->asked > s->asked; at--) waiting[at] = waiting[at - 1]; /* the longest waiting first */
        waiting[at] = s;
    }
    for (uint64_t i = 0; i < count; i++) {
        const vt_slot *s = waiting[i];
        if (s->process != me->process || all + s->files_count > FILES) continue;
        memcpy(files + all, s->files, s->files_count * sizeof *files);
        all += s->files_count;
    }
    if (all) K(SYS_poll, files, all, 0);
    uint64_t at = 0;
    for (uint64_t i = 0; i < count; i++) {
        vt_slot *s = waiting[i];
        int found = s->process != me->process || at + s->files_count > FILES; /* it looks itself */
        if (!found)
            for (const uint64_t end = at + s->files_count; at < end; at++) found |= files[at].revents != 0;
        if (found) make_runnable(s, WOKEN);
    }
}

static int waits_for_outside(void) { return H.waiting[W_FILES] || H.waiting[W_SIGNAL] || H.waiting[W_CHILD]; }

static void give_turn(void)
{
    __atomic_store_n((uint32_t *)&H.turn, 1, __ATOMIC_SEQ_CST);
    futex_wake(&H.turn, 1);
    while (__atomic_load_n((uint32_t *)&H.turn, __ATOMIC_SEQ_CST)) futex_wait(&H.turn, 1, SECOND);
}

static void simulators_turn(void)
{
    if (H.now_ns < H.grant_ns) H.now_ns = H.grant_ns;
    give_turn();
    H.file_changes++;
    if (H.order_signal) {
        const int sig = (int)H.order_signal;
        H.order_signal = 0;
        post_signal(0, sig);
    }
}

/* The next thread that runs; the clock moves if none can. */
static vt_slot *pick(void)
{
    for (;;) {
        expire();
        look_at_files();
        vt_slot *next = next_runnable();
        if (next) return next;
        const uint64_t at = next_deadline();
        if (at == NEVER && !waits_for_outside()) deadlock();
        if (at != NEVER && at <= H.grant_ns) {
            H.now_ns = at;
            H.jumps++;
        } else if (H.grant_ns != NEVER) simulators_turn();
        else { /* no simulator: somebody outside the run has to write */
            struct timespec short_ = {0, 500000};
            K(SYS_nanosleep, &short_, 0);
            H.file_changes++;
        }
    }
}

static void schedule(void)
{
    vt_slot *next = pick();
    if (next != me) {
        hand_over(next);
        if (next->process != me->process) await_baton((int)me->process), next = &run->slot[H.holder];
        if (next != me) switch_to(next);
    } else H.holder = (uint64_t)place_of(me);
    me->calls = 0;
}

/* Where the carrier waits when a thread has ended and the next one is of another process: its stack and its storage are
 * no longer there then. */
static void idle(void)
{
    const int process = (int)to_release->process;
    release();
    await_baton(process);
    const vt_slot *to = &run->slot[H.holder];
    const uint64_t wanted = (to->handling ? to->kernel_mask : to->mask) & ~OF_THE_C_LIBRARY;
    uint64_t never;
    K(SYS_rt_sigprocmask, SIG_SETMASK, &wanted, 0, 8);
    exchange(&never, to->stack, to->fs);
}

/* The thread has ended: on with the next one, and its own kernel thread goes on from here. */
static void leave(void)
{
    static char *idle_stack;
    vt_slot *from = me, *next = pick();
    hand_over(next);
    to_release = from;
    if (next->process == from->process) {
        mask_of(from, next);
        exchange(&from->stack, next->stack, next->fs);
    } else exchange(&from->stack, stack_for(&idle_stack, idle), carrier_fs);
}

/* Wait for something of a kind, until a deadline. */
static int block(int kind, uint64_t key, uint64_t deadline)
{
    const int saved = errno;
    me->state = WAITING;
    me->kind = (uint32_t)kind;
    H.waiting[kind]++;
    run->key[place_of(me)] = key;
    run->deadline[place_of(me)] = deadline;
    me->asked = ++H.order;
    schedule();
    const int why = (int)me->why;
    me->kind = W_NONE;
    deliver();
    errno = saved;
    return why;
}

static void yield_to_others(void)
{
    const int saved = errno;
    make_runnable(me, WOKEN);
    schedule();
    deliver();
    errno = saved;
}

/* Each call costs a little time, so that whoever looks at the clock until a moment gets there; and after some calls
 * others have their turn. At the end of what the simulator allows, the thread waits for more. */
#define CALL_NS 20
#define CLOCK_NS 100
#define TURN_CALLS 400
#define PINNED_CALLS 4000
#define DRAWN_CALLS 32 /* with a random order of threads: so many calls, on average, until others have their turn */
static void charge(uint64_t nanoseconds)
{
    H.calls++;
    me->used_ns += nanoseconds;
    if (H.now_ns + nanoseconds <= H.grant_ns) H.now_ns += nanoseconds, me->pinned = 0;
    else if (++me->pinned > PINNED_CALLS) {
        me->pinned = 0;
        block(W_HORIZON, 0, H.grant_ns + 1);
        return;
    }
    if (++me->calls > TURN_CALLS || (H.thread_state && order_word() % DRAWN_CALLS == 0)) yield_to_others();
    else if (me->pending & ~me->mask) deliver();
}

/* Wake threads of this process that wait for a key, the longest waiting first. Keys of things that processes share
 * are the same for all: everybody looks again. */
#define SHARED_KEY 1
static int wake(int kind, uint64_t key, int count)
{
    int woken = 0;
    if (!H.waiting[kind]) return 0;
    while (count < 0 || woken < count) {
        vt_slot *first = 0;
        for (uint64_t i = 0; i < H.threads; i++) {
            if (run->key[i] != key) continue;
            vt_slot *s = &run->slot[i];
            if (s->state == WAITING && s->kind == (uint32_t)kind && (key == SHARED_KEY || s->process == me->process) &&
                (!first || s->asked < first->asked))
                first = s;
        }
        if (!first) break;
        make_runnable(first, WOKEN);
        woken++;
    }
    return woken;
}

static const char *const KINDS[] = {"nothing", "a sleep", "a mutex", "a condition", "the end of a thread", "a semaphore",
    "a barrier", "a read-write lock", "a once", "a futex", "files", "a child", "a signal", "the simulator"};

static void thread_name(const vt_slot *s, char *out, size_t size)
{
    if (s->name[0]) {
        snprintf(out, size, "%s", s->name);
        return;
    }
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/task/%d/comm", s->pid, s->tid);
    const int f = (int)K(SYS_open, path, O_RDONLY | O_CLOEXEC);
    long n = f >= 0 ? K(SYS_read, f, out, size - 1) : 0;
    if (f >= 0) K(SYS_close, f);
    if (n < 0) n = 0;
    out[n] = 0;
    if (n && out[n - 1] == '\n') out[n - 1] = 0;
}

static void deadlock(void)
{
    char text[1000], name[32];
    size_t used = (size_t)snprintf(text, sizeof text, "deadlock at %.6f s: every thread waits for another:", (double)H.now_ns * 1e-9);
    for (uint64_t i = 0; i < H.threads && used < sizeof text - 160; i++) {
        const vt_slot *s = &run->slot[i];
        if (s->state != WAITING) continue;
        thread_name(s, name, sizeof name);
        used += (size_t)snprintf(text + used, sizeof text - used, " thread %d '%s' of process %u waits for %s", (int)i, name,
                                 run->process[s->process].number, KINDS[s->kind]);
        if (s->kind == W_MUTEX && s->pid == real_pid() && run->key[i] != SHARED_KEY) {
            const int owner = ((pthread_mutex_t *)run->key[i])->__data.__owner;
            for (uint64_t j = 0; j < H.threads; j++)
                if (owner && run->slot[j].state != FREE && run->slot[j].tid == owner)
                    used += (size_t)snprintf(text + used, sizeof text - used, " that thread %d holds", (int)j);
        }
        used += (size_t)snprintf(text + used, sizeof text - used, ";");
    }
    fail(DEADLOCK, text);
}

static uint64_t after(uint64_t nanoseconds)
{
    return nanoseconds > NEVER - 1 - H.now_ns ? NEVER : H.now_ns + nanoseconds;
}

static uint64_t random_word(void)
{
    static uint64_t state;
    if (!state) state = H.seed ^ ((uint64_t)run->process[me ? me->process : 0].number << 32);
    uint64_t z = state += 0x9e3779b97f4a7c15ull; /* splitmix64 */
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    return z ^ (z >> 31);
}

static void fill_random(void *at, size_t size)
{
    uint8_t *to = at;
    for (size_t i = 0; i < size; i += 8) {
        const uint64_t word = random_word();
        memcpy(to + i, &word, size - i < 8 ? size - i : 8);
    }
}
