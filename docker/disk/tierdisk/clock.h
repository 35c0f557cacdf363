/* The monotonic clock in nanoseconds, and sleeping until one of its moments. */
#ifndef CLOCK_H
#define CLOCK_H

#include <stdint.h>

#define NS_PER_S 1000000000
#define NS_PER_US 1000

/* No duration is longer than 36 years, and no moment later than 73 years after the machine's start:
 * so the sum of a moment and two durations stays within 64 bits. */
#define LONGEST_NS ((int64_t)1 << 60)
#define LATEST_NS ((int64_t)1 << 61)

int64_t now_ns(void);
void sleep_until_ns(int64_t moment_ns);

static inline int64_t max_ns(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static inline int64_t min_ns(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* A sum of durations, which stays at the largest number there is. */
static inline int64_t add_ns(int64_t a, int64_t b)
{
    int64_t sum;
    return __builtin_add_overflow(a, b, &sum) ? INT64_MAX : sum;
}

/* A duration of 0 or more as whole nanoseconds, rounded down; at most LONGEST_NS. */
static inline int64_t whole_ns(double duration_ns)
{
    return duration_ns < (double)LONGEST_NS ? (int64_t)duration_ns : LONGEST_NS;
}

#endif
