/* How long a leaky bucket takes for what a request costs. */
#ifndef BUCKET_H
#define BUCKET_H

#include <stdint.h>

int64_t leak_ns(int64_t cost, double rate, double *fraction_ns);

#endif
