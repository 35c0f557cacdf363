/* When a request may start. Callers hold the disk's lock, which is asserted. */
#ifndef THROTTLE_H
#define THROTTLE_H

#include <stdint.h>

#include "limits.h"

enum resource { IOPS, BYTES, RESOURCES };

void shape_buckets(const struct limits *limits, int64_t at_ns);
void set_credit(double percent_left, int64_t at_ns);
double credit_left(enum resource resource, int64_t at_ns);
int64_t admit(int64_t at_ns, int64_t bytes);

#endif
