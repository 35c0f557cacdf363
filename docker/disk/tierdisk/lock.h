/* Locks that know which thread holds them, and the disk's, which guards limits, buckets, draws and
 * counters. */
#ifndef LOCK_H
#define LOCK_H

#include <pthread.h>
#include <stdint.h>

/* Needs _GNU_SOURCE. */
#define LOCK_INITIALIZER PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP

void require_held(pthread_mutex_t *lock);

void lock_disk(void);
void unlock_disk(void);
void require_disk_lock(void);

void await_change_until_ns(int64_t moment_ns);
void announce_change(void);

#endif
