/*
 * When a request may start: leaky buckets for I/Os and for bytes.
 *
 * A bucket is kept as one moment: that at which it will have leaked empty. What is in it is how
 * long that takes, and it is full when it takes `depth_ns`. Filling it beyond that is what makes a
 * request wait. Nothing polls and nothing drifts: a request that starts late is not charged later.
 */
#include <assert.h>
#include <math.h>

#include "bucket.h"
#include "clock.h"
#include "lock.h"
#include "shared.h"
#include "throttle.h"

struct bucket {
    double rate; /* I/Os or bytes a second; 0 = unlimited */
    int64_t depth_ns, empty_at_ns;
    double fraction_ns; /* of a nanosecond: what `empty_at_ns` is short of */
};

/* The base rate with its credit, and the peak at which credit may be spent (rate 0: no burst). */
struct bucket_pair {
    struct bucket base, burst;
};

static struct bucket_pair pairs[RESOURCES];
static struct limits limits_in_force; /* those of all disks together are among them */
static int64_t last_start_ns;

/* How long the bucket takes to leak empty from now on. */
static int64_t level_ns(const struct bucket *bucket, int64_t at_ns)
{
    return max_ns(0, bucket->empty_at_ns - at_ns);
}

/* Gives a bucket another rate and depth. What is in it stays, as I/Os or bytes, as far as it holds
 * them: what was spent beyond that is forgiven, or a disk whose burst is taken away would stand
 * still for hours. */
static void shape_bucket(struct bucket *bucket, double rate, double depth_s, int64_t at_ns)
{
    double kept_ns = 0;
    if (rate > 0)
        kept_ns = (double)level_ns(bucket, at_ns) * bucket->rate / rate;
    bucket->rate = rate;
    bucket->depth_ns = whole_ns(depth_s * NS_PER_S);
    bucket->empty_at_ns = at_ns + min_ns(bucket->depth_ns, whole_ns(kept_ns));
    bucket->fraction_ns = 0;
}

/* peak: 0 = no burst. length_s: how long a full base bucket holds the peak. */
static void shape_pair(struct bucket_pair *pair, double rate, double peak, double length_s,
                       double credit_s, int64_t at_ns)
{
    double depth_s = credit_s;
    if (peak > 0)
        depth_s = length_s * (peak - rate) / rate;
    shape_bucket(&pair->base, rate, depth_s, at_ns);
    shape_bucket(&pair->burst, peak, credit_s, at_ns);
}

/* Gives the buckets new limits. What is in them stays, as far as they hold it; who comes now does
 * not wait behind the last who came under other limits. */
void shape_buckets(const struct limits *limits, int64_t at_ns)
{
    require_disk_lock();
    double credit_s = limits->credit_ms / 1e3;
    last_start_ns = 0;
    limits_in_force = *limits;
    shape_pair(&pairs[IOPS], limits->iops, limits->iops_burst, limits->iops_burst_length, credit_s,
               at_ns);
    shape_pair(&pairs[BYTES], limits->bytes_per_s, limits->bytes_burst, limits->bytes_burst_length,
               credit_s, at_ns);
}

/* Sets the credit of every burst to a percentage of what the bucket holds. */
void set_credit(double percent_left, int64_t at_ns)
{
    require_disk_lock();
    assert(percent_left >= 0 && percent_left <= 100);
    for (int i = 0; i < RESOURCES; i++) {
        struct bucket *base = &pairs[i].base;
        if (pairs[i].burst.rate > 0)
            base->empty_at_ns = at_ns + (int64_t)(base->depth_ns * (1 - percent_left / 100));
    }
}

/* The fraction of a burst's credit that is still there; -1 without a burst. */
double credit_left(enum resource resource, int64_t at_ns)
{
    require_disk_lock();
    const struct bucket_pair *pair = &pairs[resource];
    if (pair->burst.rate <= 0)
        return -1;
    double used = (double)level_ns(&pair->base, at_ns) / pair->base.depth_ns;
    return fmin(1, fmax(0, 1 - used));
}

/* The earliest moment at which the bucket takes a request. */
static int64_t earliest_ns(const struct bucket *bucket)
{
    return bucket->rate > 0 ? bucket->empty_at_ns - bucket->depth_ns : 0;
}

/* Charges a request that starts at that moment. */
static void fill(struct bucket *bucket, int64_t cost, int64_t start_ns)
{
    if (bucket->rate <= 0)
        return;
    if (start_ns > bucket->empty_at_ns) {
        bucket->empty_at_ns = start_ns;
        bucket->fraction_ns = 0;
    }
    int64_t takes_ns = leak_ns(cost, bucket->rate, &bucket->fraction_ns);
    bucket->empty_at_ns = min_ns(LATEST_NS, bucket->empty_at_ns + takes_ns);
}

/* How many I/Os a request counts as. */
static int64_t ios_of(int64_t bytes)
{
    int64_t unit_bytes = limits_in_force.io_unit;
    assert(unit_bytes > 0);
    return (bytes + unit_bytes - 1) / unit_bytes;
}

/* Charges a request and returns when it may start. Requests start in the order of their coming. */
int64_t admit(int64_t at_ns, int64_t bytes)
{
    require_disk_lock();
    const int64_t costs[RESOURCES] = {[IOPS] = ios_of(bytes), [BYTES] = bytes};
    int64_t start_ns = max_ns(at_ns, last_start_ns);
    start_ns = max_ns(start_ns, admit_shared(&limits_in_force, at_ns, costs));
    for (int i = 0; i < RESOURCES; i++) {
        start_ns = max_ns(start_ns, earliest_ns(&pairs[i].base));
        start_ns = max_ns(start_ns, earliest_ns(&pairs[i].burst));
    }
    for (int i = 0; i < RESOURCES; i++) {
        fill(&pairs[i].base, costs[i], start_ns);
        fill(&pairs[i].burst, costs[i], start_ns);
    }
    last_start_ns = start_ns;
    return start_ns;
}
