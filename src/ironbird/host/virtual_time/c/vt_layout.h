/* What the processes of a run share, in one mapped file: clock, threads, whose turn it is.
 *
 * Only the thread that holds the baton writes here, so nothing is locked. `vt_head` is mirrored in Python (`run.py`),
 * which compares sizes when a run begins.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/auxv.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <sys/times.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <ucontext.h>

#define EXPORT __attribute__((visibility("default")))
#define NEVER UINT64_MAX
#define SLOTS 1024     /* threads of all processes of a run */
#define QUEUE 4096     /* entries, valid or void: more than threads */
#define PROCESSES 256 /* at the same time */
#define TIMERS 64
#define PORTS 65536
#define FILES 4096     /* handles of a process that are known by what they are */
#define SECOND 1000000000ull

enum vt_state { FREE, RUNNABLE, WAITING, ENDED };
enum vt_kind { W_NONE, W_SLEEP, W_MUTEX, W_COND, W_JOIN, W_SEM, W_BARRIER, W_RWLOCK, W_ONCE, W_FUTEX, W_FILES, W_CHILD, W_SIGNAL, W_HORIZON };
enum vt_why { WOKEN, TIMED_OUT, SIGNALLED };
enum vt_failure { NO_FAILURE, DEADLOCK, TOO_MANY, NOT_KNOWN };

typedef struct {
    uint64_t magic, size; /* of this structure */
    uint64_t now_ns;      /* virtual time since the start of the run */
    uint64_t grant_ns;    /* the simulator allows time to run up to here; NEVER: there is none */
    uint64_t epoch_ns;    /* calendar time at the start */
    uint64_t seed;
    uint64_t slack_ns;    /* sleeps end at multiples of this, as those of a computer end late; 0: when they should */
    uint64_t switches, calls, jumps; /* from thread to thread; asked of us; of the clock */
    uint64_t trace;       /* a hash of every switch: which thread, when, why */
    uint64_t sent;        /* messages that left for a socket of the run */
    uint64_t turn;        /* 1: the simulator's; a futex (its low half) */
    uint64_t full;        /* with the turn: only to empty its sockets, no time has passed */
    uint64_t holder;      /* slot of the thread that runs */
    uint64_t ended;       /* no process is left */
    uint64_t failure;
    uint64_t order_signal; /* from the simulator, for the first process */
    uint64_t threads, processes; /* so many slots were used */
    uint64_t timers;      /* in use */
    uint64_t want_room;   /* threads that wait until they can write */
    uint64_t waiting[16]; /* threads that wait, by kind */
    uint64_t file_changes, files_looked_at, order, next_port, rescuer;
    uint64_t started;     /* processes so far: places of those that ended are used again, their numbers are not */
    uint64_t slots_at, slot_size; /* where the threads stand in the file */
    uint64_t thread_state; /* of the random order of threads; 0: first come, first served */
    char text[1024];      /* what failed */
} vt_head;

typedef struct {
    uint32_t go; /* a futex: its kernel thread takes it up again, for its end */
    uint32_t state, kind, why;
    int32_t pid, tid, runner; /* tid: of its kernel thread, which parks; runner: of the one that runs it */
    char name[16];            /* empty: that of its kernel thread. `run.py` reads up to here */
    uint32_t process, execing, detached, raising;
    uint32_t got; /* the signal that it waited for */
    uint64_t order, asked;
    uint64_t pending, mask, wanted; /* signals: bit n - 1 */
    uint64_t files_seen;
    struct pollfd *files; /* in the memory of its process */
    uint64_t files_count;
    uint64_t calls, pinned, used_ns;
    uint64_t thread; /* pthread_t */
    uint64_t stack, fs; /* where it goes on, in the memory of its process */
    uint64_t handling, kernel_mask; /* handlers of signals that it is in; what the kernel had blocked when it left */
} vt_slot;

typedef struct {
    int32_t pid, parent; /* parent: its place here */
    uint32_t number;     /* what it believes to be its pid */
    uint32_t finished, reaped;
    uint64_t handled;    /* signals for which it has a handler */
    uint32_t go;         /* a futex: the baton is handed over, the holder is one of its threads */
} vt_process;

typedef struct {
    uint64_t used, process, next, interval, signal;
    uint64_t overrun;
} vt_timer;

typedef struct {
    uint64_t order; /* of the thread when it joined: if it has another one now, this entry is void */
    uint64_t slot;
} vt_entry;

typedef struct {
    vt_head head;
    uint64_t simulator_ports[PORTS / 64]; /* UDP ports that were opened, one bit each; `run.py` writes here */
    uint64_t deadline[SLOTS]; /* of threads that wait, else NEVER; one after the other, as all are looked at often */
    uint64_t key[SLOTS];      /* what they wait for, else 0 */
    uint64_t program_ports[PORTS / 64];
    uint64_t queue_first, queue_end;
    vt_entry queue[QUEUE];    /* threads that can run, first come, first served */
    vt_process process[PROCESSES];
    vt_timer timer[TIMERS];
    vt_slot slot[SLOTS];
} vt_run;
_Static_assert(sizeof(vt_run) <= 1 << 20, "the file of a run is as large as run.py makes it");

#define MAGIC 0x656d695469567249ull
#define STARTER 2 /* pid of whoever started the first process, outside the run */
#define FIRST_NUMBER 100 /* pid of the first process, as it sees itself */
