/* Going from thread to thread of a process without the kernel.
 *
 * Only one thread of a run goes on at a time, so one kernel thread, the carrier, is enough for all threads of a process:
 * it takes up the stack, the registers and the thread-local storage (fs base) of the one whose turn it is. That takes
 * some 20 ns; a futex from one kernel thread to another takes microseconds, and tens of them if the other processor
 * sleeps. Threads are made by the C library as ever, so that stack, guard page and storage are its own; the kernel thread
 * that comes with each parks on a small stack beside, and takes its thread up again for the thread's end, which is the C
 * library's. What the kernel keeps for each of its threads is the carrier's: the mask of signals is changed with the
 * thread if they differ; alternative stacks for signals (sigaltstack) and the processor's number of restartable sequences
 * are not. Threads that are found out by their kernel thread (a debugger, /proc) are seen parked.
 */
#define PARK_STACK 32768
#define HWCAP2_FSGSBASE 2

/* vt_exchange(where to keep the stack, the stack to go to, its fs base, whether the processor may set that) */
__asm__(".text\n"
        ".p2align 4\n"
        ".type vt_exchange, @function\n"
        "vt_exchange:\n"
        "    pushq %rbp\n    pushq %rbx\n    pushq %r12\n    pushq %r13\n    pushq %r14\n    pushq %r15\n"
        "    subq $8, %rsp\n"
        "    stmxcsr (%rsp)\n"
        "    fnstcw 4(%rsp)\n"
        "    movq %rsp, (%rdi)\n"
        "    movq %rsi, %rsp\n"
        "    testl %ecx, %ecx\n"
        "    jz 1f\n"
        "    wrfsbase %rdx\n"
        "    jmp 2f\n"
        "1:  movl $158, %eax\n"    /* arch_prctl */
        "    movl $0x1002, %edi\n" /* ARCH_SET_FS */
        "    movq %rdx, %rsi\n"
        "    syscall\n"
        "2:  ldmxcsr (%rsp)\n"
        "    fldcw 4(%rsp)\n"
        "    addq $8, %rsp\n"
        "    popq %r15\n    popq %r14\n    popq %r13\n    popq %r12\n    popq %rbx\n    popq %rbp\n"
        "    retq\n"
        ".size vt_exchange, .-vt_exchange\n");
extern void vt_exchange(uint64_t *keep, uint64_t to, uint64_t fs, int may_set) __attribute__((visibility("hidden")));

static int may_set_fs = -1;

static uint64_t own_fs(void)
{
    uint64_t fs; /* the first word of the storage is its own address (the ABI of x86-64) */
    __asm__("movq %%fs:0, %0" : "=r"(fs));
    return fs;
}

static void exchange(uint64_t *keep, uint64_t to, uint64_t fs)
{
    if (may_set_fs < 0) may_set_fs = (getauxval(AT_HWCAP2) & HWCAP2_FSGSBASE) != 0;
    vt_exchange(keep, to, fs, may_set_fs);
}

/* A stack that begins with a function when it is gone to. */
static uint64_t stack_for(char **room, void (*function)(void))
{
    if (!*room) {
        void *made = mmap(0, PARK_STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
        if (made == MAP_FAILED) {
            say("ironbird virtual time: no memory for the stack of a thread\n");
            K(SYS_exit_group, 126);
        }
        *room = made;
    }
    uint64_t *top = (uint64_t *)(*room + PARK_STACK) - 11;
    memset(top, 0, 88);
    __asm__ volatile("stmxcsr %0; fnstcw %1" : "=m"(*(uint32_t *)top), "=m"(*((uint16_t *)top + 2)));
    top[7] = (uint64_t)function; /* its stack is then as after a call: 8 beside a multiple of 16 */
    return (uint64_t)top;
}
