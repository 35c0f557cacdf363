/*
 * The image file that holds the disk's bytes.
 *
 * It is mapped, and small requests are copied: concurrent calls that write one file take its lock
 * in turn, and on a busy machine a preempted owner would hold up the whole disk. Large writes are
 * too few for that, and a call spares them one page fault, and one read of old bytes, per page.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "die.h"
#include "image.h"

#define PAGE_BYTES 4096
#define LARGE_REQUEST_BYTES 65536
#define EXIT_HOST_IO 74

struct image image;

/* A page of a sparse image that the host has no room for cannot be refused, only not written. */
static void end_without_space(int signal_number)
{
    (void)signal_number;
    static const char text[] =
        "tierdisk: the host cannot store or read the image (is its disk full?)\n";
    (void)!write(STDERR_FILENO, text, sizeof text - 1);
    _exit(EXIT_HOST_IO);
}

/* Opens and maps the image; the program ends if that cannot be done. */
void open_image(const char *path)
{
    struct stat status;
    image.file = open(path, O_RDWR | O_CLOEXEC);
    if (image.file < 0 || fstat(image.file, &status))
        die("%s: %s", path, strerror(errno));
    image.size = status.st_size;
    if (!S_ISREG(status.st_mode) || image.size <= 0 || image.size % PAGE_BYTES)
        die("%s: an image is a regular file of a multiple of %d bytes", path, PAGE_BYTES);
    image.bytes = mmap(NULL, image.size, PROT_READ | PROT_WRITE, MAP_SHARED, image.file, 0);
    if (image.bytes == MAP_FAILED)
        die("%s: cannot map: %s", path, strerror(errno));
    madvise(image.bytes, image.size, MADV_RANDOM);
    signal(SIGBUS, end_without_space);
}

/* Brings in from the host's disk, while the tier's latency runs, what the answer will hold. */
void load_pages(char *bytes, size_t size)
{
    char *page = (char *)((uintptr_t)bytes & ~(uintptr_t)(PAGE_BYTES - 1));
    if (size >= LARGE_REQUEST_BYTES)
        madvise(page, size + (bytes - page), MADV_WILLNEED);
    for (; page < bytes + size; page += PAGE_BYTES)
        (void)*(volatile char *)page;
}

/* Writes into the image. Returns 0 or an errno. */
int store(const char *bytes, size_t size, off_t offset)
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
