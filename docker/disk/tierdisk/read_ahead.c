/* Brings loaded data into the host's page cache, so that reads of a disk over them wait for the
 * tier alone. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>
#include <unistd.h>

#include "clock.h"
#include "die.h"
#include "read_ahead.h"

/* The least that kernels read ahead by default. Of a longer piece they would read only the first
 * part. */
#define PIECE_BYTES 131072

/* How often it is looked whether all is read. */
#define POLL_NS (NS_PER_S / 1000)

static atomic_bool is_read;

/* Half of the memory that the host could give away, in bytes; INT64_MAX if it does not say. */
static off_t room_in_memory(void)
{
    long long available_kib = 0;
    char line[128];
    FILE *file = fopen("/proc/meminfo", "re");
    if (!file)
        return INT64_MAX;
    while (!available_kib && fgets(line, sizeof line, file))
        sscanf(line, "MemAvailable: %lld", &available_kib);
    fclose(file);
    return available_kib ? available_kib * 1024 / 2 : INT64_MAX;
}

/* Asks for a file's data piece by piece, holes left out, as far as memory has room for them. Closes
 * the file. */
static void *read_ahead(void *argument)
{
    int file = (int)(intptr_t)argument;
    off_t room_bytes = room_in_memory();
    off_t offset = 0;
    while (room_bytes > 0 && (offset = lseek(file, offset, SEEK_DATA)) >= 0) {
        off_t end = lseek(file, offset, SEEK_HOLE);
        if (end < 0)
            break;
        for (; offset < end && room_bytes > 0; offset += PIECE_BYTES) {
            posix_fadvise(file, offset, PIECE_BYTES, POSIX_FADV_WILLNEED);
            room_bytes -= PIECE_BYTES;
        }
    }
    close(file);
    atomic_store(&is_read, true);
    return NULL;
}

/* Brings a file's data into the host's page cache, and closes the file. Returns when that is done,
 * or after `longest_wait_ns`: then it goes on meanwhile. Ends the program if there is no thread. */
void start_reading_ahead(int file, int64_t longest_wait_ns)
{
    pthread_t reader;
    if (pthread_create(&reader, NULL, read_ahead, (void *)(intptr_t)file))
        die("no thread to read ahead");
    pthread_detach(reader);
    /* By the monotonic clock: a wall clock may be set back meanwhile. */
    int64_t until_ns = now_ns() + longest_wait_ns;
    while (!atomic_load(&is_read) && now_ns() < until_ns)
        sleep_until_ns(now_ns() + POLL_NS);
}
