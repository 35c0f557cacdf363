/*
 * One request's turn: charged to the limits, counted, answered when the latency has passed.
 *
 * An idle processor takes its time to wake up, the longer it has slept: a quarter of a fast disk's
 * latency. So a sleep is asked for that ends earlier by what sleeps in its direction usually end
 * late, their running median, which as many answers miss on one side as on the other. Where
 * latencies are drawn, short and long ones have medians of their own.
 */
#include <math.h>

#include "clock.h"
#include "latency.h"
#include "throttle.h"
#include "turn.h"

#define MOST_EARLY_NS 200e3
#define EARLY_STEP_NS 1e3

/* Beyond this no processor sleeps deeper, and the overhead is a small part of the latency. */
#define DEEPEST_SLEEP_US 2000.0

/* Sleep class 0 is that of a constant latency; one that is drawn is in the class of its power of
 * two, from below 128 us to above 8 ms. */
#define SLEEP_CLASSES 9
#define SHORTEST_CLASS_US 64.0

struct disk disk = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* How much earlier sleeps are asked to end: by class 0, and how far other classes are from it. */
static double early_ns[DIRECTIONS][SLEEP_CLASSES];

static int sleep_class(enum direction direction, double latency_us)
{
    if (!table_points(direction))
        return 0;
    int doublings = ilogb(fmax(1, latency_us / SHORTEST_CLASS_US));
    return doublings < SLEEP_CLASSES - 1 ? 1 + doublings : SLEEP_CLASSES - 1;
}

static double early_of(const struct turn *turn)
{
    const double *early = early_ns[turn->direction];
    return turn->sleep_class ? early[0] + early[turn->sleep_class] : early[0];
}

/* Moves the running median of the turn's class by a step. */
static void adapt_early(const struct turn *turn, double late_ns)
{
    double *early = early_ns[turn->direction], now = early_of(turn);
    double step_ns = late_ns > now ? EARLY_STEP_NS : -EARLY_STEP_NS;
    double next = fmin(MOST_EARLY_NS, fmax(0, now + step_ns));
    early[turn->sleep_class] = turn->sleep_class ? next - early[0] : next;
}

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
    double latency_us = next_latency_us(direction, &disk.limits, turn.came_ns);
    turn.due_ns = start_ns + fmax(0, latency_us - overhead_us(direction, latency_us)) * 1e3;
    turn.timed = latency_us > 0;
    turn.sleep_class = sleep_class(direction, latency_us);
    turn.early_ns = early_of(&turn);
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
    if (slept)
        adapt_early(turn, now - until_ns);
    struct counters *counters = &disk.counters[turn->direction];
    counters->host_ns += host_ns;
    counters->late_ns += late_ns;
    counters->over += over;
    counters->answered += 1;
    counters->took_ns += now - turn->came_ns;
    pthread_mutex_unlock(&disk.lock);
}
