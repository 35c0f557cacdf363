/* How long the disk takes for a request: a constant, or drawn from a table; more in slow epochs.
 * Callers hold the disk's lock, which is asserted, except of `prepare_tables`. */
#ifndef LATENCY_H
#define LATENCY_H

#include <stdint.h>

#include "limits.h"

#define MOST_POINTS 1024

/* An inverse distribution: latencies at rising probabilities from 0 to 1, straight between them. */
struct table {
    int points; /* 0 = none: the latency is constant */
    double probability[MOST_POINTS], latency_us[MOST_POINTS];
};

const char *read_table(const char *path, struct table *table);
double quantile_us(const struct table *table, double probability);

const char *prepare_tables(const char *read_path, const char *write_path);
void use_tables(void);
int table_points(enum direction direction);
void begin_draws(const struct limits *limits, int64_t at_ns);
double next_latency_us(enum direction direction, const struct limits *limits, int64_t at_ns);
double drawn_s(enum direction direction, uint64_t *count);
double slow_s(const struct limits *limits, int64_t at_ns, double *drawing_s);

#endif
