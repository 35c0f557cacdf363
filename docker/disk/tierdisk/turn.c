/*
 * One request's turn: charged to the limits, counted, answered when the latency has passed.
 *
 * An idle processor takes its time to wake up, the longer it has slept: a quarter of a fast disk's
 * latency. So a sleep is asked for that ends earlier by what sleeps in its direction usually end
 * late, their running median, which as many answers miss on one side as on the other.
 */
#include <math.h>

#include "clock.h"
#include "throttle.h"
#include "turn.h"

#define MOST_EARLY_NS 200e3
#define EARLY_STEP_NS 1e3

/* Beyond this no processor sleeps deeper, and the overhead is a small part of the latency. */
#define DEEPEST_SLEEP_US 2000.0

struct disk disk = {.lock = PTHREAD_MUTEX_INITIALIZER};
static double early_ns[DIRECTIONS];

/* What loop and FUSE will add to a request that takes so long here. */
static double overhead_us(enum direction direction, double latency_us)
{
    const struct limits *l = &disk.limits;
    double slept_us = fmin(latency_us, DEEPEST_SLEEP_US);
    return l->overhead_us[direction] + l->overhead_slope[direction] * slept_us;
}

/* Charges a request that has just come, and says when its answer is due. */
struct turn begin_turn(enum direction direction, size_t bytes)
{
    struct turn turn = {.direction = direction, .came_ns = now_ns()};
    pthread_mutex_lock(&disk.lock);
    double start_ns = admit(turn.came_ns, bytes);
    double latency_us = disk.limits.latency_us[direction];
    turn.due_ns = start_ns + fmax(0, latency_us - overhead_us(direction, latency_us)) * 1e3;
    turn.timed = latency_us > 0;
    turn.early_ns = early_ns[direction];
    struct counters *counters = &disk.counters[direction];
    counters->ops += 1;
    counters->bytes += bytes;
    counters->waited_ns += start_ns - turn.came_ns;
    pthread_mutex_unlock(&disk.lock);
    return turn;
}

/* Returns when the answer is due. The bytes are moved before this: the host's time is part of the
 * latency, not added to it. */
void finish_turn(const struct turn *turn)
{
    double now = now_ns(), host_ns = now - turn->came_ns, late_ns = 0;
    double until_ns = turn->due_ns - turn->early_ns;
    bool over = turn->timed && now > turn->due_ns, slept = now < until_ns;
    if (slept) {
        sleep_until_ns(until_ns);
        now = now_ns();
        late_ns = fmax(0, now - turn->due_ns);
    }
    pthread_mutex_lock(&disk.lock);
    if (slept) {
        double *early = &early_ns[turn->direction];
        double step_ns = now - until_ns > *early ? EARLY_STEP_NS : -EARLY_STEP_NS;
        *early = fmin(MOST_EARLY_NS, fmax(0, *early + step_ns));
    }
    struct counters *counters = &disk.counters[turn->direction];
    counters->host_ns += host_ns;
    counters->late_ns += late_ns;
    counters->over += over;
    pthread_mutex_unlock(&disk.lock);
}
