/*
 * What loop and FUSE add to a request: what one of a known latency takes beyond it.
 *
 * The median, as the wake-ups of idle processors are in it, as they are in a user's. They cost the
 * more the longer a processor slept, so two latencies are measured and a line goes through both;
 * and they differ from one tenth of a second to the next, so it takes about a second, the shorter
 * latency, for which it matters most, before and after the other.
 */
#define _GNU_SOURCE
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "clock.h"
#include "control.h"
#include "die.h"
#include "limits.h"
#include "overhead.h"

#define BLOCK_BYTES 4096
#define BLOCKS 64

/* Until the server's own sleeps have found their length. */
#define WARM_UP_REQUESTS 50

/* More than this is a machine that is busy, and no overhead. */
#define MOST_OVERHEAD_US 150.0
#define MOST_OVERHEAD_SLOPE 0.1

/* What single requests of a declared latency took. */
#define MOST_TIMINGS 1000
struct timings {
    double latency_us, took_us[DIRECTIONS][MOST_TIMINGS];
    int count;
};

/* For qsort. */
static int compare(const void *a, const void *b)
{
    double difference = *(const double *)a - *(const double *)b;
    return (difference > 0) - (difference < 0);
}

/* Sorts the values in place. */
static double median(double *values, int count)
{
    assert(count > 0);
    qsort(values, count, sizeof *values, compare);
    return values[count / 2];
}

/* Reads single blocks and writes the same bytes back, which nothing mounted would survive.
 * timings: where to add what they took; NULL = nowhere. */
static void time_requests(int device, int count, struct timings *timings)
{
    static char block[BLOCK_BYTES] __attribute__((aligned(BLOCK_BYTES)));
    for (int i = 0; i < count; i++) {
        off_t offset = (off_t)(i % BLOCKS) * BLOCK_BYTES;
        int64_t before_ns = now_ns();
        if (pread(device, block, BLOCK_BYTES, offset) != BLOCK_BYTES)
            die("cannot read the device: %s", strerror(errno));
        int64_t between_ns = now_ns();
        if (pwrite(device, block, BLOCK_BYTES, offset) != BLOCK_BYTES)
            die("cannot write the device: %s", strerror(errno));
        int64_t after_ns = now_ns();
        if (!timings)
            continue;
        assert(timings->count < MOST_TIMINGS);
        timings->took_us[READ][timings->count] = (double)(between_ns - before_ns) / NS_PER_US;
        timings->took_us[WRITE][timings->count] = (double)(after_ns - between_ns) / NS_PER_US;
        timings->count++;
    }
}

/* Gives the disk the latency of `timings`, without correction, and adds so many requests to it. */
static void add_timings(int device, const char *socket_path, int count, struct timings *timings)
{
    char text[2048];
    snprintf(text, sizeof text,
             "set read_latency_us=%g write_latency_us=%g read_overhead_us=0 write_overhead_us=0 "
             "read_overhead_slope=0 write_overhead_slope=0",
             timings->latency_us, timings->latency_us);
    if (!ask_disk(socket_path, text, sizeof text))
        die("%s", text);
    time_requests(device, WARM_UP_REQUESTS, NULL);
    time_requests(device, count, timings);
}

/* Prints the overhead of a device in both directions, as assignments for `set`. The device must
 * not be mounted. Returns the exit code. */
int measure_overhead(const char *device_path, const char *socket_path)
{
    static struct timings quick = {.latency_us = 300}, slow = {.latency_us = 1000};
    int device = open(device_path, O_RDWR | O_EXCL | O_DIRECT | O_CLOEXEC);
    if (device < 0)
        die("%s: %s", device_path, strerror(errno));
    add_timings(device, socket_path, 400, &quick);
    add_timings(device, socket_path, 100, &slow);
    add_timings(device, socket_path, 400, &quick);
    for (int i = 0; i < DIRECTIONS; i++) {
        double quick_us = median(quick.took_us[i], quick.count) - quick.latency_us;
        double slow_us = median(slow.took_us[i], slow.count) - slow.latency_us;
        double slope = (slow_us - quick_us) / (slow.latency_us - quick.latency_us);
        slope = fmin(MOST_OVERHEAD_SLOPE, fmax(0, slope));
        double flat_us = quick_us - slope * quick.latency_us;
        flat_us = fmin(MOST_OVERHEAD_US, fmax(0, flat_us));
        printf("%s_overhead_us=%.1f %s_overhead_slope=%.4f%c", direction_names[i], flat_us,
               direction_names[i], slope, i == READ ? ' ' : '\n');
    }
    return 0;
}
