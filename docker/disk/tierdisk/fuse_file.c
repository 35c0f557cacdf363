/*
 * The one file that FUSE shows: its operations, and the loop that answers them.
 *
 * Each request has a thread and a buffer of its own, so nothing waits for a stranger and no buffer
 * is shared. The signatures are those of struct fuse_lowlevel_ops.
 */
#define _GNU_SOURCE
#define FUSE_USE_VERSION 317
#include <errno.h>
#include <fcntl.h>
#include <fuse_lowlevel.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "die.h"
#include "fuse_file.h"
#include "image.h"
#include "lock.h"
#include "turn.h"

/* Above the loop driver's queue depth (128): a request never waits for a thread. */
#define THREADS 160
#define ATTRIBUTES_VALID_S 3600
/* Of a read: the pages of the largest request, and one more where it begins within a page. */
#define MOST_PIECES (LARGEST_REQUEST_BYTES / PAGE_BYTES + 1)
_Static_assert(THREADS < UINT8_MAX - 1, "image.c counts the requests of a page in a byte");

/* Counts an error of the host, which the tier's disk would not have, and says so of the first one;
 * not what its file system merely cannot do. Returns it. */
static int count_host_error(int problem)
{
    if (!problem || problem == EOPNOTSUPP)
        return problem;
    lock_disk();
    bool is_first = !disk.host_errors;
    disk.host_errors++;
    unlock_disk();
    if (is_first)
        fprintf(stderr, "tierdisk: the host cannot store or read the image: %s\n",
                strerror(problem));
    return problem;
}

/* Answers with bytes of the image; fewer at its end. */
static void file_read(fuse_req_t request, fuse_ino_t inode, size_t size, off_t offset,
                      struct fuse_file_info *file)
{
    (void)inode, (void)file;
    size = bytes_before_end(offset, size);
    if (!size) {
        fuse_reply_buf(request, NULL, 0);
        return;
    }
    struct turn turn = begin_turn(READ, size);
    struct iovec pieces[MOST_PIECES];
    size_t count = find_pieces(pieces, MOST_PIECES, size, offset);
    int problem = 0;
    for (size_t i = 0; i < count && !problem; i++)
        problem = load_pages(&pieces[i]);
    if (count_host_error(problem)) {
        fuse_reply_err(request, problem);
        return;
    }
    finish_turn(&turn);
    fuse_reply_iov(request, pieces, count);
}

/* Stores bytes in the image; beyond its end there is no space, as a disk does not grow. */
static void file_write(fuse_req_t request, fuse_ino_t inode, const char *bytes, size_t size,
                       off_t offset, struct fuse_file_info *file)
{
    (void)inode, (void)file;
    if (bytes_before_end(offset, size) < size) {
        fuse_reply_err(request, ENOSPC);
        return;
    }
    struct turn turn = begin_turn(WRITE, size);
    int problem = count_host_error(store(bytes, size, offset));
    if (problem) {
        fuse_reply_err(request, problem);
        return;
    }
    finish_turn(&turn);
    fuse_reply_write(request, size);
}

/*
 * Answers a flush. A cloud disk has made a write durable when it answers it, so its flush is nearly
 * free. The host's is not: it would hold up the loop driver's only worker, and every request behind
 * it, for as long as the laptop's disk likes.
 */
static void file_fsync(fuse_req_t request, fuse_ino_t inode, int datasync,
                       struct fuse_file_info *file)
{
    (void)inode, (void)datasync, (void)file;
    lock_disk();
    await_stall();
    bool reaches_host = disk.limits.flush;
    disk.flushes++;
    unlock_disk();
    fuse_reply_err(request, count_host_error(reaches_host && fdatasync(image.file) ? errno : 0));
}

/* Punches holes and the like, for the discards of the file system. */
static void file_fallocate(fuse_req_t request, fuse_ino_t inode, int mode, off_t offset,
                           off_t length, struct fuse_file_info *file)
{
    (void)inode, (void)file;
    if (bytes_before_end(offset, length) < (size_t)length) {
        fuse_reply_err(request, ENOSPC);
        return;
    }
    lock_disk();
    await_stall();
    unlock_disk();
    fuse_reply_err(request, count_host_error(change_allocation(mode, offset, length)));
}

/* The file's attributes, which never change. */
static void file_getattr(fuse_req_t request, fuse_ino_t inode, struct fuse_file_info *file)
{
    (void)inode, (void)file;
    struct stat status = {.st_ino = FUSE_ROOT_ID,
                          .st_mode = S_IFREG | 0600,
                          .st_nlink = 1,
                          .st_size = image.size,
                          .st_blocks = image.size / 512,
                          .st_blksize = 4096};
    fuse_reply_attr(request, &status, ATTRIBUTES_VALID_S);
}

/* Times are not kept; the size is the image's and stays. */
static void file_setattr(fuse_req_t request, fuse_ino_t inode, struct stat *wanted, int which,
                         struct fuse_file_info *file)
{
    if ((which & FUSE_SET_ATTR_SIZE) && wanted->st_size != image.size)
        fuse_reply_err(request, EPERM);
    else
        file_getattr(request, inode, file);
}

/* Without the page cache: one above the throttle would hide reads from it. */
static void file_open(fuse_req_t request, fuse_ino_t inode, struct fuse_file_info *file)
{
    (void)inode;
    file->direct_io = 1;
    file->parallel_direct_writes = 1;
    file->keep_cache = 0;
    fuse_reply_open(request, file);
}

/* Agrees with the kernel on large requests, many at a time. */
static void file_init(void *data, struct fuse_conn_info *connection)
{
    (void)data;
    if (!fuse_set_feature_flag(connection, FUSE_CAP_ASYNC_DIO))
        die("this kernel's FUSE has no asynchronous direct I/O");
    fuse_unset_feature_flag(connection, FUSE_CAP_SPLICE_READ);
    fuse_unset_feature_flag(connection, FUSE_CAP_SPLICE_WRITE);
    fuse_unset_feature_flag(connection, FUSE_CAP_SPLICE_MOVE);
    connection->max_write = disk.request_bytes;
    connection->max_read = disk.request_bytes;
    /* The default of 12 would be the queue depth of the disk. */
    connection->max_background = THREADS;
    connection->congestion_threshold = THREADS;
}

static const struct fuse_lowlevel_ops OPERATIONS = {
    .init = file_init,
    .getattr = file_getattr,
    .setattr = file_setattr,
    .open = file_open,
    .read = file_read,
    .write = file_write,
    .fsync = file_fsync,
    .fallocate = file_fallocate,
};

/* Mounts the file and answers requests until a signal ends it. Returns the exit code. */
int serve_file(const char *mountpoint)
{
    char options[96];
    snprintf(options, sizeof options, "fsname=tierbench,subtype=disk,max_read=%zu",
             disk.request_bytes);
    char *argv[] = {"tierdisk", "-o", options};
    struct fuse_args arguments = FUSE_ARGS_INIT(3, argv);
    struct fuse_session *session =
        fuse_session_new(&arguments, &OPERATIONS, sizeof OPERATIONS, NULL);
    if (!session || fuse_set_signal_handlers(session) || fuse_session_mount(session, mountpoint))
        die("cannot mount FUSE at %s (is /dev/fuse there and CAP_SYS_ADMIN given?)", mountpoint);

    struct fuse_loop_config *config = fuse_loop_cfg_create();
    fuse_loop_cfg_set_max_threads(config, THREADS);
    fuse_loop_cfg_set_idle_threads(config, THREADS);
    fuse_loop_cfg_set_clone_fd(config, 0);
    int result = fuse_session_loop_mt(session, config);
    fuse_session_unmount(session);
    return result < 0;
}
