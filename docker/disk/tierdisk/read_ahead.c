/* Brings loaded data into the host's memory, so that reads of a disk over them wait for the tier
 * alone. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

#include "die.h"
#include "read_ahead.h"

#define AHEAD_BYTES 131072 /* what kernels read ahead at least, unless they are told otherwise */
#define AHEAD_FOR_S 10

/* Half of the memory that the host could give away, in bytes; without end if it does not say. */
static off_t room_in_memory(void)
{
    long long kib = 0;
    char line[128];
    FILE *file = fopen("/proc/meminfo", "re");
    while (file && fgets(line, sizeof line, file) && sscanf(line, "MemAvailable: %lld", &kib) != 1)
        ;
    if (file)
        fclose(file);
    return kib ? kib * 1024 / 2 : INT64_MAX;
}

/* Brings the data of a file into the host's page cache, as a copy of them would have: reads shall
 * not wait for the host's disk. In pieces, because of what it is asked at once the kernel reads no
 * more than it reads ahead; and not what memory has no room for. Closes the file. */
static void *read_ahead(void *argument)
{
    int file = (int)(intptr_t)argument;
    off_t room_bytes = room_in_memory();
    off_t offset = 0;
    while (room_bytes > 0 && (offset = lseek(file, offset, SEEK_DATA)) >= 0) {
        off_t end = lseek(file, offset, SEEK_HOLE);
        if (end < 0)
            break;
        for (; offset < end && room_bytes > 0; offset += AHEAD_BYTES) {
            posix_fadvise(file, offset, AHEAD_BYTES, POSIX_FADV_WILLNEED);
            room_bytes -= AHEAD_BYTES;
        }
    }
    close(file);
    return NULL;
}

/* Begins that, and waits until it is done or for so long as who starts the disk may wait. The file
 * is closed in the end. */
void start_reading_ahead(int file)
{
    pthread_t reader;
    struct timespec until;
    if (pthread_create(&reader, NULL, read_ahead, (void *)(intptr_t)file))
        die("no thread to read ahead");
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += AHEAD_FOR_S;
    if (pthread_timedjoin_np(reader, NULL, &until))
        pthread_detach(reader);
}
