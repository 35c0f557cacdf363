/* Limits that several disks have together. */
#ifndef SHARED_H
#define SHARED_H

#include "throttle.h"

void open_shared(const char *path);
double admit_shared(const struct limits *limits, double now, const double costs[RESOURCES]);

#endif
