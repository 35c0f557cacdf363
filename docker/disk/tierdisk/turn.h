/* One request's turn: charged to the limits, counted, answered when the latency has passed. */
#ifndef TURN_H
#define TURN_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

#include "limits.h"

/* late: woken after the moment asked for; over: the host alone took longer than the tier may, if
 * the tier has a latency (without one, any time at all would be longer); took: from coming to
 * answer, of those that are answered. */
struct counters {
    double ops, bytes, waited_ns, late_ns, host_ns, over, answered, took_ns;
};

/* What requests and questions share; `lock` guards all of it and the buckets. */
struct disk {
    pthread_mutex_t lock;
    struct limits limits;
    struct counters counters[DIRECTIONS];
    double flushes;
    double host_errors; /* requests that the host could not store: its disk is full or broken */
    size_t request_bytes; /* the largest request that the kernel sends; set once */
    bool io_flusher;      /* whether the kernel knows that dirty pages go through us; set once */
};
extern struct disk disk;

struct turn {
    enum direction direction;
    int sleep_class;
    bool timed;
    double came_ns, due_ns, early_ns;
};

struct turn begin_turn(enum direction direction, size_t bytes);
void finish_turn(const struct turn *turn);

#endif
