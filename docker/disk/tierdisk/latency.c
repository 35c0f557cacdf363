/*
 * How long the disk takes for a request: a constant, or drawn from a table; more in slow epochs.
 *
 * A draw is a function of the seed, the direction, and how many were drawn before: the same seed
 * gives the same latencies in the same order, and disks with other seeds know nothing of each
 * other. Single draws average out within a transaction, and a real disk's bad minutes do not: so
 * the disk changes between good and slow epochs whose lengths are exponential (a Markov chain of
 * two states), drawn in the same way from a stream of their own.
 */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "clock.h"
#include "latency.h"
#include "lock.h"

#define MOST_LATENCY_US 60e6
#define EPOCHS DIRECTIONS /* the stream after those of reads and writes */
#define NEVER_NS INT64_MAX

static struct table tables[DIRECTIONS];
static uint64_t draw_counts[DIRECTIONS]; /* how many latencies were drawn */
static double drawn_sum_us[DIRECTIONS]; /* their sum */

/* The epoch that lasts from `since_ns` until `until_ns`. */
static struct {
    bool is_slow;
    uint64_t draw_count; /* that were made for all epochs so far */
    int64_t begun_ns; /* when the first one began */
    int64_t since_ns, until_ns;
    int64_t slow_before_ns; /* how long those before it were slow */
} epoch = {.until_ns = NEVER_NS};

/* The output function of SplitMix64 (Steele, Lea, Flood: Fast splittable pseudorandom number
 * generators, 2014): any counter becomes a random number. */
static uint64_t splitmix_output(uint64_t z)
{
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

/* Number `number` of a stream: evenly distributed, 0 to below 1. */
static double uniform(int64_t seed, unsigned stream, uint64_t number)
{
    const uint64_t golden = 0x9e3779b97f4a7c15u;
    uint64_t start = splitmix_output((uint64_t)seed + golden * (stream + 1));
    return (splitmix_output(start + golden * (number + 1)) >> 11) * 0x1p-53;
}

/* Adds the point of a line to the table. Returns NULL, or what is wrong with it. */
static const char *add_point(struct table *table, const char *line)
{
    double probability, latency_us;
    char more;
    if (sscanf(line, "%lf %lf %c", &probability, &latency_us, &more) != 2)
        return "each line has a probability and a latency in us";
    int last = table->points - 1;
    if (table->points == MOST_POINTS)
        return "has more than 1024 points";
    if (!(latency_us > 0 && latency_us <= MOST_LATENCY_US))
        return "has a latency that is not above 0 and at most a minute";
    if (last < 0 ? probability != 0 : !(probability > table->probability[last]))
        return "has probabilities that do not rise from 0";
    if (last >= 0 && latency_us < table->latency_us[last])
        return "has a latency below that of a lower probability";
    table->probability[table->points] = probability;
    table->latency_us[table->points++] = latency_us;
    return NULL;
}

/* Reads a file of lines "probability latency_us". Returns NULL, or what is wrong with it. */
const char *read_table(const char *path, struct table *table)
{
    table->points = 0;
    struct stat status;
    int opened = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    FILE *file = opened < 0 ? NULL : fdopen(opened, "r");
    if (!file)
        return strerror(errno);
    if (fstat(opened, &status) || !S_ISREG(status.st_mode)) {
        fclose(file);
        return "is no regular file";
    }
    char line[128];
    const char *problem = NULL;
    while (!problem && fgets(line, sizeof line, file))
        problem = add_point(table, line);
    fclose(file);
    if (!problem && (table->points < 2 || table->probability[table->points - 1] != 1))
        problem = "does not end with probability 1";
    return problem;
}

/* The latency that requests do not exceed with that probability, 0 to 1. */
double quantile_us(const struct table *table, double probability)
{
    assert(table->points >= 2);
    assert(probability >= 0 && probability <= 1);
    int low = 0, high = table->points - 1;
    while (high - low > 1) {
        int middle = (low + high) / 2;
        if (table->probability[middle] <= probability)
            low = middle;
        else
            high = middle;
    }
    double step = table->probability[high] - table->probability[low];
    double share = (probability - table->probability[low]) / step;
    double rise_us = table->latency_us[high] - table->latency_us[low];
    return table->latency_us[low] + share * rise_us;
}

static struct table prepared_tables[DIRECTIONS]; /* not in force yet */

/* Reads the files of tables that `use_tables` then puts in force. Returns NULL, or what is wrong
 * with one. Without the disk's lock: I/O goes on while a slow file is read. */
const char *prepare_tables(const char *read_path, const char *write_path)
{
    static char problem[320];
    const char *const paths[DIRECTIONS] = {[READ] = read_path, [WRITE] = write_path};
    for (int i = 0; i < DIRECTIONS; i++) {
        const char *wrong = read_table(paths[i], &prepared_tables[i]);
        if (wrong) {
            snprintf(problem, sizeof problem, "the table %.150s %s", paths[i], wrong);
            return problem;
        }
    }
    return NULL;
}

/* From now on latencies are drawn from the tables that were prepared. */
void use_tables(void)
{
    require_disk_lock();
    for (int i = 0; i < DIRECTIONS; i++)
        assert(prepared_tables[i].points >= 2);
    memcpy(tables, prepared_tables, sizeof tables);
}

/* How many points a direction's table has; 0 = its latency is constant. */
int table_points(enum direction direction)
{
    require_disk_lock();
    return tables[direction].points;
}

/* How long the next epoch lasts: exponential with the mean of its kind. */
static int64_t draw_dwell_ns(const struct limits *limits)
{
    double mean_s = epoch.is_slow ? limits->slow_dwell_s : limits->good_dwell_s;
    double share = -log1p(-uniform(limits->latency_seed, EPOCHS, epoch.draw_count++));
    return whole_ns(share * mean_s * NS_PER_S);
}

/* Begins all streams anew, the first epoch being slow as often as any moment is. */
void begin_draws(const struct limits *limits, int64_t at_ns)
{
    require_disk_lock();
    memset(draw_counts, 0, sizeof draw_counts);
    memset(drawn_sum_us, 0, sizeof drawn_sum_us);
    memset(&epoch, 0, sizeof epoch);
    epoch.begun_ns = at_ns;
    epoch.since_ns = at_ns;
    epoch.until_ns = NEVER_NS;
    if (limits->slow_factor <= 1)
        return;
    double slow_share = limits->slow_dwell_s / (limits->slow_dwell_s + limits->good_dwell_s);
    epoch.is_slow = uniform(limits->latency_seed, EPOCHS, epoch.draw_count++) < slow_share;
    epoch.until_ns = at_ns + draw_dwell_ns(limits);
}

/* Goes on to the epoch of that moment. */
static void go_on_to_epoch_at(const struct limits *limits, int64_t at_ns)
{
    while (at_ns >= epoch.until_ns) {
        if (epoch.is_slow)
            epoch.slow_before_ns += epoch.until_ns - epoch.since_ns;
        epoch.is_slow = !epoch.is_slow;
        epoch.since_ns = epoch.until_ns;
        epoch.until_ns += draw_dwell_ns(limits);
    }
}

/* The latency of the request that has just come. */
double next_latency_us(enum direction direction, const struct limits *limits, int64_t at_ns)
{
    require_disk_lock();
    double latency_us = limits->latency_us[direction];
    if (tables[direction].points) {
        double probability = uniform(limits->latency_seed, direction, draw_counts[direction]++);
        latency_us = quantile_us(&tables[direction], probability);
        drawn_sum_us[direction] += latency_us;
    }
    go_on_to_epoch_at(limits, at_ns);
    return epoch.is_slow ? latency_us * limits->slow_factor : latency_us;
}

/* The sum of all latencies drawn, before slow epochs; and how many there were. */
double drawn_s(enum direction direction, uint64_t *count)
{
    require_disk_lock();
    *count = draw_counts[direction];
    return drawn_sum_us[direction] / 1e6;
}

/* The time spent in slow epochs; and all the time since the draws began. */
double slow_s(const struct limits *limits, int64_t at_ns, double *drawing_s)
{
    require_disk_lock();
    go_on_to_epoch_at(limits, at_ns);
    int64_t slow_ns = epoch.slow_before_ns;
    if (epoch.is_slow && at_ns > epoch.since_ns)
        slow_ns += at_ns - epoch.since_ns;
    *drawing_s = (double)(at_ns - epoch.begun_ns) / NS_PER_S;
    return (double)slow_ns / NS_PER_S;
}
