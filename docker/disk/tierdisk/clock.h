/* The monotonic clock in nanoseconds, and sleeping until one of its moments. */
#ifndef CLOCK_H
#define CLOCK_H

double now_ns(void);
void sleep_until_ns(double moment_ns);

#endif
