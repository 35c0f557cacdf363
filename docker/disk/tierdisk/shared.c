/*
 * Limits that several disks have together, such as those of an account: leaky buckets in a file
 * that each disk's server maps.
 *
 * A bucket is one number, as in throttle.c: the moment, by the clock that all processes of a
 * machine have, at which it will have leaked empty. It is moved by compare and exchange, so no
 * server waits for another, and one that is killed leaves nothing locked. A request is charged when
 * it comes, not when its own disk lets it start: else one that waits long for a slow disk would
 * hold back the others.
 */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "die.h"
#include "shared.h"

static _Atomic double *empty_at_ns; /* of each resource; NULL if nothing is shared */

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

/* Charges one bucket, which may run ahead by `credit_ns`; returns when the request may start. */
static double charge(_Atomic double *bucket, double rate, double cost, double credit_ns, double now)
{
    double was = atomic_load(bucket), next;
    do
        next = fmax(was, now) + cost / rate * 1e9;
    while (!atomic_compare_exchange_weak(bucket, &was, next));
    return was - credit_ns;
}

/* Charges a request that comes now and returns when the limits of all disks let it start. */
double admit_shared(const struct limits *l, double now, const double costs[RESOURCES])
{
    const double rates[RESOURCES] = {[IOPS] = l->shared_iops, [BYTES] = l->shared_bytes_per_s};
    double start = now, credit_ns = l->credit_ms * 1e6;
    for (int i = 0; empty_at_ns && i < RESOURCES; i++)
        if (rates[i] > 0)
            start = fmax(start, charge(&empty_at_ns[i], rates[i], costs[i], credit_ns, now));
    return start;
}
