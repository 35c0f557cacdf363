/* The monotonic clock in nanoseconds, and sleeping until one of its moments. */
#ifndef CLOCK_H
#define CLOCK_H

#include <stdint.h>

#define NS_PER_S 1000000000
#define NS_PER_US 1000

int64_t now_ns(void);
void sleep_until_ns(int64_t moment_ns);

#endif
