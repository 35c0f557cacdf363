/*
 * How long the disk takes for a request: a constant, or drawn from a table; more in slow epochs.
 *
 * A draw is a function of the seed, the direction, and how many were drawn before: the same seed
 * gives the same latencies in the same order, and disks with other seeds know nothing of each
 * other. Single draws average out within a transaction, and a real disk's bad minutes do not: so
 * the disk changes between good and slow epochs whose lengths are exponential (a Markov chain of
 * two states), drawn in the same way from a stream of their own.
 */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "latency.h"

#define MOST_LATENCY_US 60e6
#define EPOCHS DIRECTIONS /* the stream after those of reads and writes */

static struct table tables[DIRECTIONS];
static double draws[DIRECTIONS], drawn_us[DIRECTIONS];

/* The epoch that lasts from `since` until `until`; slow_ns: of those before it. */
static struct {
    bool slow;
    double number, begin_ns, since_ns, until_ns, slow_ns;
} epoch = {.until_ns = INFINITY};

/* The output function of SplitMix64 (Steele, Lea, Flood: Fast splittable pseudorandom number
 * generators, 2014): any counter becomes a random number. */
static uint64_t mixed(uint64_t z)
{
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

/* Number `number` of a stream: evenly distributed, 0 to below 1. */
static double uniform(double seed, unsigned stream, double number)
{
    const uint64_t golden = 0x9e3779b97f4a7c15u;
    uint64_t start = mixed((uint64_t)seed + golden * (stream + 1));
    return (mixed(start + golden * ((uint64_t)number + 1)) >> 11) * 0x1p-53;
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
    int low = 0, high = table->points - 1;
    while (high - low > 1) {
        int middle = (low + high) / 2;
        if (table->probability[middle] <= probability)
            low = middle;
        else
            high = middle;
    }
    const double *at = table->probability, *latency_us = table->latency_us;
    double share = (probability - at[low]) / (at[high] - at[low]);
    return latency_us[low] + share * (latency_us[high] - latency_us[low]);
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
    memcpy(tables, prepared_tables, sizeof tables);
}

/* How many points a direction's table has; 0 = its latency is constant. */
int table_points(enum direction direction)
{
    return tables[direction].points;
}

/* How long an epoch lasts: exponential with the mean of its kind. */
static double dwell_ns(const struct limits *l, bool slow, double number)
{
    double mean_s = slow ? l->slow_dwell_s : l->good_dwell_s;
    return -log1p(-uniform(l->latency_seed, EPOCHS, number)) * mean_s * 1e9;
}

/* Begins all streams anew, the first epoch being slow as often as any moment is. */
void begin_draws(const struct limits *l, double now)
{
    memset(draws, 0, sizeof draws);
    memset(drawn_us, 0, sizeof drawn_us);
    memset(&epoch, 0, sizeof epoch);
    epoch.begin_ns = epoch.since_ns = now;
    epoch.until_ns = INFINITY;
    if (l->slow_factor <= 1)
        return;
    double slow_share = l->slow_dwell_s / (l->slow_dwell_s + l->good_dwell_s);
    epoch.slow = uniform(l->latency_seed, EPOCHS, epoch.number++) < slow_share;
    epoch.until_ns = now + dwell_ns(l, epoch.slow, epoch.number++);
}

/* Goes on to the epoch of that moment. */
static void reach(const struct limits *l, double now)
{
    while (now >= epoch.until_ns) {
        epoch.slow_ns += epoch.slow ? epoch.until_ns - epoch.since_ns : 0;
        epoch.slow = !epoch.slow;
        epoch.since_ns = epoch.until_ns;
        epoch.until_ns += dwell_ns(l, epoch.slow, epoch.number++);
    }
}

/* The latency of the request that has just come. */
double next_latency_us(enum direction direction, const struct limits *l, double now)
{
    double latency_us = l->latency_us[direction];
    if (tables[direction].points) {
        double at = uniform(l->latency_seed, direction, draws[direction]++);
        latency_us = quantile_us(&tables[direction], at);
        drawn_us[direction] += latency_us;
    }
    reach(l, now);
    return epoch.slow ? latency_us * l->slow_factor : latency_us;
}

/* The sum of all latencies drawn, before slow epochs; and how many there were. */
double drawn_s(enum direction direction, double *count)
{
    *count = draws[direction];
    return drawn_us[direction] / 1e6;
}

/* The time spent in slow epochs, of all the time since the draws began. */
double slow_s(const struct limits *l, double now, double *of_s)
{
    reach(l, now);
    *of_s = (now - epoch.begin_ns) / 1e9;
    return (epoch.slow_ns + (epoch.slow ? fmax(0, now - epoch.since_ns) : 0)) / 1e9;
}
