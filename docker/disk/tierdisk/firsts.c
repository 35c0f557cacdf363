/*
 * What was read for the first time since the start, and when. Callers hold the disk's lock.
 *
 * Nothing is cached when a disk comes up, so each page that is asked for later is read here once,
 * however large the cache above is: how fast pages become more by that is what a cache that holds
 * all of them so far would still miss. A page that was written first is in the cache without a
 * read, and counts as none.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "die.h"
#include "firsts.h"
#include "image.h"

#define PAGES_OF_WORD 64
/* A point is kept when they are more by so much: 1,800 of them go from a MiB to a TiB. */
#define LEAST_STEP_BYTES 1048576.0
#define STEP (1.0 / 128)
#define MOST_POINTS 2000

static uint64_t *touched; /* a bit for each page */
static double read_bytes, next_bytes = LEAST_STEP_BYTES;
static struct point {
    double time_s, bytes;
} points[MOST_POINTS];
static int count;

/* Before the first request. */
void watch_pages(off_t image_bytes)
{
    touched = calloc(image_bytes / PAGE_BYTES / PAGES_OF_WORD + 1, sizeof *touched);
    if (!touched)
        die("no memory for a bit of each page");
}

/* By the clock of the day, as other programs time what they count. */
static double time_of_day_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return now.tv_sec + now.tv_nsec / 1e9;
}

/* Notes the pages of a request. */
void note_pages(enum direction direction, off_t offset, size_t bytes)
{
    off_t last = (offset + (off_t)bytes - 1) / PAGE_BYTES;
    for (off_t page = offset / PAGE_BYTES; page <= last; page++) {
        uint64_t *word = &touched[page / PAGES_OF_WORD], bit = 1ull << page % PAGES_OF_WORD;
        bool is_first = !(*word & bit);
        *word |= bit;
        if (is_first && direction == READ)
            read_bytes += PAGE_BYTES;
    }
    if (read_bytes < next_bytes || count == MOST_POINTS)
        return;
    points[count++] = (struct point){time_of_day_s(), read_bytes};
    next_bytes = read_bytes + (read_bytes * STEP > LEAST_STEP_BYTES ? read_bytes * STEP
                                                                    : LEAST_STEP_BYTES);
}

/* Writes pairs of time and bytes, up to now, as one JSON object. */
void print_firsts(char *out, size_t room)
{
    int n = snprintf(out, room, "{\"firsts\": [");
    for (int i = 0; i < count; i++)
        n += snprintf(out + n, room - n, "[%.2f,%.0f],", points[i].time_s, points[i].bytes);
    snprintf(out + n, room - n, "[%.2f,%.0f]]}", time_of_day_s(), read_bytes);
}
