/* The monotonic clock in nanoseconds, and sleeping until one of its moments. */
#include <errno.h>
#include <time.h>

#include "clock.h"

/* Nanoseconds since some moment before the start. Whole ones: a double would hold them exactly for
 * the first 104 days that a machine runs. */
int64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * NS_PER_S + now.tv_nsec;
}

/* Returns at that moment or a little later; signals do not end it early. */
void sleep_until_ns(int64_t moment_ns)
{
    struct timespec moment = {.tv_sec = moment_ns / NS_PER_S, .tv_nsec = moment_ns % NS_PER_S};
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &moment, NULL) == EINTR)
        ;
}
