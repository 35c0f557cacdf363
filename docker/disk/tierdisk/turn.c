/*
 * One request's turn: charged to the limits, counted, answered when the latency has passed.
 *
 * An idle processor takes its time to wake up, the longer it has slept: a quarter of a fast disk's
 * latency. So a sleep is asked for that ends earlier by what sleeps in its direction usually end
 * late, their running median, which as many answers miss on one side as on the other. Where
 * latencies are drawn, short and long ones have medians of their own.
 */
#include <assert.h>
#include <math.h>

#include "clock.h"
#include "latency.h"
#include "lock.h"
#include "throttle.h"
#include "turn.h"

#define MOST_LEAD_NS 200000
#define LEAD_STEP_NS 1000

#define LONGEST_STALL_S 86400.0

/* Beyond this no processor sleeps deeper, and the overhead is a small part of the latency. */
#define DEEPEST_SLEEP_US 2000.0

/* Sleep class 0 is that of a constant latency; one that is drawn is in the class of its power of
 * two, from below 128 us to above 8 ms. */
#define SLEEP_CLASSES 9
#define SHORTEST_CLASS_US 64.0

struct disk disk;

/* Until then nothing is let in. It is a moment, so a stall ends without anybody who ends it. */
static int64_t stalled_until_ns;

/* How much earlier sleeps are asked to end: by class 0, and how far other classes are from it. */
static int64_t leads_ns[DIRECTIONS][SLEEP_CLASSES];

static int sleep_class(enum direction direction, double latency_us)
{
    if (!table_points(direction))
        return 0;
    int doublings = ilogb(fmax(1, latency_us / SHORTEST_CLASS_US));
    return doublings < SLEEP_CLASSES - 1 ? 1 + doublings : SLEEP_CLASSES - 1;
}

/* How much earlier than due a sleep of the turn's class is asked to end. */
static int64_t lead_of_class(const struct turn *turn)
{
    require_disk_lock();
    assert(turn->sleep_class >= 0 && turn->sleep_class < SLEEP_CLASSES);
    const int64_t *leads = leads_ns[turn->direction];
    return turn->sleep_class ? leads[0] + leads[turn->sleep_class] : leads[0];
}

/* Moves the running median of the turn's class by a step. */
static void adapt_lead(const struct turn *turn, int64_t late_ns)
{
    int64_t *leads = leads_ns[turn->direction];
    int64_t median_ns = lead_of_class(turn);
    int64_t step_ns = late_ns > median_ns ? LEAD_STEP_NS : -LEAD_STEP_NS;
    int64_t next_ns = min_ns(MOST_LEAD_NS, max_ns(0, median_ns + step_ns));
    leads[turn->sleep_class] = turn->sleep_class ? next_ns - leads[0] : next_ns;
}

/* What loop and FUSE will add to a request that takes so long here. */
static double overhead_us(enum direction direction, double latency_us)
{
    const struct limits *limits = &disk.limits;
    double slept_us = fmin(latency_us, DEEPEST_SLEEP_US);
    return limits->overhead_us[direction] + limits->overhead_slope[direction] * slept_us;
}

/* How long the server itself shall take for a request. */
static int64_t wait_ns(enum direction direction, double latency_us)
{
    double here_us = fmax(0, latency_us - overhead_us(direction, latency_us));
    return whole_ns(round(here_us * NS_PER_US));
}

/* Gives the disk its first limits, before anything is asked of it. */
void begin_disk(const struct limits *limits)
{
    bool is_large = limits->io_unit > SMALL_REQUEST_BYTES;
    disk.request_bytes = is_large ? LARGEST_REQUEST_BYTES : SMALL_REQUEST_BYTES;
    int64_t at_ns = now_ns();
    lock_disk();
    disk.limits = *limits;
    shape_buckets(limits, at_ns);
    set_credit(limits->burst_start, at_ns);
    begin_draws(limits, at_ns);
    begin_stall(limits->stall_s, at_ns);
    unlock_disk();
}

/* Lets nothing in for so long from that moment on; 0 ends a stall at once. */
void begin_stall(double length_s, int64_t at_ns)
{
    require_disk_lock();
    stalled_until_ns = at_ns + (int64_t)(fmin(length_s, LONGEST_STALL_S) * NS_PER_S);
    announce_change();
}

/* Returns when the disk lets requests in. Those that have waited go on in no set order. */
void await_stall(void)
{
    require_disk_lock();
    while (now_ns() < stalled_until_ns)
        await_change_until_ns(stalled_until_ns);
}

/* Charges a request that has just come, and says when its answer is due. */
struct turn begin_turn(enum direction direction, size_t bytes)
{
    struct turn turn = {.direction = direction, .came_ns = now_ns()};
    assert(bytes <= LARGEST_REQUEST_BYTES);
    lock_disk();
    await_stall();
    turn.let_in_ns = max_ns(turn.came_ns, stalled_until_ns);
    int64_t start_ns = admit(turn.let_in_ns, bytes);
    assert(start_ns >= turn.let_in_ns);
    double latency_us = next_latency_us(direction, &disk.limits, turn.let_in_ns);
    turn.due_ns = start_ns + wait_ns(direction, latency_us);
    turn.is_timed = latency_us > 0;
    turn.sleep_class = sleep_class(direction, latency_us);
    turn.lead_ns = lead_of_class(&turn);
    struct counters *counters = &disk.counters[direction];
    counters->ops++;
    counters->bytes += bytes;
    counters->waited_ns = add_ns(counters->waited_ns, start_ns - turn.came_ns);
    unlock_disk();
    return turn;
}

/* Returns when the answer is due. The bytes are moved before this: the host's time is part of the
 * latency, not added to it. */
void finish_turn(const struct turn *turn)
{
    int64_t moved_ns = now_ns();
    int64_t wake_ns = turn->due_ns - turn->lead_ns;
    int64_t answer_ns = moved_ns;
    int64_t late_ns = 0;
    bool sleeps = moved_ns < wake_ns;
    if (sleeps) {
        sleep_until_ns(wake_ns);
        answer_ns = now_ns();
        late_ns = max_ns(0, answer_ns - turn->due_ns);
    }
    lock_disk();
    if (sleeps)
        adapt_lead(turn, answer_ns - wake_ns);
    struct counters *counters = &disk.counters[turn->direction];
    counters->host_ns += moved_ns - turn->let_in_ns;
    counters->late_ns += late_ns;
    counters->over += turn->is_timed && moved_ns > turn->due_ns;
    counters->answered++;
    counters->took_ns += answer_ns - turn->came_ns;
    assert(counters->answered <= counters->ops);
    unlock_disk();
}
