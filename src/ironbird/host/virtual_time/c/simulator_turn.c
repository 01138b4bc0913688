/* The simulator's side of taking turns with the programs of a run.
 *
 * Both wait for each other at each step. If the other one's processor sleeps meanwhile, waking it takes tens of
 * microseconds, several times what a step takes: so both are held on one processor, where handing over is a switch of some
 * 2 us. They follow the simulator to wherever it is, and now and then are free for some steps, so that the system can
 * spread several runs over its processors. The simulator's own thread is held only while it waits: what it starts
 * meanwhile would inherit that.
 */
#define SYS_FUTEX 202
#define SYS_SETAFFINITY 203
#define SYS_GETAFFINITY 204
#define SYS_GETCPU 309
#define HELD_WAITS 512 /* of so many */
#define FREE_WAITS 8   /* these are free */
#define MASK_WORDS 16  /* 1024 processors */

typedef struct {
    volatile uint32_t *turn;
    volatile uint64_t *grant;
    int64_t slice_ns, carrier, place, waits; /* carrier: kernel thread of the program; place: processor that it is held on */
    uint64_t anywhere[MASK_WORDS];
} ib_turn;

LAYOUT(FIELD(ib_turn, turn), FIELD(ib_turn, grant), FIELD(ib_turn, slice_ns), FIELD(ib_turn, carrier), FIELD(ib_turn, place),
       FIELD(ib_turn, waits), FIELD(ib_turn, anywhere), SIZE(ib_turn))

static int64_t kernel(int64_t n, int64_t a, int64_t b, int64_t c, int64_t d)
{
    int64_t r;
    register int64_t r10 __asm__("r10") = d;
    __asm__ volatile("syscall" : "=a"(r) : "a"(n), "D"(a), "S"(b), "d"(c), "r"(r10) : "rcx", "r11", "memory");
    return r;
}

static void hold(int64_t thread, const uint64_t *mask) { kernel(SYS_SETAFFINITY, thread, 8 * MASK_WORDS, (int64_t)mask, 0); }

static void wait_in_kernel(ib_turn *t)
{
    const int64_t limit[2] = {t->slice_ns / 1000000000, t->slice_ns % 1000000000};
    kernel(SYS_FUTEX, (int64_t)t->turn, 0, 0, (int64_t)limit); /* FUTEX_WAIT while it is 0 */
}

/* Let the programs run up to a moment. */
__attribute__((visibility("default"))) void ib_turn_allow(ib_turn *t, uint64_t grant)
{
    if (grant > *t->grant) *t->grant = grant;
    __atomic_store_n(t->turn, 0, __ATOMIC_SEQ_CST);
    kernel(SYS_FUTEX, (int64_t)t->turn, 1, 1, 0); /* FUTEX_WAKE */
}

/* Whether the turn is the simulator's, after at most a slice of time. */
__attribute__((visibility("default"))) int64_t ib_turn_wait(ib_turn *t)
{
    if (__atomic_load_n(t->turn, __ATOMIC_SEQ_CST)) return 1;
    const int64_t number = t->waits++ % HELD_WAITS;
    uint32_t here = 0;
    if (number == 0 && t->carrier) {
        for (int i = 0; i < MASK_WORDS; i++) t->anywhere[i] = 0;
        kernel(SYS_GETAFFINITY, 0, 8 * MASK_WORDS, (int64_t)t->anywhere, 0);
    }
    if (!t->carrier || number < FREE_WAITS || kernel(SYS_GETCPU, (int64_t)&here, 0, 0, 0) || here >= 64 * MASK_WORDS) {
        if (t->carrier && t->place >= 0) hold(t->carrier, t->anywhere);
        t->place = -1;
        wait_in_kernel(t);
    } else {
        uint64_t only[MASK_WORDS] = {0};
        only[here / 64] = 1ull << here % 64;
        if (t->place != here) hold(t->carrier, only);
        t->place = here;
        hold(0, only);
        if (!__atomic_load_n(t->turn, __ATOMIC_SEQ_CST)) wait_in_kernel(t);
        hold(0, t->anywhere);
    }
    return __atomic_load_n(t->turn, __ATOMIC_SEQ_CST) != 0;
}
