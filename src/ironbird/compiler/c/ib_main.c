/* A model as a program of its own: reads a run from standard input, writes its log and final state to standard output.
 * Used to run a kernel that was cross-compiled for another machine. It needs no C library, only three calls of the
 * Linux kernel. The model's source is included by -DIB_MODEL. */
#include <stddef.h>
#include IB_MODEL

#if defined(__aarch64__)
enum { SYS_READ = 63, SYS_WRITE = 64, SYS_EXIT = 93, SYS_MMAP = 222 };
static long call(long n, long a, long b, long c, long d, long e, long f) {
  register long x8 __asm__("x8") = n, x0 __asm__("x0") = a, x1 __asm__("x1") = b, x2 __asm__("x2") = c;
  register long x3 __asm__("x3") = d, x4 __asm__("x4") = e, x5 __asm__("x5") = f;
  __asm__ volatile("svc #0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5) : "memory");
  return x0;
}
#elif defined(__x86_64__)
enum { SYS_READ = 0, SYS_WRITE = 1, SYS_EXIT = 60, SYS_MMAP = 9 };
static long call(long n, long a, long b, long c, long d, long e, long f) {
  long result;
  register long r10 __asm__("r10") = d, r8 __asm__("r8") = e, r9 __asm__("r9") = f;
  __asm__ volatile("syscall" : "=a"(result) : "a"(n), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                   : "rcx", "r11", "memory");
  return result;
}
#else
#error "ib_main.c knows the system calls of aarch64 and x86_64 only"
#endif

static void leave(int code) {
  for (;;) call(SYS_EXIT, code, 0, 0, 0, 0, 0);
}

static void *room(size_t size) { /* fresh pages, zero, aligned */
  const long p = call(SYS_MMAP, 0, (long)size + 64, 3, 0x22, -1, 0);
  if (p < 0 && p > -4096) leave(3);
  return (void *)p;
}

static void *take(size_t size) {
  char *memory = room(size);
  for (size_t done = 0; done < size;) {
    const long n = call(SYS_READ, 0, (long)(memory + done), (long)(size - done), 0, 0, 0);
    if (n <= 0) leave(2); /* the run on standard input is too short */
    done += (size_t)n;
  }
  return memory;
}

static void give(const void *from, size_t size) {
  for (size_t done = 0; done < size;) {
    const long n = call(SYS_WRITE, 1, (long)((const char *)from + done), (long)(size - done), 0, 0, 0);
    if (n <= 0) leave(4);
    done += (size_t)n;
  }
}

static void run_from_input(void) {
  /* blocks, tick, ticks, events, log_every, log_rows, log_count, sizes of code, constants, code_first */
  const int64_t *head = take(10 * sizeof(int64_t));
  const int64_t blocks = head[0], lanes = blocks * IB_W;
  ib_run_args r = {0};
  r.last_block = blocks;
  r.tick = head[1];
  r.ticks = head[2];
  r.log_every = head[4];
  r.log_rows = head[5];
  r.log_count = head[6];
  r.x = take(lanes * IB_NX * sizeof(double));
  r.xd = take(lanes * IB_NXD * sizeof(double));
  r.held = take(lanes * IB_NHELD * sizeof(double));
  r.param = take(lanes * IB_NP * sizeof(double));
  r.input = take(lanes * IB_NU * sizeof(double));
  r.seed = take(lanes * sizeof(uint64_t));
  r.stop_tick = take(lanes * sizeof(int64_t));
  r.stop_reason = take(lanes * sizeof(int64_t));
  r.stop_row = take(lanes * sizeof(int64_t));
  r.events = take(head[3] * sizeof(ib_event));
  r.event_first = take((blocks + 1) * sizeof(int64_t));
  r.log_index = take(r.log_count * sizeof(int64_t));
  r.event_fired = take(head[3] * sizeof(int64_t));
  r.triggers.code = take(head[7] * sizeof(int64_t));
  r.triggers.constants = take(head[8] * sizeof(double));
  r.triggers.first = take(head[9] * sizeof(int64_t));
  const size_t size = (size_t)lanes * r.log_rows * r.log_count;
  r.log = room(size * sizeof(double));
  for (size_t i = 0; i < size; ++i) r.log[i] = __builtin_nan("");
  ib_run(&r);
  give(r.log, size * sizeof(double));
  give(r.stop_tick, (size_t)lanes * sizeof(int64_t));
}

void *memcpy(void *restrict to, const void *restrict from, size_t n) {
  for (size_t i = 0; i < n; ++i) ((volatile char *)to)[i] = ((const char *)from)[i];
  return to;
}

void *memset(void *to, int value, size_t n) {
  for (size_t i = 0; i < n; ++i) ((volatile char *)to)[i] = (char)value;
  return to;
}

__attribute__((used, noreturn)) void begin(void) {
  run_from_input();
  leave(0);
  __builtin_unreachable();
}

/* The kernel enters with an aligned stack on both machines; keep it so. */
#if defined(__aarch64__)
__asm__(".text\n.globl _start\n_start:\n  mov x29, #0\n  mov x30, #0\n  b begin\n");
#else
__asm__(".text\n.globl _start\n_start:\n  xor %ebp, %ebp\n  and $-64, %rsp\n  call begin\n");
#endif
