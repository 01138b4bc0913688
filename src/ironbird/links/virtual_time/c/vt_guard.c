/* What a program of a run cannot do: set the clock, restart the machine, reach a network. The kernel refuses it with
 * EPERM, whatever way it is asked, also to children that are not under the library. */
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>

#define REFUSE(number) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM)

static void guard_host(void)
{
    struct sock_filter rules[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AUDIT_ARCH_X86_64, 1, 0),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, 0x40000000, 0, 1), /* the x32 names of the same calls */
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
        REFUSE(SYS_clock_settime), REFUSE(SYS_settimeofday), REFUSE(SYS_adjtimex), REFUSE(SYS_clock_adjtime), REFUSE(SYS_reboot),
        REFUSE(SYS_sethostname), REFUSE(SYS_setdomainname), REFUSE(SYS_mount), REFUSE(SYS_umount2), REFUSE(SYS_kexec_load),
        REFUSE(SYS_init_module), REFUSE(SYS_finit_module), REFUSE(SYS_ptrace), REFUSE(SYS_io_uring_setup),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_socket, 0, 3), /* only local sockets */
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[0])),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AF_UNIX, 1, 0),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    const struct sock_fprog filter = {sizeof rules / sizeof *rules, rules};
    if (K(SYS_prctl, PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || K(SYS_prctl, PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter)) {
        say("ironbird virtual time: the kernel takes no filter of calls (seccomp): the host cannot be guarded\n");
        K(SYS_exit_group, 126);
    }
}

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
