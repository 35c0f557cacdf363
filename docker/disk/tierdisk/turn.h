/* One request's turn: charged to the limits, counted, answered when the latency has passed. */
#ifndef TURN_H
#define TURN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "limits.h"

/* The largest request that any tier has: its I/O unit, where that is large. */
#define LARGEST_REQUEST_BYTES 1048576
#define SMALL_REQUEST_BYTES 262144

/* Of one direction, since the start. */
struct counters {
    uint64_t ops, bytes;
    uint64_t answered;
    uint64_t over;     /* the host alone took longer than the tier's latency, if it has one */
    int64_t waited_ns; /* for the limits */
    int64_t host_ns;   /* until the host had moved the bytes */
    int64_t late_ns;   /* woken after the moment asked for */
    int64_t took_ns;   /* from coming to answer, of those that are answered */
};

/* What requests and questions share; the disk's lock guards all of it, but for what is set once. */
struct disk {
    struct limits limits;
    struct counters counters[DIRECTIONS];
    uint64_t flushes;
    uint64_t host_errors; /* requests that the host could not store: its disk is full or broken */
    size_t request_bytes; /* the largest request that the kernel sends; set once */
    bool io_flusher;      /* whether the kernel knows that dirty pages go through us; set once */
};
extern struct disk disk;

struct turn {
    enum direction direction;
    int sleep_class;
    bool is_timed; /* whether the tier has a latency */
    int64_t came_ns, due_ns;
    int64_t let_in_ns; /* when it came, or a stall ended after that */
    int64_t lead_ns; /* how much earlier the sleep is asked to end */
};

void begin_disk(const struct limits *limits);
void begin_stall(double length_s, int64_t at_ns);
void await_stall(void);
struct turn begin_turn(enum direction direction, size_t bytes);
void finish_turn(const struct turn *turn);

#endif
