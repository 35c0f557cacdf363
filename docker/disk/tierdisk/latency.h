/* How long the disk takes for a request: a constant, or drawn from a table; more in slow epochs.
 * Callers hold the disk's lock, except of `prepare_tables`. */
#ifndef LATENCY_H
#define LATENCY_H

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
void begin_draws(const struct limits *limits, double now);
double next_latency_us(enum direction direction, const struct limits *limits, double now);
double drawn_s(enum direction direction, double *count);
double slow_s(const struct limits *limits, double now, double *of_s);

#endif
