/*
 * How long a leaky bucket takes for what a request costs, in whole nanoseconds.
 *
 * What is left over is carried to the next request: 512 bytes take 51.2 ns at 10 GB/s, and without
 * the fifth of a nanosecond the disk would be faster than declared.
 */
#include <assert.h>

#include "bucket.h"
#include "clock.h"

/* Returns how long a cost takes to leak, in whole nanoseconds, at most LONGEST_NS. `cost`: I/Os or
 * bytes. `rate`: how many of them leak in a second. `fraction_ns`: what earlier requests have left
 * over, from 0 to below 1; afterwards, what this one has. */
int64_t leak_ns(int64_t cost, double rate, double *fraction_ns)
{
    assert(cost >= 0 && rate > 0);
    assert(*fraction_ns >= 0 && *fraction_ns < 1);
    double exact_ns = (double)cost * NS_PER_S / rate + *fraction_ns;
    int64_t takes_ns = whole_ns(exact_ns);
    *fraction_ns = takes_ns < LONGEST_NS ? exact_ns - (double)takes_ns : 0;
    return takes_ns;
}
