/*
 * Locks that know which thread holds them, and the disk's, which guards limits, buckets, draws and
 * counters.
 *
 * So a function that needs a lock can assert that its caller has taken it.
 */
#define _GNU_SOURCE
#include <assert.h>
#include <errno.h>
#include <time.h>

#include "clock.h"
#include "lock.h"

static pthread_mutex_t disk_lock = LOCK_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;

/* Ends the program unless this thread holds the lock. */
void require_held(pthread_mutex_t *lock)
{
    int outcome = pthread_mutex_lock(lock);
    assert(outcome == EDEADLK && "this thread holds the lock");
    (void)outcome;
}

void lock_disk(void)
{
    int problem = pthread_mutex_lock(&disk_lock);
    assert(!problem && "this thread does not hold it already");
    (void)problem;
}

void unlock_disk(void)
{
    int problem = pthread_mutex_unlock(&disk_lock);
    assert(!problem && "this thread holds it");
    (void)problem;
}

void require_disk_lock(void)
{
    require_held(&disk_lock);
}

/* Gives the disk's lock away until that moment, or until a change is announced, if that is
 * sooner. It may also return too early, so the caller looks again. */
void await_change_until_ns(int64_t moment_ns)
{
    struct timespec moment = {.tv_sec = moment_ns / NS_PER_S, .tv_nsec = moment_ns % NS_PER_S};
    int problem = pthread_cond_clockwait(&changed, &disk_lock, CLOCK_MONOTONIC, &moment);
    assert(!problem || problem == ETIMEDOUT);
    (void)problem;
}

/* Wakes all who wait for a change. */
void announce_change(void)
{
    pthread_cond_broadcast(&changed);
}
