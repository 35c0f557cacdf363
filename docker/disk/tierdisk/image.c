/*
 * The image file that holds the disk's bytes.
 *
 * It is mapped, and small requests are copied: concurrent calls that write one file take its lock
 * in turn, and on a busy machine a preempted owner would hold up the whole disk. Large writes are
 * too few for that, and a call spares them one page fault, and one read of old bytes, per page.
 *
 * The mapping cannot refuse: where the host's disk is full or broken, touching it is a signal. A
 * copy that meets it is given up, and made by a call instead, which says what is wrong.
 *
 * Below a sparse image may be another one of its size, the base, which is only read: then a page is
 * the image's own once it was written, and the base's until then. So a disk starts from loaded data
 * without a copy of them, whose write-back would have to be waited for. Own pages lie in the image
 * in the order in which they were first written, not in that of the disk: scattered over a sparse
 * file they would be tens of thousands of extents, which some hosts discard one by one when the
 * file is removed. Which page lies where is only in memory: an image over a base cannot be read any
 * more when its server has ended.
 */
#define _GNU_SOURCE
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "clock.h"
#include "die.h"
#include "image.h"
#include "lock.h"
#include "read_ahead.h"

#define LARGE_REQUEST_BYTES 65536
/* So long may who starts the disk wait for the base to be read. */
#define LONGEST_READ_AHEAD_NS ((int64_t)10 * NS_PER_S)
#define EXIT_HOST_IO 74

struct image image;

static const char *base_bytes; /* NULL if there is no base; what follows is unused then */

/* Of each page of the disk: how many requests are writing all of it for the first time, or PAGE_OWN
 * when it was written. Until then its bytes are the base's. It changes under the lock, except that
 * an own page stays one. */
#define PAGE_OWN UINT8_MAX
static atomic_uchar *page_state;
static uint32_t *page_place; /* of each, its place in the image plus one; 0 = it has none yet */
static uint32_t places_given;
static pthread_mutex_t pages_lock = LOCK_INITIALIZER;
static pthread_cond_t page_changed = PTHREAD_COND_INITIALIZER;

/* Where this thread goes on if the copy that it makes meets what the host cannot store or read. */
static _Thread_local sigjmp_buf *volatile copy_given_up;

static void give_up_copy(int signal_number)
{
    (void)signal_number;
    if (copy_given_up)
        siglongjmp(*copy_given_up, 1);
    static const char text[] = "tierdisk: the host cannot store or read the image\n";
    (void)!write(STDERR_FILENO, text, sizeof text - 1);
    _exit(EXIT_HOST_IO);
}

/* Copies bytes of which some are mapped. False if the host could not store or read some of them;
 * how many were copied is not known then. */
static bool copy_mapped(char *target, const char *source, size_t size)
{
    sigjmp_buf here;
    if (sigsetjmp(here, 0)) {
        copy_given_up = NULL;
        return false;
    }
    copy_given_up = &here;
    atomic_signal_fence(memory_order_seq_cst); /* the copy is made between both */
    memcpy(target, source, size);
    atomic_signal_fence(memory_order_seq_cst);
    copy_given_up = NULL;
    return true;
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

/* Zeros; the program ends if there is no memory for them. */
static void *new_list(off_t count, size_t size)
{
    void *list = calloc(count, size);
    if (!list)
        die("no memory for a list of %lld", (long long)count);
    return list;
}

/* Opens the image, and its base unless that path is NULL. */
void open_image(const char *path, const char *base_path)
{
    image.bytes = map_file(path, true, &image.file, &image.size);
    struct sigaction on_bus_error = {.sa_handler = give_up_copy, .sa_flags = SA_NODEFER};
    sigaction(SIGBUS, &on_bus_error, NULL);
    if (!base_path)
        return;
    int base_file;
    off_t base_size;
    base_bytes = map_file(base_path, false, &base_file, &base_size);
    if (base_size != image.size)
        die("%s and %s differ in size", path, base_path);
    off_t pages = image.size / PAGE_BYTES;
    if (pages >= UINT32_MAX)
        die("%s: more pages than can be listed", path);
    page_state = new_list(pages, sizeof *page_state);
    page_place = new_list(pages, sizeof *page_place);
    start_reading_ahead(base_file, LONGEST_READ_AHEAD_NS);
}

/* How many of `size` bytes from that offset on the image has: fewer at its end, 0 beyond it. */
size_t bytes_before_end(off_t offset, size_t size)
{
    if (offset >= image.size)
        return 0;
    size_t rest = (size_t)(image.size - offset);
    return rest < size ? rest : size;
}

static bool page_is_own(off_t page)
{
    return atomic_load_explicit(&page_state[page], memory_order_acquire) == PAGE_OWN;
}

/* Where in the image a byte of the disk is whose page has a place. */
static off_t offset_in_image(off_t offset)
{
    uint32_t place = page_place[offset / PAGE_BYTES];
    assert(place > 0 && place <= image.size / PAGE_BYTES);
    return (off_t)(place - 1) * PAGE_BYTES + offset % PAGE_BYTES;
}

/* Where a byte is now. */
static const char *find_byte(off_t offset)
{
    if (!base_bytes)
        return image.bytes + offset;
    if (!page_is_own(offset / PAGE_BYTES))
        return base_bytes + offset;
    return image.bytes + offset_in_image(offset);
}

/* How many bytes from here on are in the page of this one, at most `size`. */
static size_t rest_of_page(off_t offset, size_t size)
{
    size_t rest = PAGE_BYTES - offset % PAGE_BYTES;
    return rest < size ? rest : size;
}

/* Finds where the bytes are: a piece for each run of pages that follow each other there, at most
 * one for each page that is touched. `room`: of pieces. Returns their number. */
size_t find_pieces(struct iovec *pieces, size_t room, size_t size, off_t offset)
{
    size_t count = 0;
    const char *end = NULL;
    assert(bytes_before_end(offset, size) == size);
    while (size) {
        size_t part = base_bytes ? rest_of_page(offset, size) : size;
        char *next = (char *)find_byte(offset);
        if (next != end) {
            assert(count < room);
            pieces[count++] = (struct iovec){.iov_base = next, .iov_len = 0};
        }
        pieces[count - 1].iov_len += part;
        end = next + part;
        offset += part;
        size -= part;
    }
    return count;
}

/* Writes bytes to the image at that offset in it by calls. Returns 0 or an errno. */
static int write_by_calls(const char *bytes, size_t size, off_t image_offset)
{
    while (size) {
        ssize_t written = pwrite(image.file, bytes, size, image_offset);
        if (written < 0 && errno == EINTR)
            continue;
        if (written < 0)
            return errno == EFAULT ? EIO : errno; /* the base could not be read */
        bytes += written;
        size -= written;
        image_offset += written;
    }
    return 0;
}

/* Writes bytes to the image at that offset in it. Returns 0 or an errno. */
static int write_bytes(const char *bytes, size_t size, off_t image_offset)
{
    if (size < LARGE_REQUEST_BYTES && copy_mapped(image.bytes + image_offset, bytes, size))
        return 0;
    return write_by_calls(bytes, size, image_offset);
}

/* Gives the page a place in the image unless it has one. */
static void give_place(off_t page)
{
    require_held(&pages_lock);
    if (page_place[page])
        return;
    assert(places_given < image.size / PAGE_BYTES);
    page_place[page] = ++places_given;
}

/* Makes a page that is about to be partly written the image's own, with the base's bytes. If others
 * are just writing all of it, their bytes are waited for: filling it then would undo theirs.
 * Returns 0 or an errno. */
static int fill_from_base(off_t page)
{
    require_held(&pages_lock);
    while (!page_is_own(page) && page_state[page] > 0)
        pthread_cond_wait(&page_changed, &pages_lock);
    if (page_is_own(page))
        return 0;
    give_place(page);
    off_t offset = page * PAGE_BYTES;
    int problem = write_bytes(base_bytes + offset, PAGE_BYTES, offset_in_image(offset));
    if (problem)
        return problem;
    atomic_store_explicit(&page_state[page], PAGE_OWN, memory_order_release);
    return 0;
}

/* Says of a page that all of it is about to be written. */
static void begin_whole_page(off_t page)
{
    require_held(&pages_lock);
    give_place(page);
    if (page_is_own(page))
        return;
    assert(page_state[page] < PAGE_OWN - 1); /* more requests than there are threads */
    atomic_fetch_add(&page_state[page], 1);
}

/* The pages that bytes of the disk touch: from `first` to before `end`, and of these those that are
 * all covered. */
struct touched {
    off_t first, end, first_whole, end_whole;
};

static struct touched touched_pages(off_t offset, off_t size)
{
    return (struct touched){
        .first = offset / PAGE_BYTES,
        .end = (offset + size + PAGE_BYTES - 1) / PAGE_BYTES,
        .first_whole = (offset + PAGE_BYTES - 1) / PAGE_BYTES,
        .end_whole = (offset + size) / PAGE_BYTES,
    };
}

static bool pages_are_own(struct touched pages)
{
    for (off_t page = pages.first; page < pages.end; page++)
        if (!page_is_own(page))
            return false;
    return true;
}

/* Before a change of bytes over a base: all their pages have places, and those at the ends that are
 * not all changed are own. These come first, as they may have to wait for others, which nobody does
 * who is waited for. Returns 0 or an errno; only after 0 must `end_change` follow. */
static int begin_change(off_t offset, off_t size)
{
    struct touched pages = touched_pages(offset, size);
    if (!base_bytes || pages_are_own(pages))
        return 0;
    int problem = 0;
    pthread_mutex_lock(&pages_lock);
    if (pages.first < pages.first_whole)
        problem = fill_from_base(pages.first);
    if (!problem && pages.end > pages.end_whole)
        problem = fill_from_base(pages.end - 1);
    for (off_t page = pages.first_whole; !problem && page < pages.end_whole; page++)
        begin_whole_page(page);
    pthread_mutex_unlock(&pages_lock);
    return problem;
}

/* After it. Pages whose bytes were not changed remain the base's. */
static void end_change(off_t offset, off_t size, bool is_changed)
{
    struct touched pages = touched_pages(offset, size);
    if (!base_bytes || pages_are_own(pages))
        return;
    pthread_mutex_lock(&pages_lock);
    for (off_t page = pages.first_whole; page < pages.end_whole; page++) {
        if (is_changed)
            atomic_store_explicit(&page_state[page], PAGE_OWN, memory_order_release);
        else if (!page_is_own(page)) {
            assert(page_state[page] > 0);
            atomic_fetch_sub(&page_state[page], 1);
        }
    }
    pthread_cond_broadcast(&page_changed);
    pthread_mutex_unlock(&pages_lock);
}

/* Finds where in the image the bytes are to be changed, whose pages have places. Returns how many
 * of them follow each other there. */
static size_t find_stretch(off_t *image_offset, off_t offset, size_t size)
{
    if (!base_bytes) {
        *image_offset = offset;
        return size;
    }
    *image_offset = offset_in_image(offset);
    size_t length = rest_of_page(offset, size);
    while (length < size && offset_in_image(offset + length) == *image_offset + (off_t)length)
        length += rest_of_page(offset + length, size - length);
    return length;
}

/* Not in line: variables of who calls sigsetjmp may be lost when it returns again. */
static __attribute__((noinline)) void touch_pages(const char *page, const char *end)
{
    for (; page < end; page += PAGE_BYTES)
        (void)*(const volatile char *)page;
}

/* As `copy_mapped`, of bytes that are only to be in memory. */
static bool touch_mapped(const char *page, const char *end)
{
    sigjmp_buf here;
    if (sigsetjmp(here, 0)) {
        copy_given_up = NULL;
        return false;
    }
    copy_given_up = &here;
    atomic_signal_fence(memory_order_seq_cst);
    touch_pages(page, end);
    atomic_signal_fence(memory_order_seq_cst);
    copy_given_up = NULL;
    return true;
}

/* Brings in from the host's disk, while the tier's latency runs, what the answer will hold. Returns
 * 0 or an errno. */
int load_pages(const struct iovec *piece)
{
    const char *bytes = piece->iov_base;
    const char *end = bytes + piece->iov_len;
    const char *first_page = bytes - (uintptr_t)bytes % PAGE_BYTES;
    if (piece->iov_len >= LARGE_REQUEST_BYTES)
        madvise((char *)first_page, end - first_page, MADV_WILLNEED);
    return touch_mapped(first_page, end) ? 0 : EIO;
}

/* Writes into the image. Returns 0 or an errno. */
int store(const char *bytes, size_t size, off_t offset)
{
    assert(bytes_before_end(offset, size) == size);
    off_t image_offset;
    size_t length;
    int problem = begin_change(offset, size);
    if (problem)
        return problem;
    for (size_t done = 0; done < size && !problem; done += length) {
        length = find_stretch(&image_offset, offset + done, size - done);
        problem = write_bytes(bytes + done, length, image_offset);
    }
    end_change(offset, size, !problem);
    return problem;
}

/* Punches holes and the like, as fallocate. Returns 0 or an errno. */
int change_allocation(int mode, off_t offset, off_t size)
{
    assert(bytes_before_end(offset, size) == (size_t)size);
    bool is_changing = mode & (FALLOC_FL_PUNCH_HOLE | FALLOC_FL_ZERO_RANGE);
    off_t image_offset;
    off_t length;
    int problem = begin_change(offset, size);
    if (problem)
        return problem;
    for (off_t done = 0; done < size && !problem; done += length) {
        length = find_stretch(&image_offset, offset + done, size - done);
        problem = fallocate(image.file, mode, image_offset, length) ? errno : 0;
    }
    end_change(offset, size, is_changing && !problem);
    return problem;
}
