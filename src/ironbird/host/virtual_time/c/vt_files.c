/* Handles: waits for them are waits of the run. Pipes, sockets and event counters are the kernel's. */
enum { F_UNKNOWN, F_PLAIN, F_WAITS, F_TIMER, F_RANDOM, F_DATAGRAM, F_STREAM };
typedef struct {
    uint8_t kind, family, bound, timer;
    uint16_t port, peer;
    uint64_t limit_ns; /* SO_RCVTIMEO */
} handle;
static handle handles[FILES];
typedef struct {
    uint64_t used, next, interval, rung;
    int clock, file;
} alarm_handle;
static alarm_handle alarms[256];
static int alarms_end; /* no alarm is in use from here on */

static handle *handle_of(int f)
{
    static handle none;
    if (f < 0 || f >= FILES) {
        none = (handle){F_WAITS, 0, 0, 0, 0, 0, 0};
        return &none;
    }
    handle *h = &handles[f];
    if (h->kind == F_UNKNOWN) {
        struct stat s;
        if (K(SYS_fstat, f, &s)) return h;
        h->kind = S_ISREG(s.st_mode) || S_ISDIR(s.st_mode) || S_ISBLK(s.st_mode) || (S_ISCHR(s.st_mode) && s.st_rdev == 0x103) ? F_PLAIN : F_WAITS;
    }
    return h;
}

static int waits(int f) { return !(K(SYS_fcntl, f, F_GETFL) & O_NONBLOCK); }

/* Alarms of this process whose time has come become readable. */
static void ring_timers(void)
{
    for (int i = 0; i < alarms_end; i++) {
        alarm_handle *a = &alarms[i];
        if (!a->used || a->next > H.now_ns || a->rung) continue;
        const uint64_t one = 1;
        K(SYS_write, a->file, &one, 8);
        a->rung = 1;
    }
}

static uint64_t next_alarm(void)
{
    uint64_t at = NEVER;
    for (int i = 0; i < alarms_end; i++)
        if (alarms[i].used && !alarms[i].rung && alarms[i].next < at) at = alarms[i].next;
    return at;
}

static int look(struct pollfd *files, nfds_t count)
{
    ring_timers();
    const long found = K(SYS_poll, files, count, 0);
    if (found >= 0) return (int)found;
    errno = (int)-found;
    return -1;
}

/* Until one of the files is ready: their number, 0 when the time is over, or -1 and an error. */
static int wait_for_files(struct pollfd *files, nfds_t count, uint64_t deadline)
{
    for (;;) {
        const int found = look(files, count);
        if (found || H.now_ns >= deadline) return found;
        const uint64_t alarm_at = next_alarm(), until = alarm_at < deadline ? alarm_at : deadline;
        int room = 0;
        for (nfds_t i = 0; i < count; i++) room |= files[i].events & POLLOUT;
        H.want_room += room != 0;
        me->files = files;
        me->files_count = count;
        me->files_seen = H.file_changes;
        const int why = block(W_FILES, 0, until);
        H.want_room -= room != 0;
        if (why == SIGNALLED) {
            pthread_testcancel();
            errno = EINTR;
            return -1;
        }
        if (why == TIMED_OUT && until == deadline && me->files_seen == H.file_changes) return 0; /* nothing came meanwhile */
    }
}

static int ready(int f, short events, uint64_t limit_ns)
{
    struct pollfd one = {f, events, 0};
    const int found = wait_for_files(&one, 1, limit_ns ? after(limit_ns) : NEVER);
    if (found == 0) errno = EAGAIN;
    return found;
}

static void changed(void) { H.file_changes++; }

/* Something was read: there may be room for who writes. */
static void taken_out(void)
{
    if (H.want_room) changed();
}

EXPORT int poll(struct pollfd *files, nfds_t count, int milliseconds)
{
    if (!inside()) return REAL(poll)(files, count, milliseconds);
    charge(CALL_NS);
    return wait_for_files(files, count, milliseconds < 0 ? NEVER : after((uint64_t)milliseconds * 1000000));
}
EXPORT int __poll_chk(struct pollfd *files, nfds_t count, int milliseconds, size_t size) { return poll(files, count, milliseconds); }

EXPORT int ppoll(struct pollfd *files, nfds_t count, const struct timespec *limit, const sigset_t *mask)
{
    if (!inside()) return REAL(ppoll)(files, count, limit, mask);
    charge(CALL_NS);
    sigset_t before;
    if (mask) pthread_sigmask(SIG_SETMASK, mask, &before);
    const int found = wait_for_files(files, count, limit ? after(of_timespec(limit)) : NEVER);
    if (mask) pthread_sigmask(SIG_SETMASK, &before, 0);
    return found;
}

static int select_until(int count, fd_set *r, fd_set *w, fd_set *x, uint64_t deadline)
{
    struct pollfd files[FD_SETSIZE];
    nfds_t n = 0;
    charge(CALL_NS);
    for (int f = 0; f < count && f < FD_SETSIZE; f++) {
        const short events = (short)((r && FD_ISSET(f, r) ? POLLIN : 0) | (w && FD_ISSET(f, w) ? POLLOUT : 0) | (x && FD_ISSET(f, x) ? POLLPRI : 0));
        if (events) files[n++] = (struct pollfd){f, events, 0};
    }
    if (wait_for_files(files, n, deadline) < 0) return -1;
    if (r) FD_ZERO(r);
    if (w) FD_ZERO(w);
    if (x) FD_ZERO(x);
    int found = 0;
    for (nfds_t i = 0; i < n; i++) {
        const short e = files[i].events, got = files[i].revents;
        if (got & POLLNVAL) {
            errno = EBADF;
            return -1;
        }
        if (e & POLLIN && got & (POLLIN | POLLHUP | POLLERR)) FD_SET(files[i].fd, r), found++;
        if (e & POLLOUT && got & (POLLOUT | POLLERR)) FD_SET(files[i].fd, w), found++;
        if (e & POLLPRI && got & POLLPRI) FD_SET(files[i].fd, x), found++;
    }
    return found;
}

EXPORT int select(int count, fd_set *restrict r, fd_set *restrict w, fd_set *restrict x, struct timeval *restrict limit)
{
    if (!inside()) return REAL(select)(count, r, w, x, limit);
    const uint64_t deadline = limit ? after(of_timeval(limit)) : NEVER;
    const int found = select_until(count, r, w, x, deadline);
    if (limit) {
        const uint64_t left = deadline > H.now_ns ? deadline - H.now_ns : 0;
        *limit = (struct timeval){(time_t)(left / SECOND), (suseconds_t)(left % SECOND / 1000)};
    }
    return found;
}

EXPORT int pselect(int count, fd_set *restrict r, fd_set *restrict w, fd_set *restrict x, const struct timespec *restrict limit,
                   const sigset_t *restrict mask)
{
    if (!inside()) return REAL(pselect)(count, r, w, x, limit, mask);
    sigset_t before;
    if (mask) pthread_sigmask(SIG_SETMASK, mask, &before);
    const int found = select_until(count, r, w, x, limit ? after(of_timespec(limit)) : NEVER);
    if (mask) pthread_sigmask(SIG_SETMASK, &before, 0);
    return found;
}

EXPORT int epoll_wait(int f, struct epoll_event *events, int most, int milliseconds)
{
    if (!inside()) return REAL(epoll_wait)(f, events, most, milliseconds);
    charge(CALL_NS);
    const uint64_t deadline = milliseconds < 0 ? NEVER : after((uint64_t)milliseconds * 1000000);
    for (;;) {
        ring_timers();
        const int found = REAL(epoll_wait)(f, events, most, 0);
        if (found || H.now_ns >= deadline) return found;
        struct pollfd one = {f, POLLIN, 0};
        const int got = wait_for_files(&one, 1, deadline);
        if (got < 0) return -1;
    }
}

EXPORT int epoll_pwait(int f, struct epoll_event *events, int most, int milliseconds, const sigset_t *mask)
{
    if (!inside()) return REAL(epoll_pwait)(f, events, most, milliseconds, mask);
    sigset_t before;
    if (mask) pthread_sigmask(SIG_SETMASK, mask, &before);
    const int found = epoll_wait(f, events, most, milliseconds);
    if (mask) pthread_sigmask(SIG_SETMASK, &before, 0);
    return found;
}

/* ---------------------------------------------------------------- timers as files */

EXPORT int timerfd_create(int clock, int flags)
{
    if (!inside()) return REAL(timerfd_create)(clock, flags);
    int place = 1;
    while (place < 256 && alarms[place].used) place++;
    if (place == 256) {
        errno = EMFILE;
        return -1;
    }
    const int f = REAL(eventfd)(0, (flags & TFD_NONBLOCK ? EFD_NONBLOCK : 0) | (flags & TFD_CLOEXEC ? EFD_CLOEXEC : 0));
    if (f < 0 || f >= FILES) return f;
    if (place >= alarms_end) alarms_end = place + 1;
    alarms[place] = (alarm_handle){1, NEVER, 0, 0, clock, f};
    handles[f] = (handle){F_TIMER, 0, 0, (uint8_t)place, 0, 0, 0};
    return f;
}

static alarm_handle *alarm_of(int f)
{
    return f >= 0 && f < FILES && handles[f].kind == F_TIMER ? &alarms[handles[f].timer] : 0;
}

static void still(alarm_handle *a) /* no longer readable */
{
    uint64_t count;
    struct pollfd one = {a->file, POLLIN, 0};
    if (K(SYS_poll, &one, 1, 0) > 0) K(SYS_read, a->file, &count, 8);
    a->rung = 0;
}

EXPORT int timerfd_settime(int f, int flags, const struct itimerspec *wanted, struct itimerspec *before)
{
    alarm_handle *a = inside() ? alarm_of(f) : 0;
    if (!a) return REAL(timerfd_settime)(f, flags, wanted, before);
    if (before) {
        before->it_value = as_timespec(a->next == NEVER || a->next <= H.now_ns ? 0 : a->next - H.now_ns);
        before->it_interval = as_timespec(a->interval);
    }
    still(a);
    const uint64_t first = of_timespec(&wanted->it_value);
    a->next = !first ? NEVER : flags & TFD_TIMER_ABSTIME ? moment_of(a->clock, &wanted->it_value) : after(first);
    a->interval = of_timespec(&wanted->it_interval);
    changed();
    for (uint64_t i = 0; i < H.threads; i++) { /* who waits already looks at the new time */
        vt_slot *s = &run->slot[i];
        if (s->state == WAITING && s->kind == W_FILES && s->process == me->process && a->next < run->deadline[i]) make_runnable(s, WOKEN);
    }
    return 0;
}

EXPORT int timerfd_gettime(int f, struct itimerspec *out)
{
    alarm_handle *a = inside() ? alarm_of(f) : 0;
    if (!a) return REAL(timerfd_gettime)(f, out);
    out->it_value = as_timespec(a->next == NEVER || a->next <= H.now_ns ? 0 : a->next - H.now_ns);
    out->it_interval = as_timespec(a->interval);
    return 0;
}

static ssize_t read_alarm(alarm_handle *a, void *to, size_t size)
{
    if (size < 8) {
        errno = EINVAL;
        return -1;
    }
    if (a->next > H.now_ns) {
        if (!waits(a->file)) {
            errno = EAGAIN;
            return -1;
        }
        if (ready(a->file, POLLIN, 0) < 0) return -1;
    }
    uint64_t count = 1;
    if (a->interval) count += (H.now_ns - a->next) / a->interval;
    a->next = a->interval ? a->next + count * a->interval : NEVER;
    still(a);
    memcpy(to, &count, 8);
    return 8;
}

/* ---------------------------------------------------------------- read and write */

static const char *there(const char *path, char *room);

EXPORT ssize_t read(int f, void *to, size_t size)
{
    if (!inside()) return REAL(read)(f, to, size);
    const handle *h = handle_of(f);
    if (h->kind == F_PLAIN) return REAL(read)(f, to, size);
    if (h->kind == F_RANDOM) {
        fill_random(to, size);
        return (ssize_t)size;
    }
    charge(CALL_NS);
    if (h->kind == F_TIMER) return read_alarm(&alarms[h->timer], to, size);
    if (waits(f) && ready(f, POLLIN, h->limit_ns) <= 0) return -1;
    const ssize_t n = REAL(read)(f, to, size);
    if (n > 0) taken_out();
    return n;
}
EXPORT ssize_t __read_chk(int f, void *to, size_t size, size_t room) { return read(f, to, size); }

static ssize_t send_to_run(int f, const void *from, size_t size, int flags, const struct sockaddr *to, socklen_t length);

EXPORT ssize_t write(int f, const void *from, size_t size)
{
    if (!inside()) return REAL(write)(f, from, size);
    const handle *h = handle_of(f);
    if (h->kind == F_PLAIN) return REAL(write)(f, from, size);
    charge(CALL_NS);
    if (h->kind == F_DATAGRAM || h->kind == F_STREAM) return send_to_run(f, from, size, 0, 0, 0);
    size_t done = 0;
    const int wait_ = waits(f);
    do { /* in pieces for which there is room: the reader cannot run while we wait in the kernel */
        if (wait_ && ready(f, POLLOUT, 0) < 0) return done ? (ssize_t)done : -1;
        const size_t piece = wait_ && size - done > PIPE_BUF ? PIPE_BUF : size - done;
        const ssize_t n = REAL(write)(f, (const char *)from + done, piece);
        if (n < 0) return done ? (ssize_t)done : -1;
        done += (size_t)n;
        changed();
    } while (wait_ && done < size);
    return (ssize_t)done;
}

/* Files are for the simulator and its user, who read them after the end: nothing is forced onto the disk. */
EXPORT int fsync(int f) { return inside() ? 0 : REAL(fsync)(f); }
EXPORT int fdatasync(int f) { return inside() ? 0 : REAL(fdatasync)(f); }
EXPORT int syncfs(int f) { return inside() ? 0 : REAL(syncfs)(f); }
EXPORT void sync(void)
{
    if (!inside()) REAL(sync)();
}

EXPORT ssize_t readv(int f, const struct iovec *parts, int count)
{
    if (!inside()) return REAL(readv)(f, parts, count);
    if (handle_of(f)->kind == F_PLAIN) return REAL(readv)(f, parts, count);
    charge(CALL_NS);
    if (waits(f) && ready(f, POLLIN, handle_of(f)->limit_ns) <= 0) return -1;
    const ssize_t n = REAL(readv)(f, parts, count);
    if (n > 0) taken_out();
    return n;
}

EXPORT ssize_t writev(int f, const struct iovec *parts, int count)
{
    if (!inside() || handle_of(f)->kind == F_PLAIN) return REAL(writev)(f, parts, count);
    ssize_t done = 0;
    for (int i = 0; i < count; i++) {
        const ssize_t n = write(f, parts[i].iov_base, parts[i].iov_len);
        if (n < 0) return done ? done : -1;
        done += n;
        if ((size_t)n < parts[i].iov_len) break;
    }
    return done;
}

EXPORT int close(int f)
{
    if (!inside()) return REAL(close)(f);
    if (f >= 0 && f < FILES) {
        if (handles[f].kind == F_TIMER) {
            int others = 0;
            for (int i = 0; i < FILES; i++) others += i != f && handles[i].kind == F_TIMER && handles[i].timer == handles[f].timer;
            if (!others) alarms[handles[f].timer].used = 0;
        }
        if (handles[f].kind != F_PLAIN) changed();
        handles[f] = (handle){0};
    }
    return REAL(close)(f);
}

static int copied(int from, int to)
{
    if (to >= 0 && to < FILES && from >= 0 && from < FILES && to != from) handles[to] = handles[from];
    return to;
}
EXPORT int dup(int f) { return inside() ? copied(f, REAL(dup)(f)) : REAL(dup)(f); }
EXPORT int dup2(int f, int to) { return inside() ? copied(f, REAL(dup2)(f, to)) : REAL(dup2)(f, to); }
EXPORT int dup3(int f, int to, int flags) { return inside() ? copied(f, REAL(dup3)(f, to, flags)) : REAL(dup3)(f, to, flags); }

EXPORT int fcntl(int f, int command, ...)
{
    va_list list;
    va_start(list, command);
    const long argument = va_arg(list, long);
    va_end(list);
    const int result = REAL(fcntl)(f, command, argument);
    return inside() && (command == F_DUPFD || command == F_DUPFD_CLOEXEC) ? copied(f, result) : result;
}
EXPORT int fcntl64(int f, int command, ...)
{
    va_list list;
    va_start(list, command);
    const long argument = va_arg(list, long);
    va_end(list);
    return fcntl(f, command, argument);
}
EXPORT int close_range(unsigned first, unsigned last, int flags)
{
    if (phase == 2 && !flags)
        for (unsigned f = first; f <= last && f < FILES; f++) handles[f] = (handle){0};
    const long result = K(SYS_close_range, first, last, flags);
    return result ? (errno = (int)-result, -1) : 0;
}
EXPORT void closefrom(int first) { close_range((unsigned)first, ~0u, 0); }

EXPORT int pipe2(int ends[2], int flags)
{
    const int result = REAL(pipe2)(ends, flags);
    if (!result)
        for (int i = 0; i < 2; i++)
            if (ends[i] < FILES) handles[ends[i]] = (handle){F_WAITS, 0, 0, 0, 0, 0, 0};
    return result;
}
EXPORT int pipe(int ends[2]) { return pipe2(ends, 0); }

EXPORT int eventfd(unsigned value, int flags)
{
    const int f = REAL(eventfd)(value, flags);
    if (f >= 0 && f < FILES) handles[f] = (handle){F_WAITS, 0, 0, 0, 0, 0, 0};
    return f;
}
EXPORT int eventfd_read(int f, eventfd_t *value) { return read(f, value, 8) == 8 ? 0 : -1; }
EXPORT int eventfd_write(int f, eventfd_t value) { return write(f, &value, 8) == 8 ? 0 : -1; }

/* Streams of the C library read by themselves: wait before they do. */
static void before_stream(FILE *file)
{
    if (!inside() || !file) return;
    const int f = fileno(file);
    if (f < 0 || handle_of(f)->kind != F_WAITS || !waits(f)) return;
    if (file->_IO_read_ptr < file->_IO_read_end) return; /* it has some left */
    charge(CALL_NS);
    ready(f, POLLIN, 0);
    changed();
}
EXPORT char *fgets(char *restrict to, int size, FILE *restrict file) { before_stream(file); return REAL(fgets)(to, size, file); }
EXPORT char *__fgets_chk(char *to, size_t room, int size, FILE *file) { return fgets(to, size, file); }
EXPORT int fgetc(FILE *file) { before_stream(file); return REAL(fgetc)(file); }
EXPORT int getc(FILE *file) { before_stream(file); return REAL(fgetc)(file); }
EXPORT int getchar(void) { return getc(stdin); }
EXPORT size_t fread(void *restrict to, size_t size, size_t count, FILE *restrict file) { before_stream(file); return REAL(fread)(to, size, count, file); }
EXPORT ssize_t getline(char **restrict line, size_t *restrict size, FILE *restrict file) { before_stream(file); return REAL(getline)(line, size, file); }

/* ---------------------------------------------------------------- names, random numbers, times of files */

static int is_random(const char *path) { return !strcmp(path, "/dev/urandom") || !strcmp(path, "/dev/random"); }

/* Locks, sockets and samples that programs keep in /tmp under fixed names are in the run's own folder. */
static const char *there(const char *path, char *room)
{
    const size_t folder = strlen(run_folder);
    if (phase != 2 || !path || folder + strlen(path) >= PATH_MAX) return path;
    static const char *const own[] = {"/tmp/px4_lock-", "/tmp/px4-sock-", "/tmp/accel"};
    unsigned i = 0;
    while (i < sizeof own / sizeof *own && strncmp(path, own[i], strlen(own[i]))) i++;
    if (i == sizeof own / sizeof *own) return path;
    snprintf(room, PATH_MAX, "%s/%s", run_folder, path + 5);
    return room;
}

static int opened(int f, const char *path)
{
    if (f >= 0 && f < FILES) handles[f] = (handle){is_random(path) ? F_RANDOM : F_UNKNOWN, 0, 0, 0, 0, 0, 0};
    return f;
}

#define MODE(flags)                                                                                                    \
    mode_t mode = 0;                                                                                                   \
    if ((flags) & (O_CREAT | O_TMPFILE)) {                                                                             \
        va_list list;                                                                                                  \
        va_start(list, flags);                                                                                         \
        mode = va_arg(list, mode_t);                                                                                   \
        va_end(list);                                                                                                  \
    }

EXPORT int open(const char *path, int flags, ...)
{
    MODE(flags)
    char room[PATH_MAX];
    return inside() ? opened(REAL(open)(there(path, room), flags, mode), path) : REAL(open)(path, flags, mode);
}
EXPORT int open64(const char *path, int flags, ...)
{
    MODE(flags)
    return open(path, flags, mode);
}
EXPORT int openat(int folder, const char *path, int flags, ...)
{
    MODE(flags)
    char room[PATH_MAX];
    return inside() ? opened(REAL(openat)(folder, there(path, room), flags, mode), path) : REAL(openat)(folder, path, flags, mode);
}
EXPORT int openat64(int folder, const char *path, int flags, ...)
{
    MODE(flags)
    return openat(folder, path, flags, mode);
}
EXPORT int __open_2(const char *path, int flags) { return open(path, flags); }
EXPORT int __open64_2(const char *path, int flags) { return open(path, flags); }
EXPORT int creat(const char *path, mode_t mode) { return open(path, O_CREAT | O_WRONLY | O_TRUNC, mode); }
EXPORT int unlink(const char *path)
{
    char room[PATH_MAX];
    return REAL(unlink)(there(path, room));
}
EXPORT int access(const char *path, int mode)
{
    char room[PATH_MAX];
    return REAL(access)(there(path, room), mode);
}

static ssize_t random_stream(void *cookie, char *to, size_t size)
{
    fill_random(to, size);
    return (ssize_t)size;
}
EXPORT FILE *fopen(const char *restrict path, const char *restrict mode)
{
    if (inside() && is_random(path)) return fopencookie(0, "r", (cookie_io_functions_t){.read = random_stream});
    char room[PATH_MAX];
    FILE *file = REAL(fopen)(there(path, room), mode);
    if (file && inside()) opened(fileno(file), path);
    return file;
}
EXPORT FILE *fopen64(const char *restrict path, const char *restrict mode) { return fopen(path, mode); }
EXPORT int fclose(FILE *file)
{
    const int f = file ? fileno(file) : -1;
    if (f >= 0 && f < FILES && phase == 2) {
        if (handles[f].kind == F_WAITS && inside()) changed();
        handles[f] = (handle){0};
    }
    return REAL(fclose)(file);
}

EXPORT ssize_t getrandom(void *to, size_t size, unsigned flags)
{
    if (!inside()) return (ssize_t)K(SYS_getrandom, to, size, flags);
    fill_random(to, size);
    return (ssize_t)size;
}
EXPORT int getentropy(void *to, size_t size) { return getrandom(to, size, 0) == (ssize_t)size ? 0 : -1; }
EXPORT uint32_t arc4random(void) { uint32_t word; getrandom(&word, 4, 0); return word; }
EXPORT void arc4random_buf(void *to, size_t size) { getrandom(to, size, 0); }
EXPORT unsigned _ZNSt13random_device9_M_getvalEv(void *self) { return arc4random(); } /* std::random_device, the processor's */

static int timeless(int folder, const char *path, struct stat *s, int flags)
{
    char room[PATH_MAX];
    const long result = K(SYS_newfstatat, folder, there(path, room), s, flags);
    if (result) return errno = (int)-result, -1;
    if (phase == 2) s->st_atim = s->st_mtim = s->st_ctim = as_timespec(H.epoch_ns);
    return 0;
}
EXPORT int stat(const char *restrict path, struct stat *restrict s) { return timeless(AT_FDCWD, path, s, 0); }
EXPORT int lstat(const char *restrict path, struct stat *restrict s) { return timeless(AT_FDCWD, path, s, AT_SYMLINK_NOFOLLOW); }
EXPORT int fstat(int f, struct stat *s) { return timeless(f, "", s, AT_EMPTY_PATH); }
EXPORT int fstatat(int folder, const char *restrict path, struct stat *restrict s, int flags) { return timeless(folder, path, s, flags); }
EXPORT int fstatat64(int folder, const char *restrict path, struct stat64 *restrict s, int flags) { return timeless(folder, path, (struct stat *)s, flags); }
EXPORT int stat64(const char *restrict path, struct stat64 *restrict s) { return stat(path, (struct stat *)s); }
EXPORT int lstat64(const char *restrict path, struct stat64 *restrict s) { return lstat(path, (struct stat *)s); }
EXPORT int fstat64(int f, struct stat64 *s) { return fstat(f, (struct stat *)s); }
EXPORT int __xstat(int version, const char *path, struct stat *s) { return stat(path, s); }
EXPORT int __lxstat(int version, const char *path, struct stat *s) { return lstat(path, s); }
EXPORT int __fxstat(int version, int f, struct stat *s) { return fstat(f, s); }
EXPORT int __xstat64(int version, const char *path, struct stat64 *s) { return stat(path, (struct stat *)s); }
EXPORT int __lxstat64(int version, const char *path, struct stat64 *s) { return lstat(path, (struct stat *)s); }
EXPORT int __fxstat64(int version, int f, struct stat64 *s) { return fstat(f, (struct stat *)s); }

/* Room on the disk is the same on every machine: 1 GiB of 2. */
#define ROOM(s) s->f_bsize = 4096, s->f_blocks = 524288, s->f_bfree = s->f_bavail = 262144
static int roomy(int result, struct statfs *s)
{
    if (!result) ROOM(s);
    return result;
}
static int roomy_v(int result, struct statvfs *s)
{
    if (!result) ROOM(s), s->f_frsize = 4096;
    return result;
}
EXPORT int statfs(const char *path, struct statfs *s) { return roomy(REAL(statfs)(path, s), s); }
EXPORT int fstatfs(int f, struct statfs *s) { return roomy(REAL(fstatfs)(f, s), s); }
EXPORT int statfs64(const char *path, struct statfs64 *s) { return statfs(path, (struct statfs *)s); }
EXPORT int fstatfs64(int f, struct statfs64 *s) { return fstatfs(f, (struct statfs *)s); }
EXPORT int statvfs(const char *restrict path, struct statvfs *restrict s) { return roomy_v(REAL(statvfs)(path, s), s); }
EXPORT int fstatvfs(int f, struct statvfs *s) { return roomy_v(REAL(fstatvfs)(f, s), s); }
EXPORT int statvfs64(const char *restrict path, struct statvfs64 *restrict s) { return statvfs(path, (struct statvfs *)s); }
EXPORT int fstatvfs64(int f, struct statvfs64 *s) { return fstatvfs(f, (struct statvfs *)s); }
