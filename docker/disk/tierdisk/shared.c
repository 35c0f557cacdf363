/*
 * Limits that several disks have together, such as those of an account: leaky buckets in a file
 * that each disk's server maps.
 *
 * A bucket is one number, as in throttle.c: the moment, by the clock that all processes of a
 * machine have, at which it will have leaked empty. It is moved by compare and exchange, so no
 * server waits for another, and one that is killed leaves nothing locked. A request is charged when
 * it comes, not when its own disk lets it start: else one that waits long for a slow disk would
 * hold back the others. The file has whole nanoseconds; each server carries its own fractions.
 */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bucket.h"
#include "clock.h"
#include "die.h"
#include "lock.h"
#include "shared.h"

static _Atomic int64_t *empty_at_ns; /* of each resource; NULL if nothing is shared */
static double fraction_ns[RESOURCES]; /* of a nanosecond: what this disk has not charged yet */
_Static_assert(ATOMIC_LLONG_LOCK_FREE == 2, "other processes see nothing half-written");

/* Opens the file, which is made if it is not there, and takes a lock on it. `is_first`: whether no
 * other disk has it. The last disk may remove the file between both, and then there is another. */
static int open_locked(const char *path, bool *is_first)
{
    for (;;) {
        struct stat opened, present;
        int file = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
        if (file < 0)
            die("%s: %s", path, strerror(errno));
        *is_first = !flock(file, LOCK_EX | LOCK_NB);
        if (!*is_first && flock(file, LOCK_SH))
            die("%s: cannot lock: %s", path, strerror(errno));
        if (!fstat(file, &opened) && !stat(path, &present) && opened.st_ino == present.st_ino)
            return file;
        close(file);
    }
}

/* Maps the file, which is made if this is the first disk; the program ends if that fails. Before
 * anything is asked of the disks. The server keeps a lock on it until it ends, however that is:
 * `device` removes the file only when nobody has one. */
void open_shared(const char *path)
{
    assert(!empty_at_ns); /* it is opened once */
    size_t size = RESOURCES * sizeof *empty_at_ns;
    bool is_first;
    int file = open_locked(path, &is_first);
    if (ftruncate(file, size))
        die("%s: %s", path, strerror(errno));
    empty_at_ns = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (empty_at_ns == MAP_FAILED)
        die("%s: cannot map: %s", path, strerror(errno));
    /* What killed disks left is forgiven: the clock may have begun anew since. What disks that are
     * there have used stays. */
    for (int i = 0; is_first && i < RESOURCES; i++)
        atomic_store(&empty_at_ns[i], 0);
    if (is_first && flock(file, LOCK_SH))
        die("%s: cannot lock: %s", path, strerror(errno));
}

/* Moves the moment at which a bucket is empty, by what a request takes to leak; returns the one
 * that it found. */
static int64_t charge(_Atomic int64_t *bucket, int64_t takes_ns, int64_t at_ns)
{
    int64_t before_ns = atomic_load(bucket);
    int64_t after_ns;
    do
        after_ns = min_ns(LATEST_NS, max_ns(before_ns, at_ns) + takes_ns);
    while (!atomic_compare_exchange_weak(bucket, &before_ns, after_ns));
    return before_ns;
}

/* Charges a request that comes now and returns when the limits of all disks let it start. */
int64_t admit_shared(const struct limits *limits, int64_t at_ns, const int64_t costs[RESOURCES])
{
    require_disk_lock();
    const double rates[RESOURCES] = {[IOPS] = limits->shared_iops,
                                     [BYTES] = limits->shared_bytes_per_s};
    int64_t credit_ns = whole_ns(limits->credit_ms * NS_PER_S / 1e3);
    int64_t start_ns = at_ns;
    for (int i = 0; empty_at_ns && i < RESOURCES; i++) {
        if (rates[i] <= 0)
            continue;
        int64_t takes_ns = leak_ns(costs[i], rates[i], &fraction_ns[i]);
        int64_t found_ns = charge(&empty_at_ns[i], takes_ns, at_ns);
        start_ns = max_ns(start_ns, found_ns - credit_ns);
    }
    return start_ns;
}
