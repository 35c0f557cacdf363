/* The monotonic clock in nanoseconds, and sleeping until one of its moments. */
#include <errno.h>
#include <time.h>

#include "clock.h"

/* Nanoseconds since some moment before the start; a double holds them exactly for 104 days. */
double now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1e9 + now.tv_nsec;
}

/* Returns at that moment or a little later; signals do not end it early. */
void sleep_until_ns(double moment_ns)
{
    struct timespec moment = {.tv_sec = (time_t)(moment_ns / 1e9)};
    moment.tv_nsec = (long)(moment_ns - moment.tv_sec * 1e9);
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &moment, NULL) == EINTR)
        ;
}
