/*
 * Requests to the disk server's image (docker/disk/tierdisk/image.c) from several threads, without
 * FUSE or a loop device; test_image_bytes.py compiles and runs it.
 *
 *   image_requests overlap IMAGE BASE     of each page, all of it is written beside its first 512
 *                                         bytes; prints how many lost bytes of the whole write
 *   image_requests mixed IMAGE [BASE]     threads with a stretch of the disk each write, discard
 *                                         and read; prints how many reads differed from a copy
 *   image_requests unreadable IMAGE       the host cannot read the second half of the image; prints
 *                                         the errors of loading a page of each half
 *   image_requests fill IMAGE [BASE]      pages are written one by one until the host has no space;
 *                                         prints how many were, the error, and how many are still
 *                                         read back right
 *   image_requests end IMAGE              prints how many of a page's bytes the image has from
 *                                         offsets around its end and the last one that there is
 */
#include <fcntl.h>
#include <linux/falloc.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "image.h"

#define SECTOR_BYTES 512
#define THREADS 8
#define ROUNDS 2000
#define LARGEST_BYTES 131072
#define MOST_PIECES (LARGEST_BYTES / PAGE_BYTES + 1)

/* What image.c is compiled to call instead of memcpy (-Dmemcpy=copy_slowly): another thread gets
 * its turn within each copy, so what two copies can do to each other they do often. */
void *copy_slowly(void *target, const void *source, size_t size);
void *copy_slowly(void *target, const void *source, size_t size)
{
    size_t half = size / 2;
    sched_yield();
    memcpy(target, source, half);
    sched_yield();
    memcpy((char *)target + half, (const char *)source + half, size - half);
    return target;
}

static atomic_int arrived; /* how often one of the two threads of `overlap` came to a page */
static long different;

/* Both go on at the same moment: one that sleeps until the other comes would be later. */
static void meet(int meeting)
{
    atomic_fetch_add(&arrived, 1);
    while (atomic_load(&arrived) < 2 * meeting)
        sched_yield();
}

/* Copies bytes of the disk as an answer to a read would have them. */
static void read_bytes(char *bytes, size_t size, off_t offset)
{
    struct iovec pieces[MOST_PIECES];
    size_t count = find_pieces(pieces, MOST_PIECES, size, offset);
    for (size_t i = 0; i < count; i++) {
        memcpy(bytes, pieces[i].iov_base, pieces[i].iov_len);
        bytes += pieces[i].iov_len;
    }
}

static void *write_first_bytes(void *argument)
{
    size_t size = (size_t)(uintptr_t)argument;
    char bytes[PAGE_BYTES];
    memset(bytes, size == PAGE_BYTES ? 'A' : 'B', size);
    int meeting = 0;
    for (off_t offset = 0; offset < image.size; offset += PAGE_BYTES) {
        meet(++meeting);
        store(bytes, size, offset);
    }
    return NULL;
}

/* In either order all but the first sector is of the whole write. */
static void overlap(void)
{
    pthread_t whole, part;
    pthread_create(&whole, NULL, write_first_bytes, (void *)(uintptr_t)PAGE_BYTES);
    pthread_create(&part, NULL, write_first_bytes, (void *)(uintptr_t)SECTOR_BYTES);
    pthread_join(whole, NULL);
    pthread_join(part, NULL);
    for (off_t offset = 0; offset < image.size; offset += PAGE_BYTES) {
        char page[PAGE_BYTES];
        read_bytes(page, PAGE_BYTES, offset);
        char *rest = page + SECTOR_BYTES;
        different += *rest != 'A' || memcmp(rest, rest + 1, PAGE_BYTES - SECTOR_BYTES - 1);
    }
    printf("different %ld\n", different);
}

/* The stretches of neighbours meet within a page, so both take it over. */
static void *ask_at_random(void *argument)
{
    unsigned seed = (unsigned)(uintptr_t)argument;
    off_t sectors = image.size / SECTOR_BYTES / THREADS - 1;
    off_t begin = (off_t)seed * sectors * SECTOR_BYTES;
    off_t stretch_bytes = sectors * SECTOR_BYTES;
    char *expected = malloc(stretch_bytes), *bytes = malloc(LARGEST_BYTES);
    for (off_t done = 0; done < stretch_bytes; done += SECTOR_BYTES)
        read_bytes(expected + done, SECTOR_BYTES, begin + done);
    for (int round = 0; round < ROUNDS; round++) {
        off_t most = (round % 8 ? 24 : LARGEST_BYTES / SECTOR_BYTES);
        off_t size = (1 + rand_r(&seed) % most) * SECTOR_BYTES;
        off_t offset = rand_r(&seed) % ((stretch_bytes - size) / SECTOR_BYTES) * SECTOR_BYTES;
        int kind = rand_r(&seed) % 8;
        if (kind < 4) {
            memset(bytes, 'a' + round % 26, size);
            if (store(bytes, size, begin + offset))
                abort();
            memcpy(expected + offset, bytes, size);
        } else if (kind == 4) {
            int mode = FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE;
            if (change_allocation(mode, begin + offset, size))
                abort();
            memset(expected + offset, 0, size);
        } else {
            read_bytes(bytes, size, begin + offset);
            if (memcmp(bytes, expected + offset, size))
                __atomic_fetch_add(&different, 1, __ATOMIC_RELAXED);
        }
    }
    free(expected);
    free(bytes);
    return NULL;
}

static void mixed(void)
{
    pthread_t threads[THREADS];
    for (uintptr_t i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, ask_at_random, (void *)i);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    printf("different %ld\n", different);
}

static void fill(void)
{
    char bytes[PAGE_BYTES], back[PAGE_BYTES];
    long written = 0, right = 0;
    int problem = 0;
    memset(bytes, 'A', PAGE_BYTES);
    while (written * PAGE_BYTES < image.size && !problem) {
        problem = store(bytes, PAGE_BYTES, written * PAGE_BYTES);
        written += !problem;
    }
    for (long page = 0; page < written; page++) {
        read_bytes(back, PAGE_BYTES, page * PAGE_BYTES);
        right += !memcmp(back, bytes, PAGE_BYTES);
    }
    /* A part of a page, too, and one that has its space can still be written. */
    int part_problem = store(bytes, SECTOR_BYTES, image.size - PAGE_BYTES);
    int again_problem = store(bytes, PAGE_BYTES, 0);
    printf("written %ld error %d right %ld part %d again %d\n", written, problem, right,
           part_problem, again_problem);
}

static void unreadable(void)
{
    off_t half = image.size / 2;
    struct iovec first = {.iov_base = image.bytes, .iov_len = PAGE_BYTES};
    struct iovec second = {.iov_base = image.bytes + half, .iov_len = PAGE_BYTES};
    if (ftruncate(image.file, half))
        abort();
    int problem = load_pages(&first);
    printf("first %d second %d\n", problem, load_pages(&second));
}

static void end(void)
{
    const off_t offsets[] = {0,
                             image.size - PAGE_BYTES,
                             image.size - SECTOR_BYTES,
                             image.size - 1,
                             image.size,
                             image.size + SECTOR_BYTES,
                             INT64_MAX - SECTOR_BYTES,
                             INT64_MAX};
    for (size_t i = 0; i < sizeof offsets / sizeof *offsets; i++)
        printf("%zu ", bytes_before_end(offsets[i], PAGE_BYTES));
    char sector[SECTOR_BYTES], back[SECTOR_BYTES];
    memset(sector, 'A', SECTOR_BYTES);
    int problem = store(sector, SECTOR_BYTES, image.size - SECTOR_BYTES);
    read_bytes(back, SECTOR_BYTES, image.size - SECTOR_BYTES);
    printf("error %d different %d\n", problem, !!memcmp(sector, back, SECTOR_BYTES));
}

int main(int argc, char **argv)
{
    if (argc < 3)
        return 64;
    open_image(argv[2], argc > 3 ? argv[3] : NULL);
    if (!strcmp(argv[1], "overlap"))
        overlap();
    else if (!strcmp(argv[1], "mixed"))
        mixed();
    else if (!strcmp(argv[1], "unreadable"))
        unreadable();
    else if (!strcmp(argv[1], "fill"))
        fill();
    else if (!strcmp(argv[1], "end"))
        end();
    else
        return 64;
    return 0;
}
