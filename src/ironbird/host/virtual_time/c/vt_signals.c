/* Signals: delivered to a thread when it holds the baton, never in between. */
static struct sigaction handlers[65];

#define BIT(sig) (1ull << ((sig) - 1))
#define SYNCHRONOUS (BIT(SIGSEGV) | BIT(SIGBUS) | BIT(SIGFPE) | BIT(SIGILL) | BIT(SIGTRAP) | BIT(SIGABRT) | BIT(SIGSYS))

static void call_handler(int sig, siginfo_t *info, void *context)
{
    const struct sigaction h = handlers[sig];
    if (h.sa_flags & SA_RESETHAND) handlers[sig].sa_handler = SIG_DFL;
    if (me) me->handling++;
    if (h.sa_flags & SA_SIGINFO) h.sa_sigaction(sig, info, context);
    else if (h.sa_handler != SIG_DFL && h.sa_handler != SIG_IGN) h.sa_handler(sig);
    if (me) me->handling--;
}

/* What the kernel calls. A signal from outside waits until the thread has the baton. */
static void trampoline(int sig, siginfo_t *info, void *context)
{
    const int saved = errno;
    if (!me || me->raising == (uint32_t)sig || BIT(sig) & SYNCHRONOUS || outside) call_handler(sig, info, context);
    else if (sig != SIGCHLD) __atomic_or_fetch(&me->pending, BIT(sig), __ATOMIC_SEQ_CST); /* a child's end is told by the run */
    errno = saved;
}

static void end_process(void);

static void raise_here(int sig)
{
    const void *h = (void *)handlers[sig].sa_handler;
    if (h == (void *)SIG_IGN) return;
    if (h == (void *)SIG_DFL) {
        if (sig == SIGCHLD || sig == SIGCONT || sig == SIGURG || sig == SIGWINCH) return;
        if (sig != SIGABRT) end_process();
    } else if (sig == SIGCHLD) {
        siginfo_t child;
        REAL(waitid)(P_ALL, 0, &child, WEXITED | WNOWAIT);
    }
    me->raising = (uint32_t)sig;
    K(SYS_tgkill, real_pid(), real_tid(), sig);
    me->raising = 0;
}

/* Signals of this thread that it does not block. */
static void deliver(void)
{
    uint64_t now;
    while (me && (now = __atomic_load_n(&me->pending, __ATOMIC_SEQ_CST) & ~me->mask)) {
        const int sig = __builtin_ctzll(now) + 1;
        __atomic_and_fetch(&me->pending, ~BIT(sig), __ATOMIC_SEQ_CST);
        raise_here(sig);
    }
}

static void post_to(vt_slot *s, int sig)
{
    __atomic_or_fetch(&s->pending, BIT(sig), __ATOMIC_SEQ_CST);
    if (s->state == WAITING && !(s->mask & BIT(sig))) make_runnable(s, SIGNALLED);
}

/* A signal for a process: for the first thread that waits for it or does not block it. */
static void post_signal(int process, int sig)
{
    if (sig == SIGKILL || sig == SIGSTOP) {
        K(SYS_kill, run->process[process].pid, sig);
        return;
    }
    for (uint64_t i = 0; i < H.threads; i++) {
        vt_slot *s = &run->slot[i];
        if (s->process == (uint32_t)process && s->state == WAITING && s->kind == W_SIGNAL && s->wanted & BIT(sig)) {
            s->got = (uint32_t)sig;
            make_runnable(s, WOKEN);
            return;
        }
    }
    for (uint64_t i = 0; i < H.threads; i++) {
        vt_slot *s = &run->slot[i];
        if (s->process == (uint32_t)process && (s->state == WAITING || s->state == RUNNABLE || s == me) && !(s->mask & BIT(sig))) {
            post_to(s, sig);
            return;
        }
    }
    K(SYS_kill, run->process[process].pid, sig); /* all block it: the kernel keeps it */
    H.file_changes++;
}

static void wake_children_waiters(int process)
{
    const int parent = run->process[process].parent;
    if (parent < 0) return;
    for (uint64_t i = 0; i < H.threads; i++) {
        vt_slot *s = &run->slot[i];
        if (s->state == WAITING && s->kind == W_CHILD && s->process == (uint32_t)parent) make_runnable(s, WOKEN);
    }
    if (run->process[parent].handled & BIT(SIGCHLD)) post_signal(parent, SIGCHLD);
}

EXPORT int sigaction(int sig, const struct sigaction *restrict wanted, struct sigaction *restrict before)
{
    if (!inside() || sig < 1 || sig > 64) return REAL(sigaction)(sig, wanted, before);
    const struct sigaction old = handlers[sig];
    if (wanted) {
        struct sigaction installed = *wanted;
        const int ours = wanted->sa_handler != SIG_DFL && wanted->sa_handler != SIG_IGN;
        if (ours) {
            installed.sa_sigaction = trampoline;
            installed.sa_flags = (wanted->sa_flags | SA_SIGINFO) & ~SA_RESETHAND;
        }
        const int result = REAL(sigaction)(sig, &installed, 0);
        if (result) return result;
        handlers[sig] = *wanted;
        if (ours) run->process[me->process].handled |= BIT(sig);
        else run->process[me->process].handled &= ~BIT(sig);
    }
    if (before) *before = old;
    return 0;
}

EXPORT sighandler_t signal(int sig, sighandler_t handler)
{
    struct sigaction wanted, before;
    memset(&wanted, 0, sizeof wanted);
    wanted.sa_handler = handler;
    wanted.sa_flags = SA_RESTART;
    return sigaction(sig, &wanted, &before) ? SIG_ERR : before.sa_handler;
}

static uint64_t bits_of(const sigset_t *set)
{
    uint64_t bits;
    memcpy(&bits, set, 8);
    return bits;
}

EXPORT int pthread_sigmask(int how, const sigset_t *restrict set, sigset_t *restrict before)
{
    const int result = REAL(pthread_sigmask)(how, set, before);
    if (inside() && !result && set) {
        const uint64_t bits = bits_of(set);
        me->mask = how == SIG_BLOCK ? me->mask | bits : how == SIG_UNBLOCK ? me->mask & ~bits : bits;
        deliver();
    }
    return result;
}

EXPORT int sigprocmask(int how, const sigset_t *restrict set, sigset_t *restrict before)
{
    const int result = pthread_sigmask(how, set, before);
    if (!result) return 0;
    errno = result;
    return -1;
}

static int wait_for_signal(const sigset_t *set, siginfo_t *info, uint64_t deadline)
{
    const struct timespec none = {0, 0};
    const uint64_t bits = bits_of(set);
    charge(CALL_NS);
    int sig = REAL(sigtimedwait)(set, info, &none); /* one that the kernel kept */
    if (sig > 0) return sig;
    if (me->pending & bits) {
        sig = __builtin_ctzll(me->pending & bits) + 1;
        me->pending &= ~BIT(sig);
    } else {
        me->wanted = bits;
        const int why = block(W_SIGNAL, 0, deadline);
        me->wanted = 0;
        sig = (int)me->got;
        if (why != WOKEN) {
            errno = why == TIMED_OUT ? EAGAIN : EINTR;
            return -1;
        }
    }
    if (info) {
        memset(info, 0, sizeof *info);
        info->si_signo = sig;
    }
    return sig;
}

EXPORT int sigtimedwait(const sigset_t *restrict set, siginfo_t *restrict info, const struct timespec *restrict limit)
{
    if (!inside()) return REAL(sigtimedwait)(set, info, limit);
    return wait_for_signal(set, info, limit ? after(of_timespec(limit)) : NEVER);
}

EXPORT int sigwaitinfo(const sigset_t *restrict set, siginfo_t *restrict info) { return sigtimedwait(set, info, 0); }

EXPORT int sigwait(const sigset_t *restrict set, int *restrict out)
{
    if (!inside()) return REAL(sigwait)(set, out);
    int sig;
    while ((sig = wait_for_signal(set, 0, NEVER)) < 0) {}
    *out = sig;
    return 0;
}

EXPORT int sigsuspend(const sigset_t *set)
{
    if (!inside()) return REAL(sigsuspend)(set);
    sigset_t before;
    pthread_sigmask(SIG_SETMASK, set, &before);
    block(W_SIGNAL, 0, NEVER);
    pthread_sigmask(SIG_SETMASK, &before, 0);
    errno = EINTR;
    return -1;
}

EXPORT int pause(void)
{
    if (!inside()) return REAL(pause)();
    block(W_SIGNAL, 0, NEVER);
    errno = EINTR;
    return -1;
}

static int process_of_number(int number)
{
    for (uint64_t i = 0; i < H.processes; i++)
        if (run->process[i].number == (uint32_t)number && !run->process[i].reaped) return (int)i;
    return -1;
}

EXPORT int kill(pid_t number, int sig)
{
    if (!inside()) return REAL(kill)(number, sig);
    charge(CALL_NS);
    if (number == STARTER && sig == 0) return 0; /* it is there: the run ends with it */
    int found = 0;
    for (uint64_t i = 0; i < H.processes; i++) {
        if (run->process[i].reaped || (number > 0 && run->process[i].number != (uint32_t)number)) continue;
        found = 1;
        if (sig == 0 || run->process[i].finished) continue;
        if (sig == SIGKILL) {
            K(SYS_kill, run->process[i].pid, SIGKILL);
            while (!is_gone(run->process[i].pid)) {
                struct timespec short_ = {0, 50000};
                K(SYS_nanosleep, &short_, 0);
            }
            forget_process((int)i);
        } else post_signal((int)i, sig);
    }
    if (!found) {
        errno = ESRCH;
        return -1;
    }
    deliver();
    return 0;
}

EXPORT int killpg(pid_t group, int sig) { return kill(group ? group : 0, sig); }

EXPORT int raise(int sig)
{
    if (!inside()) return REAL(raise)(sig);
    post_to(me, sig);
    deliver();
    return 0;
}

EXPORT int pthread_kill(pthread_t thread, int sig)
{
    if (!inside()) return REAL(pthread_kill)(thread, sig);
    charge(CALL_NS);
    vt_slot *s = slot_of(thread);
    if (!s || s->state == ENDED) return ESRCH;
    if (sig) post_to(s, sig);
    deliver();
    return 0;
}

EXPORT int sigqueue(pid_t number, int sig, const union sigval value) { return kill(number, sig); }
