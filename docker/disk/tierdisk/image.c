/*
 * The image file that holds the disk's bytes.
 *
 * It is mapped, and small requests are copied: concurrent calls that write one file take its lock
 * in turn, and on a busy machine a preempted owner would hold up the whole disk. Large writes are
 * too few for that, and a call spares them one page fault, and one read of old bytes, per page.
 *
 * Below a sparse image may be another one of its size, which is only read: then a page is the
 * image's own once it was written, and that of the one below until then. So a disk starts from
 * loaded data without a copy of them, whose write-back would have to be waited for. Own pages lie
 * in the image in the order in which they were first written, not in that of the disk: scattered
 * over a sparse file they would be tens of thousands of extents, which some hosts discard one by
 * one when the file is removed.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "die.h"
#include "image.h"

#define LARGE_REQUEST_BYTES 65536
#define EXIT_HOST_IO 74
#define AHEAD_BYTES 131072 /* what kernels read ahead at least, unless they are told otherwise */
#define AHEAD_FOR_S 10

struct image image;

static const char *below; /* the bytes below; NULL if there are none, and then the rest is unused */
static atomic_uchar *own; /* of each page, whether it is the image's own */
static uint32_t *places;  /* of each page, its place in the image plus one; 0 if it has none yet */
static uint32_t places_given;
static pthread_mutex_t giving = PTHREAD_MUTEX_INITIALIZER; /* places, and pages their old bytes */

/* A page of a sparse image that the host has no room for cannot be refused, only not written. */
static void end_without_space(int signal_number)
{
    (void)signal_number;
    static const char text[] =
        "tierdisk: the host cannot store or read the image (is its disk full?)\n";
    (void)!write(STDERR_FILENO, text, sizeof text - 1);
    _exit(EXIT_HOST_IO);
}

/* Opens and maps a file; the program ends if that cannot be done. */
static char *map_file(const char *path, bool writable, int *file, off_t *size)
{
    struct stat status;
    *file = open(path, (writable ? O_RDWR : O_RDONLY) | O_CLOEXEC);
    if (*file < 0 || fstat(*file, &status))
        die("%s: %s", path, strerror(errno));
    *size = status.st_size;
    if (!S_ISREG(status.st_mode) || *size <= 0 || *size % PAGE_BYTES)
        die("%s: an image is a regular file of a multiple of %d bytes", path, PAGE_BYTES);
    int access = writable ? PROT_READ | PROT_WRITE : PROT_READ;
    char *bytes = mmap(NULL, *size, access, MAP_SHARED, *file, 0);
    if (bytes == MAP_FAILED)
        die("%s: cannot map: %s", path, strerror(errno));
    madvise(bytes, *size, MADV_RANDOM);
    return bytes;
}

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
    off_t room = room_in_memory(), at = 0;
    while (room > 0 && (at = lseek(file, at, SEEK_DATA)) >= 0) {
        off_t end = lseek(file, at, SEEK_HOLE);
        for (; at < end && room > 0; at += AHEAD_BYTES, room -= AHEAD_BYTES)
            posix_fadvise(file, at, AHEAD_BYTES, POSIX_FADV_WILLNEED);
    }
    close(file);
    return NULL;
}

/* Begins that, and waits until it is done or for so long as who starts the disk may wait. */
static void start_reading_ahead(int file)
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

/* Opens the image, and the one below it unless that is NULL. */
void open_image(const char *path, const char *path_below)
{
    image.bytes = map_file(path, true, &image.file, &image.size);
    signal(SIGBUS, end_without_space);
    if (!path_below)
        return;
    int file;
    off_t size;
    below = map_file(path_below, false, &file, &size);
    if (size != image.size)
        die("%s and %s differ in size", path, path_below);
    if (size / PAGE_BYTES >= UINT32_MAX)
        die("%s: more pages than can be listed", path);
    own = calloc(size / PAGE_BYTES, sizeof *own);
    places = calloc(size / PAGE_BYTES, sizeof *places);
    if (!own || !places)
        die("no memory for a list of %lld pages", (long long)(size / PAGE_BYTES));
    start_reading_ahead(file);
}

/* Where in the image a byte is whose page has a place. */
static off_t place_of(off_t offset)
{
    return (off_t)(places[offset / PAGE_BYTES] - 1) * PAGE_BYTES + offset % PAGE_BYTES;
}

/* Where a byte is now. */
static const char *find_byte(off_t offset)
{
    if (!below)
        return image.bytes + offset;
    bool is_own = atomic_load_explicit(&own[offset / PAGE_BYTES], memory_order_acquire);
    return is_own ? image.bytes + place_of(offset) : below + offset;
}

/* How many bytes from here on are in the page of this one, at most `size`. */
static size_t rest_of_page(off_t offset, size_t size)
{
    size_t rest = PAGE_BYTES - offset % PAGE_BYTES;
    return rest < size ? rest : size;
}

/* Finds where the bytes are: a piece for each run of pages that follow each other there, at most
 * one for each page that is touched. Returns their number. */
size_t find_pieces(struct iovec *pieces, size_t size, off_t offset)
{
    size_t count = 0;
    const char *end = NULL;
    while (size) {
        size_t part = below ? rest_of_page(offset, size) : size;
        char *next = (char *)find_byte(offset);
        if (next != end)
            pieces[count++] = (struct iovec){.iov_base = next, .iov_len = 0};
        pieces[count - 1].iov_len += part;
        end = next + part;
        offset += part;
        size -= part;
    }
    return count;
}

/* Gives the page a place in the image unless it has one. Needs the lock. */
static void give_place(off_t page)
{
    if (!places[page])
        places[page] = ++places_given;
}

/* Makes a page that is only partly written the image's own, with the bytes below. Needs the lock
 * of places. */
static void take_over(off_t page)
{
    if (atomic_load(&own[page]))
        return;
    memcpy(image.bytes + place_of(page * PAGE_BYTES), below + page * PAGE_BYTES, PAGE_BYTES);
    atomic_store_explicit(&own[page], true, memory_order_release);
}

/* Before a change of bytes: all their pages have places, and those at the ends that are not all
 * changed are made own. */
static void prepare_pages(off_t offset, off_t size)
{
    if (!below)
        return;
    pthread_mutex_lock(&giving);
    for (off_t page = offset / PAGE_BYTES; page * PAGE_BYTES < offset + size; page++)
        give_place(page);
    if (offset % PAGE_BYTES)
        take_over(offset / PAGE_BYTES);
    if ((offset + size) % PAGE_BYTES)
        take_over((offset + size) / PAGE_BYTES);
    pthread_mutex_unlock(&giving);
}

/* After it: all its pages are own. */
static void mark_own(off_t offset, off_t size)
{
    if (below)
        for (off_t page = offset / PAGE_BYTES; page * PAGE_BYTES < offset + size; page++)
            atomic_store_explicit(&own[page], true, memory_order_release);
}

/* Finds where in the image the bytes are to be changed, whose pages have places. Returns how many
 * of them follow each other there. */
static size_t find_stretch(off_t *place, off_t offset, size_t size)
{
    *place = below ? place_of(offset) : offset;
    if (!below)
        return size;
    size_t length = rest_of_page(offset, size);
    while (length < size && place_of(offset + length) == *place + (off_t)length)
        length += rest_of_page(offset + length, size - length);
    return length;
}

/* Brings in from the host's disk, while the tier's latency runs, what the answer will hold. */
void load_pages(const struct iovec *piece)
{
    char *bytes = piece->iov_base;
    size_t size = piece->iov_len;
    char *page = (char *)((uintptr_t)bytes & ~(uintptr_t)(PAGE_BYTES - 1));
    if (size >= LARGE_REQUEST_BYTES)
        madvise(page, size + (bytes - page), MADV_WILLNEED);
    for (; page < bytes + size; page += PAGE_BYTES)
        (void)*(volatile char *)page;
}

static int write_bytes(const char *bytes, size_t size, off_t offset)
{
    if (size < LARGE_REQUEST_BYTES) {
        memcpy(image.bytes + offset, bytes, size);
        return 0;
    }
    while (size) {
        ssize_t written = pwrite(image.file, bytes, size, offset);
        if (written < 0 && errno == EINTR)
            continue;
        if (written < 0)
            return errno;
        bytes += written;
        size -= written;
        offset += written;
    }
    return 0;
}

/* Writes into the image. Returns 0 or an errno. */
int store(const char *bytes, size_t size, off_t offset)
{
    off_t place;
    size_t length;
    prepare_pages(offset, size);
    for (size_t done = 0; done < size; done += length) {
        length = find_stretch(&place, offset + done, size - done);
        int problem = write_bytes(bytes + done, length, place);
        if (problem)
            return problem;
    }
    mark_own(offset, size);
    return 0;
}

/* Punches holes and the like, as fallocate. Returns 0 or an errno. */
int change_allocation(int mode, off_t offset, off_t size)
{
    off_t place;
    off_t length;
    prepare_pages(offset, size);
    for (off_t done = 0; done < size; done += length) {
        length = find_stretch(&place, offset + done, size - done);
        if (fallocate(image.file, mode, place, length))
            return errno;
    }
    if (mode & (FALLOC_FL_PUNCH_HOLE | FALLOC_FL_ZERO_RANGE))
        mark_own(offset, size);
    return 0;
}
