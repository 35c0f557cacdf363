/*
 * What read_ahead.c is compiled to call instead of lseek and clock_gettime, in
 * test_disk_borders.py: a file whose reading does not end before the test says so, on a machine
 * whose wall clock is about to be set back by an hour.
 */
#include <errno.h>
#include <stdatomic.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

#define HOUR_S 3600

off_t held_lseek(int file, off_t offset, int from);
int early_clock_gettime(clockid_t clock, struct timespec *moment);
void end_reading(void);

static atomic_bool is_ended;

void end_reading(void)
{
    atomic_store(&is_ended, 1);
}

off_t held_lseek(int file, off_t offset, int from)
{
    (void)file, (void)offset, (void)from;
    while (!atomic_load(&is_ended))
        usleep(1000);
    errno = ENXIO;
    return -1;
}

/* A deadline by the wall clock would come an hour after its time, as the clock is then set back. */
int early_clock_gettime(clockid_t clock, struct timespec *moment)
{
    int outcome = clock_gettime(clock, moment);
    if (clock == CLOCK_REALTIME)
        moment->tv_sec += HOUR_S;
    return outcome;
}
