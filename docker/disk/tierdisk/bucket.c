/*
 * How long a leaky bucket takes for what a request costs, in whole nanoseconds.
 *
 * What is left over is carried to the next request: 512 bytes take 51.2 ns at 10 GB/s, and without
 * the fifth of a nanosecond the disk would be faster than declared.
 */
#include <assert.h>
#include <math.h>

#include "bucket.h"
#include "clock.h"

int64_t max_ns(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

int64_t min_ns(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* cost: I/Os or bytes. rate: of those that leak in a second. fraction_ns: what earlier requests
 * have left over, 0 to below 1; and this one. */
int64_t leak_ns(int64_t cost, double rate, double *fraction_ns)
{
    assert(cost >= 0 && rate > 0);
    assert(*fraction_ns >= 0 && *fraction_ns < 1);
    double takes_ns = cost * (double)NS_PER_S / rate + *fraction_ns;
    double whole_ns = floor(takes_ns);
    *fraction_ns = takes_ns - whole_ns;
    return (int64_t)whole_ns;
}
