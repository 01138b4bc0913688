/* Programs that virtual time is tried with: the first argument says which. They know nothing of it. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <fenv.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static double now_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static double begin_s;
#define TELL(...)                                                                                                      \
    do {                                                                                                               \
        char text_[200];                                                                                               \
        snprintf(text_, sizeof text_, __VA_ARGS__); /* which may take its time */                                      \
        printf("%.4f %s\n", now_s() - begin_s, text_);                                                                 \
    } while (0)

/* ---- many threads on everything that threads have: the order of what they did is hashed */
enum { THREADS = 12 };
static pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER, other = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t moved = PTHREAD_COND_INITIALIZER;
static pthread_rwlock_t shelf = PTHREAD_RWLOCK_INITIALIZER;
static pthread_barrier_t meeting;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static sem_t tokens;
static uint64_t story = 1469598103934665603ull;
static long rounds;
static int ends[2], turns_made;

static void remember(uint64_t word)
{
    story = (story ^ word) * 1099511628211ull;
}

static void make_turn(void) { turns_made++; usleep(50); }

static void *torture(void *given)
{
    const uint64_t who = (uint64_t)(intptr_t)given;
    uint64_t dice = who * 7919 + 1;
    for (long i = 0; i < rounds; i++) {
        dice = dice * 6364136223846793005ull + 1442695040888963407ull;
        switch ((dice >> 33) % 8) {
        case 0:
            pthread_mutex_lock(&guard);
            remember(who);
            pthread_cond_signal(&moved);
            sched_yield();
            pthread_mutex_unlock(&guard);
            break;
        case 1: {
            struct timespec until;
            clock_gettime(CLOCK_REALTIME, &until);
            until.tv_nsec += (long)(dice >> 40) % 300000;
            if (until.tv_nsec >= 1000000000) until.tv_sec++, until.tv_nsec -= 1000000000;
            pthread_mutex_lock(&guard);
            remember(who * 3 + (uint64_t)(pthread_cond_timedwait(&moved, &guard, &until) == ETIMEDOUT));
            pthread_mutex_unlock(&guard);
            break;
        }
        case 2: usleep((useconds_t)(dice >> 50) % 200); remember(who + 1000); break;
        case 3: sem_wait(&tokens); remember(who + 2000); sched_yield(); sem_post(&tokens); break;
        case 4: pthread_rwlock_rdlock(&shelf); sched_yield(); remember(who + 3000); pthread_rwlock_unlock(&shelf); break;
        case 5: pthread_rwlock_wrlock(&shelf); remember(who + 4000); sched_yield(); pthread_rwlock_unlock(&shelf); break;
        case 6: { char c = (char)who; if (write(ends[1], &c, 1) == 1 && read(ends[0], &c, 1) == 1) remember((uint64_t)c + 5000); break; }
        default: pthread_once(&once, make_turn); sched_yield(); remember(who + 6000); break;
        }
    }
    pthread_barrier_wait(&meeting);
    pthread_mutex_lock(&other);
    remember((uint64_t)(1e9 * (now_s() - begin_s)));
    pthread_mutex_unlock(&other);
    return (void *)(intptr_t)who;
}

/* Two threads count with a call between reading and writing, and no lock. */
static volatile int counted;

static void *count_up(void *given)
{
    for (int i = 0; i < 200; i++) {
        const int seen = counted;
        now_s();
        counted = seen + 1;
    }
    return given;
}

static int run_race(void)
{
    pthread_t threads[2];
    for (int i = 0; i < 2; i++) pthread_create(&threads[i], 0, count_up, 0);
    for (int i = 0; i < 2; i++) pthread_join(threads[i], 0);
    printf("%d of 400\n", counted);
    return 0;
}

static int run_torture(long wanted)
{
    pthread_t threads[THREADS];
    rounds = wanted;
    sem_init(&tokens, 0, 2);
    pthread_barrier_init(&meeting, 0, THREADS);
    if (pipe(ends)) return 1;
    for (intptr_t i = 0; i < THREADS; i++) pthread_create(&threads[i], 0, torture, (void *)i);
    for (int i = 0; i < THREADS; i++) {
        void *who;
        pthread_join(threads[i], &who);
        remember((uint64_t)(intptr_t)who);
    }
    printf("%016llx %d\n", (unsigned long long)story, turns_made);
    return 0;
}

/* ---- deadlock, and a thread that never looks up */
static void *wrong_order(void *given)
{
    pthread_mutex_lock(&other);
    usleep(1000);
    pthread_mutex_lock(&guard);
    return given;
}

static int run_deadlock(void)
{
    pthread_t t;
    pthread_create(&t, 0, wrong_order, 0);
    pthread_mutex_lock(&guard);
    usleep(1000);
    pthread_mutex_lock(&other);
    return 0;
}

static volatile int flag;
static void *raise_flag(void *given)
{
    usleep(1000);
    flag = 1;
    return given;
}

static int run_spin(void)
{
    pthread_t t;
    prctl(PR_SET_NAME, "spinner");
    pthread_create(&t, 0, raise_flag, 0);
    while (!flag) {}
    pthread_join(t, 0);
    return 0;
}

static int run_spin_on_clock(void)
{
    pthread_t t;
    pthread_create(&t, 0, raise_flag, 0);
    while (!flag) now_s();
    pthread_join(t, 0);
    TELL("the flag was raised");
    return 0;
}

/* ---- sleepers wake in the order of their times, ties in the order in which they lay down */
static void *sleeper(void *given)
{
    const long ms = (long)(intptr_t)given;
    usleep((useconds_t)ms / 10 * 1000);
    pthread_mutex_lock(&guard);
    TELL("%ld", ms);
    pthread_mutex_unlock(&guard);
    return 0;
}

static int run_sleepers(void)
{
    static const long ms[] = {300, 101, 200, 102, 500, 103, 400};
    pthread_t t[7];
    for (int i = 0; i < 7; i++) pthread_create(&t[i], 0, sleeper, (void *)(intptr_t)ms[i]);
    for (int i = 0; i < 7; i++) pthread_join(t[i], 0);
    return 0;
}

/* ---- conditions with time-outs on both clocks */
static void *signaller(void *given)
{
    usleep(20000);
    pthread_mutex_lock(&guard);
    flag = 1;
    pthread_cond_broadcast(&moved);
    pthread_mutex_unlock(&guard);
    return given;
}

static int run_conditions(void)
{
    pthread_condattr_t kind;
    pthread_cond_t steady;
    pthread_t t;
    struct timespec until;
    pthread_condattr_init(&kind);
    pthread_condattr_setclock(&kind, CLOCK_MONOTONIC);
    pthread_cond_init(&steady, &kind);
    pthread_mutex_lock(&guard);
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += 3600;
    TELL("steady: %s", strerror(pthread_cond_timedwait(&steady, &guard, &until)));
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += 2;
    TELL("calendar: %s", strerror(pthread_cond_timedwait(&moved, &guard, &until)));
    pthread_create(&t, 0, signaller, 0);
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += 2;
    int result = 0;
    while (!flag && !result) result = pthread_cond_timedwait(&moved, &guard, &until);
    TELL("signalled: %d", result);
    pthread_mutex_unlock(&guard);
    pthread_join(t, 0);
    return 0;
}

/* ---- signals */
static volatile sig_atomic_t caught, rings;
static void on_signal(int sig)
{
    if (sig == SIGALRM) rings++;
    else caught = sig;
}

static void *waiter(void *given)
{
    sigset_t set;
    int sig;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR2);
    sigwait(&set, &sig);
    TELL("waited for signal %d", sig);
    return given;
}

static int run_signals(void)
{
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = on_signal;
    sigaction(SIGUSR1, &action, 0);
    sigaction(SIGALRM, &action, 0);
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR2);
    pthread_sigmask(SIG_BLOCK, &set, 0);
    pthread_t t;
    pthread_create(&t, 0, waiter, 0);
    raise(SIGUSR1);
    TELL("raised: %d", caught);
    struct itimerval every = {{0, 10000}, {0, 30000}};
    setitimer(ITIMER_REAL, &every, 0);
    struct timespec long_ = {1, 0}, left;
    const int result = nanosleep(&long_, &left);
    TELL("sleep interrupted: %d %s, %.3f left, %d rings", result, strerror(errno), (double)left.tv_sec + 1e-9 * (double)left.tv_nsec, rings);
    while (rings < 5) pause();
    TELL("%d rings", rings);
    every.it_value.tv_usec = every.it_interval.tv_usec = 0;
    setitimer(ITIMER_REAL, &every, 0);
    kill(getpid(), SIGUSR2);
    pthread_join(t, 0);
    timer_t timer;
    struct sigevent event;
    memset(&event, 0, sizeof event);
    event.sigev_notify = SIGEV_SIGNAL;
    event.sigev_signo = SIGUSR1;
    timer_create(CLOCK_MONOTONIC, &event, &timer);
    struct itimerspec in = {{0, 0}, {0, 7000000}};
    caught = 0;
    timer_settime(timer, 0, &in, 0);
    while (!caught) pause();
    TELL("timer: %d", caught);
    return 0;
}

/* ---- what belongs to a thread stays with it, whichever has its turn */
static __thread int own_word;
static pthread_key_t own_key;
static int ends_seen, cleaned;
static void at_thread_end(void *given) { ends_seen += (int)(intptr_t)given; }
static void clean_up(void *given) { cleaned += (int)(intptr_t)given; }
static void nap_in_handler(int sig) { usleep(300); caught = sig; }

static double third(void) { volatile double one = 1, three = 3; return one / three; }

static void *owner(void *given)
{
    const int who = (int)(intptr_t)given;
    char name[16];
    int wrong = 0;
    snprintf(name, sizeof name, "owner %d", who);
    if (who % 2) pthread_setname_np(pthread_self(), name);
    else prctl(PR_SET_NAME, name);
    pthread_setspecific(own_key, given);
    fesetround(who % 2 ? FE_UPWARD : FE_DOWNWARD);
    sigset_t mask, seen;
    sigemptyset(&mask);
    sigaddset(&mask, who % 2 ? SIGUSR1 : SIGUSR2);
    pthread_sigmask(SIG_BLOCK, &mask, 0);
    for (int i = 0; i < 50; i++) {
        own_word = errno = who;
        if (i % 10 == 0 && who == 4) kill(getpid(), SIGUSR1); /* the first that does not block it naps in its handler */
        usleep(100);
        char now[16];
        pthread_getname_np(pthread_self(), now, sizeof now);
        prctl(PR_GET_NAME, now);
        wrong += own_word != who || errno != who || strcmp(now, name);
        pthread_sigmask(SIG_BLOCK, 0, &seen);
        wrong += sigismember(&seen, SIGUSR1) != who % 2 || sigismember(&seen, SIGUSR2) != !(who % 2);
        wrong += fegetround() != (who % 2 ? FE_UPWARD : FE_DOWNWARD) || (third() * 3 > 1.0) != who % 2;
    }
    return (void *)(intptr_t)wrong;
}

static void *endless(void *given)
{
    pthread_cleanup_push(clean_up, given);
    for (;;) pthread_testcancel(), usleep(1000);
    pthread_cleanup_pop(0);
    return 0;
}

static void *quits(void *given)
{
    pthread_cleanup_push(clean_up, given);
    usleep(10);
    pthread_exit((void *)(intptr_t)7);
    pthread_cleanup_pop(0);
    return 0;
}

static void *forks(void *given)
{
    own_word = 11;
    fflush(stdout);
    const pid_t child = fork();
    if (!child) { /* the only thread there is, and it may make others */
        pthread_t t;
        void *result;
        pthread_create(&t, 0, quits, (void *)1);
        pthread_join(t, &result);
        _exit(own_word + (int)(intptr_t)result + cleaned);
    }
    int status;
    waitpid(child, &status, 0);
    return (void *)(intptr_t)WEXITSTATUS(status);
}

static int run_belongings(void)
{
    pthread_t t[9];
    void *result;
    int wrong = 0;
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = nap_in_handler;
    sigaction(SIGUSR1, &action, 0);
    pthread_key_create(&own_key, at_thread_end);
    for (intptr_t i = 1; i < 9; i++) pthread_create(&t[i], 0, owner, (void *)i);
    for (int i = 1; i < 9; i++) pthread_join(t[i], &result), wrong += (int)(intptr_t)result;
    TELL("%d wrong, ends %d, napped with signal %d", wrong, ends_seen, caught);
    pthread_create(&t[0], 0, endless, (void *)5);
    usleep(500);
    pthread_cancel(t[0]);
    pthread_join(t[0], &result);
    TELL("cancelled %d, cleaned %d", result == PTHREAD_CANCELED, cleaned);
    cleaned = 0;
    pthread_create(&t[0], 0, forks, 0);
    pthread_join(t[0], &result);
    TELL("a child of a thread, with a thread: %d, cleaned here %d", (int)(intptr_t)result, cleaned);
    for (int i = 0; i < 20; i++) { /* it ends while only another process can go on */
        fflush(stdout);
        const pid_t child = fork();
        if (!child) {
            for (int j = 0; j < 3; j++) usleep(7), sched_yield();
            _exit(0);
        }
        pthread_create(&t[0], 0, quits, (void *)0);
        usleep(5);
        pthread_create(&t[1], 0, quits, (void *)0);
        waitpid(child, 0, 0);
        pthread_join(t[0], &result), pthread_join(t[1], &result);
    }
    pthread_attr_t alone;
    pthread_attr_init(&alone);
    pthread_attr_setdetachstate(&alone, PTHREAD_CREATE_DETACHED);
    char *first = 0;
    for (int i = 0; i < 2000; i++) { /* more than the run has places for */
        pthread_create(&t[0], i % 2 ? &alone : 0, quits, (void *)1);
        if (i % 2) usleep(20);
        else pthread_join(t[0], &result);
        if (!first) first = (char *)t[0];
        wrong += first != (char *)t[0];
    }
    TELL("%d cleaned, %d with storage elsewhere", cleaned, wrong);
    return 0;
}

/* ---- processes */
static int run_fork(const char *self)
{
    int down[2], up[2];
    if (pipe(down) || pipe(up)) return 1;
    TELL("I am %d, child of %d", getpid(), getppid());
    fflush(stdout);
    const pid_t child = fork();
    if (!child) {
        dup2(down[0], 0);
        dup2(up[1], 1);
        close(down[0]), close(down[1]), close(up[0]), close(up[1]);
        execl(self, self, "echo", (char *)0);
        _exit(99);
    }
    close(down[0]), close(up[1]);
    for (int i = 0; i < 3; i++) {
        char text[64];
        const int n = snprintf(text, sizeof text, "line %d\n", i);
        usleep(5000);
        if (write(down[1], text, (size_t)n) != n) return 1;
        const ssize_t got = read(up[0], text, sizeof text);
        TELL("child says: %.*s", (int)got - 1, text);
    }
    close(down[1]);
    int status;
    const pid_t ended = waitpid(child, &status, 0);
    TELL("child %d of %d ended with %d", ended, child, WEXITSTATUS(status));
    const pid_t doomed = fork();
    if (!doomed) for (;;) sleep(1000);
    usleep(1000);
    kill(doomed, SIGTERM);
    waitpid(doomed, &status, 0);
    TELL("signal %d ended the second", WTERMSIG(status));
    if (!fork()) abort();
    wait(&status);
    TELL("signal %d ended the third", WTERMSIG(status));
    fflush(stdout);
    TELL("shell: %d", WEXITSTATUS(system("sleep 0.25; echo from the shell; exit 3")));
    char line[64] = "";
    FILE *pipe_ = popen("echo one; sleep 0.1; echo two", "r");
    while (fgets(line, sizeof line, pipe_)) TELL("popen: %.3s", line);
    pclose(pipe_);
    return 0;
}

/* As many as a start-up script has, one after the other; each end of a pipe is seen at the moment its writer ends. */
static int run_children(long wanted)
{
    double waited = 0;
    pid_t last = 0;
    for (long i = 0; i < wanted; i++) {
        int pair[2];
        char text[8];
        if (pipe(pair)) return 1;
        last = fork();
        if (!last) {
            usleep(1000);
            if (write(pair[1], "x", 1) != 1) _exit(1);
            _exit(0);
        }
        close(pair[1]);
        const double before = now_s();
        while (read(pair[0], text, sizeof text) > 0) {}
        waited += now_s() - before;
        close(pair[0]);
        if (waitpid(last, 0, 0) != last) return 1;
    }
    TELL("%ld children, the last is %d, %.2f ms each", wanted, last, 1e3 * waited / (double)wanted);
    return 0;
}

static int run_echo(void)
{
    char text[64];
    for (ssize_t n; (n = read(0, text, sizeof text)) > 0;) {
        usleep(2000);
        if (write(1, text, (size_t)n) != n) return 1;
    }
    return 7;
}

/* ---- files that one waits for */
static void *poster(void *event)
{
    const uint64_t two = 2;
    for (int i = 0; i < 2; i++) {
        usleep(25000);
        if (write(*(int *)event, &two, 8) != 8) return 0;
    }
    return 0;
}

static int run_epoll(void)
{
    int all = epoll_create1(0), timer = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK), event = eventfd(0, EFD_NONBLOCK);
    struct epoll_event wanted = {EPOLLIN, {.fd = timer}};
    epoll_ctl(all, EPOLL_CTL_ADD, timer, &wanted);
    wanted.data.fd = event;
    epoll_ctl(all, EPOLL_CTL_ADD, event, &wanted);
    struct itimerspec every = {{0, 10000000}, {0, 15000000}};
    timerfd_settime(timer, 0, &every, 0);
    pthread_t t;
    pthread_create(&t, 0, poster, &event);
    for (int seen = 0; seen < 7;) {
        struct epoll_event got[4];
        const int n = epoll_wait(all, got, 4, 100);
        for (int i = 0; i < n; i++, seen++) {
            uint64_t count = 0;
            if (read(got[i].data.fd, &count, 8) != 8) return 1;
            TELL("%s %llu", got[i].data.fd == timer ? "timer" : "event", (unsigned long long)count);
        }
    }
    usleep(44000);
    uint64_t count = 0;
    if (read(timer, &count, 8) != 8) return 1;
    TELL("timer %llu", (unsigned long long)count);
    pthread_join(t, 0);
    struct pollfd one = {event, POLLIN, 0};
    TELL("poll: %d", poll(&one, 1, 33));
    fd_set set;
    FD_ZERO(&set);
    FD_SET(event, &set);
    struct timeval limit = {0, 21000};
    TELL("select: %d", select(event + 1, &set, 0, 0, &limit));
    return 0;
}

/* ---- two processes over the internet of this computer */
static struct sockaddr_in at(int port)
{
    struct sockaddr_in a;
    memset(&a, 0, sizeof a);
    a.sin_family = AF_INET;
    a.sin_port = htons((uint16_t)port);
    a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return a;
}

/* More messages at once than a queue of the kernel holds. */
static int run_chatter(long wanted)
{
    const int out = socket(AF_INET, SOCK_DGRAM, 0);
    struct sockaddr_in ground = at(14550);
    for (uint32_t i = 0; i < wanted; i++) sendto(out, &i, sizeof i, 0, (struct sockaddr *)&ground, sizeof ground);
    sleep(1000);
    return 0;
}

static int run_sockets(void)
{
    struct sockaddr_in server = at(4560), ground = at(14550), from;
    socklen_t size = sizeof from;
    char text[64];
    if (!fork()) { /* the server */
        int door = socket(AF_INET, SOCK_STREAM, 0), on = 1;
        setsockopt(door, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
        usleep(3000);
        if (bind(door, (struct sockaddr *)&server, sizeof server) || listen(door, 1)) _exit(1);
        int link = accept(door, (struct sockaddr *)&from, &size);
        for (ssize_t n; (n = recv(link, text, sizeof text, 0)) > 0;) {
            usleep(1000);
            send(link, text, (size_t)n, 0);
        }
        int datagrams = socket(AF_INET, SOCK_DGRAM, 0);
        sendto(datagrams, "goodbye", 7, 0, (struct sockaddr *)&ground, sizeof ground);
        _exit(0);
    }
    int listener = socket(AF_INET, SOCK_DGRAM, 0), link = -1;
    if (bind(listener, (struct sockaddr *)&ground, sizeof ground)) return 1;
    do {
        if (link >= 0) close(link);
        usleep(1000);
        link = socket(AF_INET, SOCK_STREAM, 0);
    } while (connect(link, (struct sockaddr *)&server, sizeof server));
    TELL("connected");
    for (int i = 0; i < 3; i++) {
        const int n = snprintf(text, sizeof text, "step %d", i);
        send(link, text, (size_t)n, 0);
        const ssize_t got = recv(link, text, sizeof text, 0);
        TELL("%.*s", (int)got, text);
    }
    close(link);
    ssize_t got = recvfrom(listener, text, sizeof text, 0, (struct sockaddr *)&from, &size);
    TELL("%.*s from %s:%d", (int)got, text, inet_ntoa(from.sin_addr), ntohs(from.sin_port));
    struct timeval limit = {0, 50000};
    setsockopt(listener, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    got = recv(listener, text, sizeof text, 0);
    TELL("nothing more: %zd %s", got, strerror(errno));
    wait(0);
    return 0;
}

/* ---- what is forbidden, and what must not vary */
static void tried(const char *what, int result)
{
    printf("%s: %s\n", what, result ? strerror(errno) : "done");
}

extern int reboot(int);
static int run_host(void)
{
    struct timespec when = {1, 0};
    struct timeval then = {1, 0};
    tried("clock_settime", clock_settime(CLOCK_REALTIME, &when));
    tried("settimeofday", settimeofday(&then, 0));
    tried("reboot", reboot(0));
    int f = socket(AF_INET, SOCK_DGRAM, 0), on = 1;
    tried("broadcast", setsockopt(f, SOL_SOCKET, SO_BROADCAST, &on, sizeof on));
    struct sockaddr_in away = at(14550);
    away.sin_addr.s_addr = inet_addr("192.0.2.1");
    tried("elsewhere", connect(f, (struct sockaddr *)&away, sizeof away));
    away.sin_addr.s_addr = inet_addr("255.255.255.255");
    tried("everybody", (int)sendto(f, "x", 1, 0, (struct sockaddr *)&away, sizeof away) < 0);
    tried("raw", socket(AF_INET, SOCK_RAW, 1) < 0);
    uint64_t dice[2] = {0, 0};
    int noise = open("/dev/urandom", O_RDONLY);
    if (getrandom(&dice[0], 8, 0) != 8 || read(noise, &dice[1], 8) != 8) return 1;
    struct stat about;
    stat("/proc/self/exe", &about);
    srand((unsigned)time(0));
    printf("%llx %llx %d user %d file %lld at %lld process %d room %d\n", (unsigned long long)dice[0], (unsigned long long)dice[1], rand(),
           (int)getuid(), (long long)about.st_mtime, (long long)time(0), getpid(), (int)sysconf(_SC_NPROCESSORS_ONLN));
    void *a = malloc(100), *b = malloc(200000);
    printf("%p %p %p\n", a, b, (void *)&about);
    return 0;
}

/* ---- autopilots: what they answer depends on their own threads, clocks and dice */
static volatile unsigned drift;
static void *wander(void *given)
{
    unsigned dice;
    for (;;) {
        if (getrandom(&dice, sizeof dice, 0) != sizeof dice) return given;
        usleep(500 + dice % 3000);
        pthread_mutex_lock(&guard);
        drift = (drift + dice % 7 + (unsigned)(1e6 * now_s()) % 5) % 100;
        pthread_mutex_unlock(&guard);
    }
}

static unsigned look_up(void)
{
    pthread_mutex_lock(&guard);
    const unsigned now = drift;
    pthread_mutex_unlock(&guard);
    return now;
}

static volatile sig_atomic_t told_to_end;
static void on_end(int sig) { told_to_end = sig; }

static int run_arducopter(int count, char **given)
{
    int port = 0;
    for (int i = 1; i < count - 1; i++)
        if (!strcmp(given[i], "--sim-port-out")) port = atoi(given[i + 1]);
    struct sockaddr_in simulator = at(port);
    struct {
        uint16_t magic, rate;
        uint32_t frame;
        uint16_t pwm[16];
    } out = {18458, 1000, 0, {0}};
    pthread_t t;
    pthread_create(&t, 0, wander, 0);
    usleep(20000); /* its start-up */
    int link = socket(AF_INET, SOCK_DGRAM, 0);
    while (!told_to_end) {
        char text[4096];
        for (int i = 0; i < 4; i++) out.pwm[i] = (uint16_t)(1400 + look_up() + (unsigned)i);
        sendto(link, &out, sizeof out, 0, (struct sockaddr *)&simulator, sizeof simulator);
        struct pollfd one = {link, POLLIN, 0};
        if (poll(&one, 1, 1000) > 0 && recv(link, text, sizeof text, 0) > 0) out.frame++;
    }
    printf("ended by signal %d after %u frames\n", told_to_end, out.frame);
    return 0;
}

static uint16_t crc_of(const uint8_t *at_, int size, uint16_t crc) /* X.25, as MAVLink has it */
{
    for (int i = 0; i < size; i++) {
        uint8_t c = at_[i] ^ (uint8_t)(crc & 255);
        c ^= (uint8_t)(c << 4);
        crc = (uint16_t)((crc >> 8) ^ (c << 8) ^ (c << 3) ^ (c >> 4));
    }
    return crc;
}

static void answer(int link, uint64_t time_us)
{
    static uint8_t number;
    uint8_t frame[12 + 81] = {0xFD, 81, 0, 0, number++, 1, 1, 93, 0, 0}, *payload = frame + 10;
    const uint64_t flags = 1;
    memcpy(payload, &time_us, 8);
    memcpy(payload + 8, &flags, 8);
    for (int i = 0; i < 4; i++) {
        const float value = 0.4f + 0.001f * (float)look_up();
        memcpy(payload + 16 + 4 * i, &value, 4);
    }
    payload[80] = 129;
    const uint8_t extra = 47;
    const uint16_t crc = crc_of(&extra, 1, crc_of(frame + 1, 90, 0xFFFF));
    memcpy(frame + 91, &crc, 2);
    send(link, frame, sizeof frame, 0);
}

static int run_px4(void)
{
    struct sockaddr_in simulator = at(4560);
    pthread_t t;
    pthread_create(&t, 0, wander, 0);
    if (system("sleep 0.05; echo started")) return 1; /* a start-up script */
    int link = socket(AF_INET, SOCK_STREAM, 0), on = 1;
    setsockopt(link, IPPROTO_TCP, 1, &on, sizeof on);
    while (connect(link, (struct sockaddr *)&simulator, sizeof simulator)) usleep(500);
    uint8_t kept[8192];
    int size = 0;
    while (!told_to_end) {
        struct pollfd one = {link, POLLIN, 0};
        if (poll(&one, 1, 1000) <= 0) continue;
        const ssize_t n = recv(link, kept + size, sizeof kept - (size_t)size, 0);
        if (n <= 0) break;
        size += (int)n;
        int used = 0;
        while (size - used >= 12 && size - used >= kept[used + 1] + 12) {
            const uint8_t *f = kept + used;
            uint64_t time_us;
            memcpy(&time_us, f + 10, 8);
            const int first = f[1] < 65 || f[10 + 64] == 0; /* unit 0; zeros at the end are cut */
            if (f[7] == 107 && f[8] == 0 && f[9] == 0 && first) answer(link, time_us);
            used += f[1] + 12;
        }
        memmove(kept, kept + used, (size_t)(size - used));
        size -= used;
    }
    printf("ended by signal %d\n", told_to_end);
    return 0;
}

int main(int count, char **given)
{
    const char *what = count > 1 ? given[1] : "", *name = strrchr(given[0], '/');
    signal(SIGTERM, on_end);
    if (name && !strcmp(name, "/arducopter")) return run_arducopter(count, given);
    if (name && !strcmp(name, "/px4")) return run_px4();
    signal(SIGTERM, SIG_DFL);
    setvbuf(stdout, 0, _IOLBF, 0);
    begin_s = now_s();
    if (!strcmp(what, "torture")) return run_torture(count > 2 ? atol(given[2]) : 100);
    if (!strcmp(what, "race")) return run_race();
    if (!strcmp(what, "deadlock")) return run_deadlock();
    if (!strcmp(what, "spin")) return run_spin();
    if (!strcmp(what, "clock")) return run_spin_on_clock();
    if (!strcmp(what, "sleepers")) return run_sleepers();
    if (!strcmp(what, "conditions")) return run_conditions();
    if (!strcmp(what, "signals")) return run_signals();
    if (!strcmp(what, "belongings")) return run_belongings();
    if (!strcmp(what, "fork")) return run_fork(given[0]);
    if (!strcmp(what, "children")) return run_children(atol(given[2]));
    if (!strcmp(what, "chatter")) return run_chatter(atol(given[2]));
    if (!strcmp(what, "echo")) return run_echo();
    if (!strcmp(what, "epoll")) return run_epoll();
    if (!strcmp(what, "sockets")) return run_sockets();
    if (!strcmp(what, "host")) return run_host();
    return 2;
}
