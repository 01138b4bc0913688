/* What a program of a run cannot do: set the clock, restart the machine, reach a network. The kernel refuses it with
 * EPERM, whatever way it is asked, also to children that are not under the library. */
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>

#define REFUSE(number) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM)

static void guard_host(int local)
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
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_socket, 0, 5), /* only local sockets, or those of the internet protocols */
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[0])),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AF_UNIX, 3, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, local ? AF_UNIX : AF_INET, 2, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, local ? AF_UNIX : AF_INET6, 1, 0),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    const struct sock_fprog filter = {sizeof rules / sizeof *rules, rules};
    if (K(SYS_prctl, PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || K(SYS_prctl, PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter)) {
        say("ironbird: the kernel takes no filter of calls (seccomp): the host cannot be guarded\n");
        K(SYS_exit_group, 126);
    }
}
