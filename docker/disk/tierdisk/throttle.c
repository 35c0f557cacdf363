/*
 * When a request may start: leaky buckets for I/Os and for bytes.
 *
 * A bucket is kept as one number: the moment at which it will have leaked empty. Filling it beyond
 * `depth` is what makes a request wait. Nothing polls and nothing drifts: a request that starts
 * late is not charged later.
 */
#include <math.h>

#include "shared.h"
#include "throttle.h"

struct bucket {
    double rate, depth, empty_at_ns;
};

/* The base rate with its credit, and the peak at which credit may be spent (rate 0: no burst). */
struct bucket_pair {
    struct bucket base, burst;
};

static struct bucket_pair pairs[RESOURCES];
static struct limits shared; /* those of all disks together are in force, too */
static double io_unit_bytes;
static double last_start_ns;

/* What is in the bucket now. */
static double level(const struct bucket *b, double now)
{
    return fmax(0, b->empty_at_ns - now) / 1e9 * b->rate;
}

/* A bucket that becomes smaller is full at most: what was spent beyond it is forgiven, or a disk
 * whose burst is taken away would stand still for hours. */
static void shape_bucket(struct bucket *b, double rate, double depth, double now)
{
    double kept = fmin(level(b, now), depth);
    b->rate = rate;
    b->depth = depth;
    b->empty_at_ns = rate > 0 ? now + kept / rate * 1e9 : now;
}

/* peak: 0 = no burst; length: seconds for which a full base bucket holds the peak. */
static void shape_pair(struct bucket_pair *pair, double rate, double peak, double length,
                       double credit_s, double now)
{
    shape_bucket(&pair->base, rate, peak > 0 ? length * (peak - rate) : rate * credit_s, now);
    shape_bucket(&pair->burst, peak, peak * credit_s, now);
}

/* Gives the buckets new limits. What is in them stays, as far as they hold it; who comes now does
 * not wait behind the last who came under other limits. */
void shape_buckets(const struct limits *l, double now)
{
    double credit_s = l->credit_ms / 1e3;
    last_start_ns = 0;
    io_unit_bytes = l->io_unit;
    shared = *l;
    shape_pair(&pairs[IOPS], l->iops, l->iops_burst, l->iops_burst_length, credit_s, now);
    shape_pair(&pairs[BYTES], l->bytes_per_s, l->bytes_burst, l->bytes_burst_length, credit_s, now);
}

/* Sets the credit of every burst to a percentage of what the bucket holds. */
void set_credit(double percent_left, double now)
{
    for (int i = 0; i < RESOURCES; i++) {
        struct bucket *base = &pairs[i].base;
        if (pairs[i].burst.rate > 0)
            base->empty_at_ns = now + base->depth * (1 - percent_left / 100) / base->rate * 1e9;
    }
}

/* The fraction of a burst's credit that is still there; -1 without a burst. */
double credit_left(enum resource resource, double now)
{
    const struct bucket_pair *pair = &pairs[resource];
    if (pair->burst.rate <= 0)
        return -1;
    return fmin(1, fmax(0, 1 - level(&pair->base, now) / pair->base.depth));
}

/* The earliest moment at which the bucket takes a request. */
static double earliest(const struct bucket *b)
{
    return b->rate > 0 ? b->empty_at_ns - b->depth / b->rate * 1e9 : 0;
}

/* Charges a request that starts at that moment. */
static void fill(struct bucket *b, double cost, double start)
{
    if (b->rate > 0)
        b->empty_at_ns = fmax(b->empty_at_ns, start) + cost / b->rate * 1e9;
}

/* Charges a request and returns when it may start. Requests start in the order of their coming. */
double admit(double now, double bytes)
{
    const double costs[RESOURCES] = {[IOPS] = ceil(bytes / io_unit_bytes), [BYTES] = bytes};
    double start = fmax(admit_shared(&shared, now, costs), last_start_ns);
    for (int i = 0; i < RESOURCES; i++)
        start = fmax(start, fmax(earliest(&pairs[i].base), earliest(&pairs[i].burst)));
    for (int i = 0; i < RESOURCES; i++) {
        fill(&pairs[i].base, costs[i], start);
        fill(&pairs[i].burst, costs[i], start);
    }
    last_start_ns = start;
    return start;
}
