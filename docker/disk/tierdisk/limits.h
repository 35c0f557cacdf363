/* The limits that a tier declares, as one struct with a name for each field. */
#ifndef LIMITS_H
#define LIMITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum direction { READ, WRITE, DIRECTIONS };
extern const char *const direction_names[DIRECTIONS];

/* 0 = unlimited. A burst length is how many seconds a full bucket holds the burst. Rates and times
 * need not be whole; what is counted is. */
struct limits {
    double iops, bytes_per_s;
    double iops_burst, iops_burst_length;
    double bytes_burst, bytes_burst_length;
    double shared_iops, shared_bytes_per_s; /* of all disks together */
    int64_t io_unit;                   /* bytes: a larger I/O counts as one for each unit begun */
    double latency_us[DIRECTIONS];     /* as seen by the user of the device */
    double overhead_us[DIRECTIONS];    /* what loop and FUSE cost already, */
    double overhead_slope[DIRECTIONS]; /* and more per us of latency: deeper sleeps */
    int64_t latency_seed;              /* of what is drawn: latencies and epochs */
    double slow_factor;                /* latency in slow epochs; 1 = there are none */
    double slow_dwell_s, good_dwell_s; /* mean lengths of slow epochs and of those between */
    double credit_ms;                  /* how far an idle disk without burst may run ahead */
    double burst_start;                /* percent of the bucket at the start */
    double stall_s;                    /* nothing is let in for so long, from when it is set */
    bool flush;                        /* whether a flush reaches the host's disk */
};

extern const struct limits DEFAULT_LIMITS;

const char *assign_limit(struct limits *limits, const char *text);
const char *check_limits(const struct limits *limits);
int print_limits(const struct limits *limits, char *out, size_t room);
bool starts_with(const char *text, const char *beginning);

#endif
