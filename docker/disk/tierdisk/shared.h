/* Limits that several disks have together. */
#ifndef SHARED_H
#define SHARED_H

#include "throttle.h"

void open_shared(const char *path);
int64_t admit_shared(const struct limits *limits, int64_t at_ns, const int64_t costs[RESOURCES]);

#endif
