/* The system's monotonic clock for native code that is linked against nothing: clock_gettime(2) is handed in. */
#ifndef IB_CLOCK_H
#define IB_CLOCK_H
#include <stdint.h>

#define IB_MONOTONIC 1 /* CLOCK_MONOTONIC of Linux */
#define IB_SECOND INT64_C(1000000000)

struct ib_time {
    int64_t s, ns;
};

typedef int ib_clock(int, struct ib_time *);

static inline int64_t ib_now_ns(ib_clock *clock)
{
    struct ib_time t;
    clock(IB_MONOTONIC, &t);
    return t.s * IB_SECOND + t.ns;
}
#endif
