/* Processes: a fork has its place in the run before it lives, and what it executes takes the place over. */
extern char **environ;
static char **before_variables; /* LD_PRELOAD and the name of the run, for what is executed */

static int new_process(int parent)
{
    uint64_t place = 0;
    while (place < H.processes && !(run->process[place].finished && run->process[place].reaped)) place++;
    if (place >= PROCESSES) fail(TOO_MANY, "more than 256 processes at the same time");
    if (place == H.processes) H.processes++;
    run->process[place] = (vt_process){0, parent, (uint32_t)(FIRST_NUMBER + H.started++), 0, 0, 0};
    return (int)place;
}

static void guard_host(int local);
static void adopt(vt_slot *s)
{
    me = s;
    me->pid = real_pid();
    me->tid = me->runner = real_tid();
    me->fs = carrier_fs = own_fs();
    me->thread = (uint64_t)pthread_self();
    run->process[me->process].pid = me->pid;
}

/* The process joins the run, whose file IRONBIRD_VIRTUAL_TIME names. */
static void begin(void)
{
    if (phase) return;
    phase = 1;
    const char *name = getenv("IRONBIRD_VIRTUAL_TIME"), *own = getenv("LD_PRELOAD");
    if (!name || !own || K(SYS_geteuid) == 0 || K(SYS_getuid) == 0) {
        say(name ? "ironbird virtual time: never as root: start it as another user\n"
                 : "ironbird virtual time: IRONBIRD_VIRTUAL_TIME names no run\n");
        K(SYS_exit_group, 126);
    }
    const int f = (int)K(SYS_open, name, O_RDWR | O_CLOEXEC);
    vt_run *mapped = f < 0 ? MAP_FAILED : mmap(0, sizeof(vt_run), PROT_READ | PROT_WRITE, MAP_SHARED, f, 0);
    if (f >= 0) K(SYS_close, f);
    if (mapped == MAP_FAILED || mapped->head.magic != MAGIC || mapped->head.size != sizeof(vt_head)) {
        say("ironbird virtual time: the run's file is not there or of another version\n");
        K(SYS_exit_group, 126);
    }
    run = mapped;
    strncpy(own_path, own, sizeof own_path - 1);
    strncpy(run_folder, name, sizeof run_folder - 1);
    *strrchr(run_folder, '/') = 0;
    pthread_key_create(&end_key, finish_thread);
    const int pid = real_pid();
    if (!H.processes) { /* the first: what it starts inherits the guard */
        guard_host(1);
        H.slots_at = offsetof(vt_run, slot);
        H.slot_size = sizeof(vt_slot);
        new_process(-1);
        vt_slot *s = new_slot(0);
        s->state = RUNNABLE;
        adopt(s);
        H.holder = (uint64_t)place_of(me);
    } else {
        vt_slot *found = 0;
        for (int tries = 0; !found; tries++) {
            for (uint64_t i = 0; i < H.threads; i++)
                if (run->slot[i].pid == pid && run->slot[i].state != FREE && (run->slot[i].execing || !run->slot[i].tid)) found = &run->slot[i];
            if (!found && tries > 50000) {
                say("ironbird virtual time: a process that nobody of the run started\n");
                K(SYS_exit_group, 126);
            }
            struct timespec short_ = {0, 200000};
            if (!found) K(SYS_nanosleep, &short_, 0);
        }
        const int holds = (int)found->execing;
        found->execing = 0;
        for (uint64_t i = 0; i < H.threads; i++) /* its other threads ended when it was executed */
            if (&run->slot[i] != found && run->slot[i].state != FREE && run->slot[i].pid == pid) free_slot(&run->slot[i]);
        adopt(found);
        run->process[me->process].handled = 0;
        if (!holds) await_baton((int)me->process);
    }
    sigset_t mask;
    if (!REAL(pthread_sigmask)(SIG_SETMASK, 0, &mask)) me->mask = bits_of(&mask);
    for (int sig = 1; sig <= 64; sig++) {
        struct sigaction now;
        if (!REAL(sigaction)(sig, 0, &now)) handlers[sig] = now;
    }
    phase = 2;
}

__attribute__((constructor)) static void at_start(void) { begin(); }

/* The end of a process, under the baton: what comes after it is the kernel's. Whoever reads from it sees the end now and
 * not when the kernel has come to it. */
static void end_process(void)
{
    if (!me || phase != 2) return;
    vt_slot *own = me;
    const int place = (int)own->process;
    if (K(SYS_close_range, 0, ~0u, 0) < 0)
        for (int f = 0; f < FILES; f++) K(SYS_close, f);
    forget_process(place);
    int others = 0;
    for (uint64_t i = 0; i < H.processes; i++) others += !run->process[i].finished;
    if (!others) {
        H.ended = 1;
        __atomic_store_n((uint32_t *)&H.turn, 1, __ATOMIC_SEQ_CST);
        futex_wake(&H.turn, 1);
    } else {
        vt_slot *next = pick();
        hand_over(next);
    }
    outside = 1;
}

__attribute__((destructor)) static void at_end(void)
{
    if (!inside()) return;
    fflush(0);
    end_process();
}

EXPORT void _exit(int code)
{
    if (inside()) end_process();
    K(SYS_exit_group, code);
    __builtin_unreachable();
}
EXPORT void _Exit(int code) { _exit(code); }

EXPORT pid_t fork(void)
{
    if (!inside()) return REAL(fork)();
    charge(CALL_NS);
    const int place = new_process((int)me->process);
    vt_slot *child = new_slot(place);
    child->mask = me->mask;
    make_runnable(child, WOKEN);
    outside = 1;
    const pid_t pid = REAL(fork)();
    outside = 0;
    if (pid == 0) {
        adopt(child);
        pthread_setspecific(end_key, 0);
        await_baton((int)me->process);
        return 0;
    }
    if (pid < 0) {
        const int saved = errno;
        free_slot(child);
        run->process[place].finished = run->process[place].reaped = 1;
        errno = saved;
        return -1;
    }
    child->pid = run->process[place].pid = pid;
    return (pid_t)run->process[place].number;
}
EXPORT pid_t vfork(void) { return fork(); }

/* The environment of what is executed always names the library and the run. */
static char **with_ours(char *const *given, char **room, int most, char *text, size_t size)
{
    int n = 0;
    for (; given && *given && n < most - 3; given++)
        if (strncmp(*given, "LD_PRELOAD=", 11) && strncmp(*given, "IRONBIRD_VIRTUAL_TIME=", 22)) room[n++] = *given;
    const int used = snprintf(text, size, "LD_PRELOAD=%s", own_path) + 1;
    snprintf(text + used, size - (size_t)used, "IRONBIRD_VIRTUAL_TIME=%s/run", run_folder);
    room[n++] = text;
    room[n++] = text + used;
    room[n] = 0;
    return room;
}
#define VARIABLES 1024
#define OUR_ENVIRONMENT(given)                                                                                         \
    char *room_[VARIABLES], text_[2 * PATH_MAX];                                                                       \
    char **ours = with_ours(given, room_, VARIABLES, text_, sizeof text_)

EXPORT int execve(const char *path, char *const argv[], char *const envp[])
{
    if (!inside()) return (int)REAL(execve)(path, argv, envp);
    OUR_ENVIRONMENT(envp);
    me->execing = 1;
    const int result = REAL(execve)(path, argv, ours);
    me->execing = 0;
    return result;
}
EXPORT int execv(const char *path, char *const argv[]) { return execve(path, argv, environ); }
EXPORT int execvpe(const char *file, char *const argv[], char *const envp[])
{
    if (!inside()) return REAL(execvpe)(file, argv, envp);
    OUR_ENVIRONMENT(envp);
    me->execing = 1;
    const int result = REAL(execvpe)(file, argv, ours);
    me->execing = 0;
    return result;
}
EXPORT int execvp(const char *file, char *const argv[]) { return execvpe(file, argv, environ); }

#define ARGUMENTS 256
#define GATHER(first)                                                                                                  \
    char *argv[ARGUMENTS];                                                                                             \
    int n = 0;                                                                                                         \
    va_list list;                                                                                                      \
    va_start(list, first);                                                                                             \
    argv[n++] = (char *)first;                                                                                         \
    while (n < ARGUMENTS - 1 && (argv[n] = va_arg(list, char *))) n++;                                                 \
    argv[n] = 0

EXPORT int execl(const char *path, const char *first, ...)
{
    GATHER(first);
    va_end(list);
    return execve(path, argv, environ);
}
EXPORT int execlp(const char *file, const char *first, ...)
{
    GATHER(first);
    va_end(list);
    return execvpe(file, argv, environ);
}
EXPORT int execle(const char *path, const char *first, ...)
{
    GATHER(first);
    char **envp = va_arg(list, char **);
    va_end(list);
    return execve(path, argv, envp);
}

static int spawned(int result, pid_t *out)
{
    if (result) return result;
    const int place = new_process((int)me->process);
    vt_slot *child = new_slot(place);
    child->mask = me->mask;
    make_runnable(child, WOKEN);
    run->process[place].pid = *out;
    __atomic_store_n(&child->pid, *out, __ATOMIC_SEQ_CST);
    *out = (pid_t)run->process[place].number;
    return 0;
}

EXPORT int posix_spawn(pid_t *restrict out, const char *restrict path, const posix_spawn_file_actions_t *actions,
                       const posix_spawnattr_t *restrict attributes, char *const argv[restrict], char *const envp[restrict])
{
    if (!inside()) return REAL(posix_spawn)(out, path, actions, attributes, argv, envp);
    OUR_ENVIRONMENT(envp);
    pid_t pid;
    const int result = spawned(REAL(posix_spawn)(&pid, path, actions, attributes, argv, ours), &pid);
    if (out) *out = pid;
    return result;
}

EXPORT int posix_spawnp(pid_t *restrict out, const char *restrict file, const posix_spawn_file_actions_t *actions,
                        const posix_spawnattr_t *restrict attributes, char *const argv[restrict], char *const envp[restrict])
{
    if (!inside()) return REAL(posix_spawnp)(out, file, actions, attributes, argv, envp);
    OUR_ENVIRONMENT(envp);
    pid_t pid;
    const int result = spawned(REAL(posix_spawnp)(&pid, file, actions, attributes, argv, ours), &pid);
    if (out) *out = pid;
    return result;
}

static pid_t wait_for_child(pid_t number, int *status, int options, struct rusage *usage)
{
    charge(CALL_NS);
    for (;;) {
        int children = 0;
        for (uint64_t i = 0; i < H.processes; i++) {
            vt_process *p = &run->process[i];
            if (p->parent != (int)me->process || p->reaped || (number > 0 && p->number != (uint32_t)number)) continue;
            children++;
            if (!p->finished) continue;
            int own;
            while (K(SYS_wait4, p->pid, &own, 0, 0) == -EINTR) {}
            p->reaped = 1;
            if (status) *status = own;
            if (usage) memset(usage, 0, sizeof *usage);
            return (pid_t)p->number;
        }
        if (!children) {
            errno = ECHILD;
            return -1;
        }
        if (options & WNOHANG) return 0;
        if (block(W_CHILD, 0, NEVER) == SIGNALLED) {
            errno = EINTR;
            return -1;
        }
    }
}

EXPORT pid_t waitpid(pid_t number, int *status, int options)
{
    return inside() ? wait_for_child(number, status, options, 0) : REAL(waitpid)(number, status, options);
}
EXPORT pid_t wait(int *status) { return waitpid(-1, status, 0); }
EXPORT pid_t wait4(pid_t number, int *status, int options, struct rusage *usage)
{
    return inside() ? wait_for_child(number, status, options, usage) : REAL(wait4)(number, status, options, usage);
}
EXPORT pid_t wait3(int *status, int options, struct rusage *usage) { return wait4(-1, status, options, usage); }

EXPORT int system(const char *command)
{
    if (!inside()) return REAL(system)(command);
    if (!command) return 1;
    const pid_t child = fork();
    if (child < 0) return -1;
    if (!child) {
        execl("/bin/sh", "sh", "-c", command, (char *)0);
        _exit(127);
    }
    int status;
    while (waitpid(child, &status, 0) < 0)
        if (errno != EINTR) return -1;
    return status;
}

static struct {
    FILE *file;
    pid_t child;
} pipes[32];

EXPORT FILE *popen(const char *command, const char *mode)
{
    if (!inside()) return REAL(popen)(command, mode);
    const int reads = mode[0] == 'r';
    int ends[2], place = 0;
    while (place < 32 && pipes[place].file) place++;
    if (place == 32 || pipe(ends)) return 0;
    const pid_t child = fork();
    if (!child) {
        K(SYS_dup2, ends[reads], reads);
        K(SYS_close, ends[0]);
        K(SYS_close, ends[1]);
        execl("/bin/sh", "sh", "-c", command, (char *)0);
        _exit(127);
    }
    close(ends[reads]);
    pipes[place].child = child;
    return pipes[place].file = fdopen(ends[!reads], reads ? "r" : "w");
}

EXPORT int pclose(FILE *file)
{
    if (!inside()) return REAL(pclose)(file);
    for (int i = 0; i < 32; i++)
        if (pipes[i].file == file) {
            int status;
            fclose(file);
            H.file_changes++;
            pipes[i].file = 0;
            while (waitpid(pipes[i].child, &status, 0) < 0)
                if (errno != EINTR) return -1;
            return status;
        }
    return -1;
}

EXPORT pid_t getpid(void) { return inside() ? (pid_t)run->process[me->process].number : (pid_t)real_pid(); }
EXPORT pid_t getppid(void)
{
    if (!inside()) return (pid_t)K(SYS_getppid);
    const int parent = run->process[me->process].parent;
    return parent < 0 ? STARTER : (pid_t)run->process[parent].number;
}
EXPORT pid_t gettid(void) { return inside() ? (pid_t)(10000 + place_of(me)) : (pid_t)real_tid(); }
EXPORT pid_t getpgrp(void) { return inside() ? FIRST_NUMBER : (pid_t)K(SYS_getpgrp); }
EXPORT pid_t getpgid(pid_t pid) { return inside() ? FIRST_NUMBER : (pid_t)K(SYS_getpgid, pid); }
EXPORT pid_t getsid(pid_t pid) { return inside() ? FIRST_NUMBER : (pid_t)K(SYS_getsid, pid); }
EXPORT int setpgid(pid_t pid, pid_t group) { return inside() ? 0 : (int)K(SYS_setpgid, pid, group); }
EXPORT pid_t setsid(void) { return inside() ? getpid() : (pid_t)K(SYS_setsid); }
#define NOBODY 65534
EXPORT uid_t getuid(void) { return NOBODY; }
EXPORT uid_t geteuid(void) { return NOBODY; }
EXPORT gid_t getgid(void) { return NOBODY; }
EXPORT gid_t getegid(void) { return NOBODY; }
