/* When a request may start. Callers hold the disk's lock. */
#ifndef THROTTLE_H
#define THROTTLE_H

#include "limits.h"

enum resource { IOPS, BYTES, RESOURCES };

void shape_buckets(const struct limits *limits, double now);
void set_credit(double percent_left, double now);
double credit_left(enum resource resource, double now);
double admit(double now, double bytes);

#endif
