/*
 * tierdisk: one image file, shown as a file that is as slow as a rented disk.
 *
 * It serves a single FUSE file whose bytes are the image's. Every read and
 * write is charged to the tier's limits (IOPS, bytes/s, each with an optional
 * credit burst) and answered when the tier's latency has passed. A loop device
 * on that file is the block device a database gets.
 *
 * Why a program of our own: QEMU's FUSE export with a throttle node answers
 * nested requests last-in-first-out and passes at most 16 at a time to nbdkit.
 * At 5 ms it tops out at 1,700 IOPS whatever is declared, and p99 doubles
 * long before the cap. Here each request has a thread and a buffer of its
 * own, so nothing waits for a stranger and no buffer is shared.
 *
 *   tierdisk serve IMAGE MOUNTPOINT SOCKET [name=value]...
 *   tierdisk ask SOCKET limits | stats | set name=value...
 *   tierdisk probe DEVICE COUNT    median of single reads, in microseconds
 *   tierdisk path DEVICE SOCKET    what the way through the kernel costs, as assignments for `set`
 *   tierdisk busy DEVICE           exit 0 when something has it mounted
 *   tierdisk loops                 every loop device that a disk of ours made
 */
#define _GNU_SOURCE
#define FUSE_USE_VERSION 317
#include <errno.h>
#include <fcntl.h>
#include <fuse_lowlevel.h>
#include <linux/loop.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#define VERSION "1"

/* Every disk lives below this; it is how a loop device is known to be ours. */
#define HOME "/run/tierbench"

/* Above the loop driver's queue depth (128): a request never waits for a thread. */
#define THREADS 160

/* ---- words ------------------------------------------------------------- */

static void die(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fputs("tierdisk: ", stderr);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
    exit(1);
}

static double now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1e9 + t.tv_nsec;
}

static void sleep_until(double when_ns)
{
    struct timespec t = {.tv_sec = (time_t)(when_ns / 1e9)};
    t.tv_nsec = (long)(when_ns - t.tv_sec * 1e9);
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL) == EINTR)
        ;
}

/* ---- limits: what is declared ------------------------------------------ */

enum { READ, WRITE, KINDS };
static const char *const kinds[KINDS] = {"read", "write"};

/* 0 = unlimited. A burst length is how long a full bucket holds the burst. */
struct limits {
    double iops, bytes_per_s;
    double iops_burst, iops_burst_length;
    double bytes_burst, bytes_burst_length;
    double io_unit;                            /* one I/O per started unit */
    double latency_us[KINDS];                  /* as seen by the user of the device */
    double path_us[KINDS];                     /* what the way through loop and FUSE costs already, */
    double path_slope[KINDS];                  /* and more of it per us of latency, as processors sleep deeper */
    double credit_ms;                          /* how far an idle disk without burst may run ahead */
    double burst_start;                        /* percent of the bucket at start */
    double flush;                              /* 1 = a flush reaches the host's disk */
};

static const struct { const char *name; size_t offset; } fields[] = {
#define FIELD(name) {#name, offsetof(struct limits, name)}
#define FIELD_OF_KINDS(name) {"read_" #name, offsetof(struct limits, name[READ])}, \
                             {"write_" #name, offsetof(struct limits, name[WRITE])}
    FIELD(iops), FIELD(bytes_per_s), FIELD(iops_burst), FIELD(iops_burst_length),
    FIELD(bytes_burst), FIELD(bytes_burst_length), FIELD(io_unit), FIELD_OF_KINDS(latency_us),
    FIELD_OF_KINDS(path_us), FIELD_OF_KINDS(path_slope), FIELD(credit_ms), FIELD(burst_start), FIELD(flush),
#undef FIELD_OF_KINDS
#undef FIELD
};
#define FIELDS (sizeof fields / sizeof *fields)

static double *field(struct limits *l, size_t i) { return (double *)((char *)l + fields[i].offset); }

/* Returns NULL, or what is wrong with the assignment. */
static const char *assign(struct limits *l, const char *text)
{
    static __thread char problem[160];
    const char *equals = strchr(text, '=');
    for (size_t i = 0; equals && i < FIELDS; i++) {
        if (strlen(fields[i].name) != (size_t)(equals - text) || strncmp(fields[i].name, text, equals - text))
            continue;
        char *end;
        double value = strtod(equals + 1, &end);
        if (end == equals + 1 || *end || !isfinite(value) || value < 0)
            break;
        *field(l, i) = value;
        return NULL;
    }
    snprintf(problem, sizeof problem, "not a limit, or not a number of 0 or more: %.100s", text);
    return problem;
}

static const char *check(const struct limits *l)
{
    if (l->iops_burst > 0 && (l->iops <= 0 || l->iops_burst <= l->iops || l->iops_burst_length <= 0))
        return "iops_burst needs iops, more than iops, and iops_burst_length";
    if (l->bytes_burst > 0 && (l->bytes_per_s <= 0 || l->bytes_burst <= l->bytes_per_s || l->bytes_burst_length <= 0))
        return "bytes_burst needs bytes_per_s, more than bytes_per_s, and bytes_burst_length";
    if (l->io_unit < 4096 || l->io_unit > 1048576)
        return "io_unit must be 4096 to 1048576";
    if (l->burst_start > 100)
        return "burst_start is a percentage";
    return NULL;
}

/* ---- throttle: when a request may start -------------------------------- */

/*
 * A leaky bucket kept as one number: the moment at which it will have leaked
 * empty. Filling it beyond `depth` is what makes a request wait. Nothing polls
 * and nothing drifts: a request that starts late is not charged later.
 */
struct bucket { double rate, depth, empty_at_ns; };

enum { IOPS, IOPS_BURST, BYTES, BYTES_BURST, BUCKETS };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct limits limits;
static struct bucket buckets[BUCKETS];
static double last_start_ns;

static void reshape(struct bucket *b, double rate, double depth, double now)
{
    double level = b->rate > 0 && b->empty_at_ns > now ? (b->empty_at_ns - now) * b->rate : 0;
    b->rate = rate;
    b->depth = depth;
    b->empty_at_ns = rate > 0 ? now + level / rate : now;
}

static void shape_pair(struct bucket *base, struct bucket *burst, double rate, double peak, double length, double now)
{
    double credit_s = limits.credit_ms / 1e3;
    bool bursts = peak > 0;
    reshape(base, rate, bursts ? length * (peak - rate) : rate * credit_s, now);
    reshape(burst, bursts ? peak : 0, peak * credit_s, now);
}

/* Called with the lock held. What is in the buckets stays in them. */
static void shape(double now)
{
    shape_pair(&buckets[IOPS], &buckets[IOPS_BURST], limits.iops, limits.iops_burst, limits.iops_burst_length, now);
    shape_pair(&buckets[BYTES], &buckets[BYTES_BURST], limits.bytes_per_s, limits.bytes_burst, limits.bytes_burst_length, now);
}

static void spend_credit(double percent_left, double now)
{
    for (int i = 0; i < BUCKETS; i += 2)
        if (buckets[i + 1].rate > 0)
            buckets[i].empty_at_ns = now + buckets[i].depth * (1 - percent_left / 100) / buckets[i].rate * 1e9;
}

/* Called with the lock held. Requests start in the order in which they came. */
static double admit(double now, double bytes)
{
    double cost[BUCKETS];
    cost[IOPS] = cost[IOPS_BURST] = ceil(bytes / limits.io_unit);
    cost[BYTES] = cost[BYTES_BURST] = bytes;
    double start = now > last_start_ns ? now : last_start_ns;
    for (int i = 0; i < BUCKETS; i++) {
        struct bucket *b = &buckets[i];
        if (b->rate > 0)
            start = fmax(start, b->empty_at_ns - b->depth / b->rate * 1e9);
    }
    for (int i = 0; i < BUCKETS; i++) {
        struct bucket *b = &buckets[i];
        if (b->rate > 0)
            b->empty_at_ns = fmax(b->empty_at_ns, start) + cost[i] / b->rate * 1e9;
    }
    last_start_ns = start;
    return start;
}

/* ---- counters ---------------------------------------------------------- */

/* late: woken after the moment asked for; over: the host alone took longer than the tier may. */
static struct { double ops, bytes, waited_ns, late_ns, host_ns, over; } counters[KINDS];
static double flushes;

/* ---- the file ---------------------------------------------------------- */

static int image;
static char *image_map;
static off_t image_bytes;
static size_t request_bytes;

struct turn { int kind; double came_ns, start_ns, due_ns, early_ns; };

/*
 * An idle processor takes its time to wake up, the longer it has slept: a quarter of a fast disk's
 * latency. So a sleep is asked for that ends earlier by what sleeps of its kind usually end late,
 * their running median, which as many answers miss on one side as on the other.
 */
#define MOST_EARLY_NS 200e3
#define STEP_NS 1e3
static double early_ns[KINDS];

/* Beyond this no processor sleeps deeper, and the way is a small part of the latency. */
#define DEEPEST_US 2000.0

static struct turn begin(int kind, size_t bytes)
{
    struct turn t = {.kind = kind, .came_ns = now_ns()};
    pthread_mutex_lock(&lock);
    t.start_ns = admit(t.came_ns, bytes);
    double latency_us = limits.latency_us[kind];
    double path_us = limits.path_us[kind] + limits.path_slope[kind] * fmin(latency_us, DEEPEST_US);
    t.due_ns = t.start_ns + fmax(0, latency_us - path_us) * 1e3;
    t.early_ns = early_ns[kind];
    counters[kind].ops += 1;
    counters[kind].bytes += bytes;
    counters[kind].waited_ns += t.start_ns - t.came_ns;
    pthread_mutex_unlock(&lock);
    return t;
}

/* The bytes are moved first and the answer held back: the host's time is part of the latency, not added to it. */
static void finish(struct turn *t)
{
    double now = now_ns(), host_ns = now - t->came_ns, late_ns = 0;
    double until_ns = t->due_ns - t->early_ns;
    bool over = now > t->due_ns, slept = now < until_ns;
    if (slept) {
        sleep_until(until_ns);
        now = now_ns();
        late_ns = fmax(0, now - t->due_ns);
    }
    pthread_mutex_lock(&lock);
    if (slept) {
        double *early = &early_ns[t->kind];
        *early = fmin(MOST_EARLY_NS, fmax(0, *early + (now - until_ns > *early ? STEP_NS : -STEP_NS)));
    }
    counters[t->kind].host_ns += host_ns;
    counters[t->kind].late_ns += late_ns;
    counters[t->kind].over += over;
    pthread_mutex_unlock(&lock);
}

/*
 * The image is mapped, and small requests are copied: concurrent calls that
 * write one file take its lock in turn, and on a busy machine a preempted owner
 * would hold up the whole disk. Large writes are too few for that, and a call
 * spares them one page fault, and one read of old bytes, per page.
 */
#define LARGE 65536

/* Brings in from the host's disk, while the tier's latency runs, what the answer will hold. */
static void touch(char *bytes, size_t size)
{
    char *page = (char *)((uintptr_t)bytes & ~(uintptr_t)4095);
    if (size >= LARGE)
        madvise(page, size + (bytes - page), MADV_WILLNEED);
    for (; page < bytes + size; page += 4096)
        (void)*(volatile char *)page;
}

static int store(const char *bytes, size_t size, off_t offset)
{
    if (size < LARGE) {
        memcpy(image_map + offset, bytes, size);
        return 0;
    }
    while (size) {
        ssize_t n = pwrite(image, bytes, size, offset);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return errno;
        bytes += n, size -= n, offset += n;
    }
    return 0;
}

static void disk_read(fuse_req_t request, fuse_ino_t inode, size_t size, off_t offset, struct fuse_file_info *file)
{
    (void)inode, (void)file;
    if (offset >= image_bytes) {
        fuse_reply_buf(request, NULL, 0);
        return;
    }
    if ((off_t)size > image_bytes - offset)
        size = image_bytes - offset;
    struct turn t = begin(READ, size);
    touch(image_map + offset, size);
    finish(&t);
    fuse_reply_buf(request, image_map + offset, size);
}

static void disk_write(fuse_req_t request, fuse_ino_t inode, const char *bytes, size_t size, off_t offset,
                       struct fuse_file_info *file)
{
    (void)inode, (void)file;
    if (offset + (off_t)size > image_bytes) {
        fuse_reply_err(request, ENOSPC); /* a disk does not grow */
        return;
    }
    struct turn t = begin(WRITE, size);
    int problem = store(bytes, size, offset);
    if (problem) {
        fuse_reply_err(request, problem);
        return;
    }
    finish(&t);
    fuse_reply_write(request, size);
}

/*
 * A cloud disk has made a write durable when it answers it, so its flush is
 * nearly free. The host's is not: it would hold up the loop driver's only
 * worker, and every request behind it, for as long as the laptop's disk likes.
 */
static void disk_fsync(fuse_req_t request, fuse_ino_t inode, int datasync, struct fuse_file_info *file)
{
    (void)inode, (void)datasync, (void)file;
    pthread_mutex_lock(&lock);
    bool real = limits.flush > 0;
    flushes++;
    pthread_mutex_unlock(&lock);
    fuse_reply_err(request, real && fdatasync(image) ? errno : 0);
}

static void disk_fallocate(fuse_req_t request, fuse_ino_t inode, int mode, off_t offset, off_t length,
                           struct fuse_file_info *file)
{
    (void)inode, (void)file;
    if (offset + length > image_bytes) {
        fuse_reply_err(request, ENOSPC);
        return;
    }
    fuse_reply_err(request, fallocate(image, mode, offset, length) ? errno : 0);
}

static struct stat appearance(void)
{
    return (struct stat){.st_ino = FUSE_ROOT_ID, .st_mode = S_IFREG | 0600, .st_nlink = 1, .st_size = image_bytes,
                         .st_blocks = image_bytes / 512, .st_blksize = 4096};
}

static void disk_getattr(fuse_req_t request, fuse_ino_t inode, struct fuse_file_info *file)
{
    (void)inode, (void)file;
    struct stat s = appearance();
    fuse_reply_attr(request, &s, 3600);
}

/* Times are not kept; the size is the image's and stays. */
static void disk_setattr(fuse_req_t request, fuse_ino_t inode, struct stat *wanted, int which, struct fuse_file_info *file)
{
    if ((which & FUSE_SET_ATTR_SIZE) && wanted->st_size != image_bytes)
        fuse_reply_err(request, EPERM);
    else
        disk_getattr(request, inode, file);
}

static void disk_open(fuse_req_t request, fuse_ino_t inode, struct fuse_file_info *file)
{
    (void)inode;
    /* A page cache above the throttle would hide reads from it. */
    file->direct_io = 1;
    file->parallel_direct_writes = 1;
    file->keep_cache = 0;
    fuse_reply_open(request, file);
}

static void disk_init(void *data, struct fuse_conn_info *connection)
{
    (void)data;
    if (!fuse_set_feature_flag(connection, FUSE_CAP_ASYNC_DIO))
        die("this kernel's FUSE has no asynchronous direct I/O");
    fuse_unset_feature_flag(connection, FUSE_CAP_SPLICE_READ);
    fuse_unset_feature_flag(connection, FUSE_CAP_SPLICE_WRITE);
    fuse_unset_feature_flag(connection, FUSE_CAP_SPLICE_MOVE);
    connection->max_write = request_bytes;
    connection->max_read = request_bytes;
    /* The default of 12 would be the queue depth of the disk. */
    connection->max_background = THREADS;
    connection->congestion_threshold = THREADS;
}

static const struct fuse_lowlevel_ops operations = {
    .init = disk_init, .getattr = disk_getattr, .setattr = disk_setattr, .open = disk_open, .read = disk_read,
    .write = disk_write, .fsync = disk_fsync, .fallocate = disk_fallocate,
};

/* ---- control: a line in, a line of JSON out ----------------------------- */

static int say_limits(char *out, size_t room)
{
    int n = snprintf(out, room, "{");
    for (size_t i = 0; i < FIELDS; i++)
        n += snprintf(out + n, room - n, "%s\"%s\": %.15g", i ? ", " : "", fields[i].name, *field(&limits, i));
    return n + snprintf(out + n, room - n, "}");
}

/* Fraction of a burst bucket that is still there; -1 where there is no burst. */
static double credit_left(int i, double now)
{
    if (buckets[i + 1].rate <= 0)
        return -1;
    double level = fmax(0, buckets[i].empty_at_ns - now) / 1e9 * buckets[i].rate;
    return fmin(1, fmax(0, 1 - level / buckets[i].depth));
}

static int say_stats(char *out, size_t room)
{
    struct rusage use;
    getrusage(RUSAGE_SELF, &use);
    double now = now_ns();
    int n = snprintf(out, room, "{\"time_s\": %.6f, \"cpu_s\": %.6f, \"flushes\": %.0f", now / 1e9,
                     use.ru_utime.tv_sec + use.ru_stime.tv_sec + (use.ru_utime.tv_usec + use.ru_stime.tv_usec) / 1e6, flushes);
    static const char *credits[] = {"iops_credit", "bytes_credit"};
    for (int i = 0; i < 2; i++) {
        double left = credit_left(2 * i, now);
        if (left < 0)
            n += snprintf(out + n, room - n, ", \"%s\": null", credits[i]);
        else
            n += snprintf(out + n, room - n, ", \"%s\": %.6f", credits[i], left);
    }
    for (int k = 0; k < KINDS; k++)
        n += snprintf(out + n, room - n,
                      ", \"%s\": {\"ops\": %.0f, \"bytes\": %.0f, \"waited_s\": %.6f, \"late_s\": %.6f, \"host_s\": %.6f, \"over\": %.0f}",
                      kinds[k], counters[k].ops, counters[k].bytes, counters[k].waited_ns / 1e9, counters[k].late_ns / 1e9,
                      counters[k].host_ns / 1e9, counters[k].over);
    return n + snprintf(out + n, room - n, "}");
}

/* All or nothing: a half-applied set of limits describes no tier. */
static const char *change(char *words)
{
    struct limits wanted = limits;
    bool refill = false;
    char *rest = words;
    for (char *word; (word = strtok_r(rest, " \n", &rest));) {
        const char *problem = assign(&wanted, word);
        if (problem)
            return problem;
        refill |= !strncmp(word, "burst_start=", 12);
    }
    const char *problem = check(&wanted);
    if (problem)
        return problem;
    if (wanted.io_unit > request_bytes)
        return "io_unit cannot grow on a running device";
    limits = wanted;
    double now = now_ns();
    shape(now);
    if (refill)
        spend_credit(limits.burst_start, now);
    return NULL;
}

static void answer(char *line, char *out, size_t room)
{
    pthread_mutex_lock(&lock);
    const char *problem = NULL;
    if (!strncmp(line, "limits", 6))
        say_limits(out, room);
    else if (!strncmp(line, "stats", 5))
        say_stats(out, room);
    else if (strncmp(line, "set ", 4))
        problem = "ask for limits, stats, or set";
    else if (!(problem = change(line + 4)))
        say_limits(out, room);
    if (problem)
        snprintf(out, room, "{\"error\": \"%s\"}", problem);
    pthread_mutex_unlock(&lock);
}

static struct sockaddr_un address(const char *path)
{
    struct sockaddr_un a = {.sun_family = AF_UNIX};
    if (strlen(path) >= sizeof a.sun_path)
        die("path too long for a socket: %s", path);
    strcpy(a.sun_path, path);
    return a;
}

static void *listen_for_questions(void *data)
{
    int listener = *(int *)data;
    for (;;) {
        int peer = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
        if (peer < 0)
            continue;
        struct timeval patience = {.tv_sec = 2};
        setsockopt(peer, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
        char line[1024], out[2048];
        ssize_t n = recv(peer, line, sizeof line - 1, 0);
        if (n > 0) {
            line[n] = 0;
            answer(line, out, sizeof out - 2);
            strcat(out, "\n");
            send(peer, out, strlen(out), MSG_NOSIGNAL);
        }
        close(peer);
    }
    return NULL;
}

/* The answer to one question, in the room of `text`; whether it is an answer and no refusal. */
static bool put(const char *socket_path, char *text, size_t room)
{
    struct sockaddr_un a = address(socket_path);
    int s = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    if (connect(s, (struct sockaddr *)&a, sizeof a))
        die("no disk answers at %s: %s", socket_path, strerror(errno));
    send(s, text, strlen(text), 0);
    ssize_t n = recv(s, text, room - 1, 0);
    if (n <= 0)
        die("the disk did not answer");
    text[n] = 0;
    close(s);
    return strncmp(text, "{\"error\"", 8);
}

static int ask(int count, char **words)
{
    if (count < 2)
        die("usage: tierdisk ask SOCKET limits | stats | set name=value...");
    char text[2048] = "";
    for (int i = 1; i < count; i++) {
        if (strlen(text) + strlen(words[i]) > 1000)
            die("too much to ask at once");
        strcat(text, words[i]);
        strcat(text, " ");
    }
    bool answered = put(words[0], text, sizeof text);
    fputs(text, answered ? stdout : stderr);
    return answered ? 0 : 64;
}

/* ---- main -------------------------------------------------------------- */

/* A page of a sparse image that the host has no room for cannot be refused, only not written. */
static void out_of_space(int number)
{
    static const char text[] = "tierdisk: the host cannot store or read the image (is its disk full?)\n";
    (void)!write(2, text, sizeof text - 1);
    _exit(number == SIGBUS ? 74 : 1);
}

static int serve(int count, char **words)
{
    if (count < 3)
        die("usage: tierdisk serve IMAGE MOUNTPOINT SOCKET [name=value]...");
    limits = (struct limits){.io_unit = 262144, .credit_ms = 20, .burst_start = 100};
    for (int i = 3; i < count; i++) {
        const char *problem = assign(&limits, words[i]);
        if (problem)
            die("%s", problem);
    }
    const char *problem = check(&limits);
    if (problem)
        die("%s", problem);
    request_bytes = limits.io_unit > 262144 ? 1048576 : 262144;

    image = open(words[0], O_RDWR | O_CLOEXEC);
    struct stat s;
    if (image < 0 || fstat(image, &s))
        die("%s: %s", words[0], strerror(errno));
    image_bytes = s.st_size;
    if (!S_ISREG(s.st_mode) || image_bytes <= 0 || image_bytes % 4096)
        die("%s: an image is a regular file of a multiple of 4096 bytes", words[0]);

    image_map = mmap(NULL, image_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, image, 0);
    if (image_map == MAP_FAILED)
        die("%s: cannot map: %s", words[0], strerror(errno));
    madvise(image_map, image_bytes, MADV_RANDOM);
    signal(SIGBUS, out_of_space);

    /* The default slack of 50 us would be a sixth of a fast disk's latency. Threads inherit it. */
    prctl(PR_SET_TIMERSLACK, 1);

    double now = now_ns();
    shape(now);
    spend_credit(limits.burst_start, now);

    struct sockaddr_un a = address(words[2]);
    unlink(words[2]);
    int listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    if (bind(listener, (struct sockaddr *)&a, sizeof a) || listen(listener, 8))
        die("%s: %s", words[2], strerror(errno));

    char options[96];
    snprintf(options, sizeof options, "fsname=tierbench,subtype=disk,max_read=%zu", request_bytes);
    char *argv[] = {"tierdisk", "-o", options};
    struct fuse_args arguments = FUSE_ARGS_INIT(3, argv);
    struct fuse_session *session = fuse_session_new(&arguments, &operations, sizeof operations, NULL);
    if (!session || fuse_set_signal_handlers(session) || fuse_session_mount(session, words[1]))
        die("cannot mount FUSE at %s (is /dev/fuse there and CAP_SYS_ADMIN given?)", words[1]);

    pthread_t control;
    if (pthread_create(&control, NULL, listen_for_questions, &listener))
        die("no thread for the control socket");

    struct fuse_loop_config *config = fuse_loop_cfg_create();
    fuse_loop_cfg_set_max_threads(config, THREADS);
    fuse_loop_cfg_set_idle_threads(config, THREADS);
    fuse_loop_cfg_set_clone_fd(config, 0);
    int result = fuse_session_loop_mt(session, config);
    fuse_session_unmount(session);
    unlink(words[2]);
    return result < 0;
}

static int ascending(const void *a, const void *b)
{
    double difference = *(const double *)a - *(const double *)b;
    return (difference > 0) - (difference < 0);
}

static double median(double *values, int count)
{
    qsort(values, count, sizeof *values, ascending);
    return values[count / 2];
}

/* What single reads cost their user, the way through loop and FUSE included; and the writes that put
 * the same bytes back, which may only be asked for before anything is mounted. */
static void time_singly(int device, int count, double *reads_us, double *writes_us)
{
    void *bytes;
    if (posix_memalign(&bytes, 4096, 4096))
        die("no memory");
    for (int i = 0; i < count; i++) {
        off_t offset = (off_t)(i % 64) * 4096;
        double before = now_ns();
        if (pread(device, bytes, 4096, offset) != 4096)
            die("cannot read the device: %s", strerror(errno));
        double between = now_ns();
        reads_us[i] = (between - before) / 1e3;
        if (!writes_us)
            continue;
        if (pwrite(device, bytes, 4096, offset) != 4096)
            die("cannot write the device: %s", strerror(errno));
        writes_us[i] = (now_ns() - between) / 1e3;
    }
    free(bytes);
}

static int probe(int count, char **words)
{
    int times = count == 2 ? atoi(words[1]) : 0;
    if (times <= 0)
        die("usage: tierdisk probe DEVICE COUNT");
    int device = open(words[0], O_RDONLY | O_DIRECT | O_CLOEXEC);
    double *took_us = calloc(times, sizeof *took_us);
    if (device < 0 || !took_us)
        die("%s: %s", words[0], strerror(errno));
    time_singly(device, times, took_us, NULL);
    printf("%.1f\n", median(took_us, times));
    return 0;
}

/* What single requests of a declared latency took. */
struct timings { double latency_us, took_us[KINDS][1000]; int count; };

static void add_timings(int device, const char *socket_path, int count, struct timings *t)
{
    enum { LEFT_OUT = 50 }; /* until the server's own sleeps have found their length */
    char text[2048];
    snprintf(text, sizeof text,
             "set read_latency_us=%g write_latency_us=%g read_path_us=0 write_path_us=0 read_path_slope=0 "
             "write_path_slope=0", t->latency_us, t->latency_us);
    if (!put(socket_path, text, sizeof text))
        die("%s", text);
    double *reads_us = t->took_us[READ] + t->count, *writes_us = t->took_us[WRITE] + t->count;
    time_singly(device, LEFT_OUT, reads_us, writes_us); /* overwritten by the next */
    time_singly(device, count, reads_us, writes_us);
    t->count += count;
}

/* More than this is a machine that is busy, and no price of the way. */
#define MOST_PATH_US 150.0
#define MOST_PATH_SLOPE 0.1

/*
 * The way through loop and FUSE has a price of its own: what a request of a known latency takes
 * beyond it. The median, as the wake-ups of idle processors are in it, as they are in a user's. They
 * cost the more the longer a processor slept, so two latencies are measured and a line goes through
 * both; and they differ from one tenth of a second to the next, so it takes about a second, the
 * shorter latency, on which it matters most, before and after the other.
 */
static int path(int count, char **words)
{
    if (count != 2)
        die("usage: tierdisk path DEVICE SOCKET");
    int device = open(words[0], O_RDWR | O_EXCL | O_DIRECT | O_CLOEXEC);
    if (device < 0)
        die("%s: %s", words[0], strerror(errno));
    static struct timings quick = {.latency_us = 300}, slow = {.latency_us = 1000};
    add_timings(device, words[1], 400, &quick);
    add_timings(device, words[1], 100, &slow);
    add_timings(device, words[1], 400, &quick);
    for (int k = 0; k < KINDS; k++) {
        double quick_us = median(quick.took_us[k], quick.count) - quick.latency_us;
        double slow_us = median(slow.took_us[k], slow.count) - slow.latency_us;
        double slope = (slow_us - quick_us) / (slow.latency_us - quick.latency_us);
        slope = fmin(MOST_PATH_SLOPE, fmax(0, slope));
        double flat_us = fmin(MOST_PATH_US, fmax(0, quick_us - slope * quick.latency_us));
        printf("%s_path_us=%.1f %s_path_slope=%.4f%c", kinds[k], flat_us, kinds[k], slope, k == READ ? ' ' : '\n');
    }
    return 0;
}

/* A mounted file system claims its device; only an exclusive open can tell. */
static bool claimed(const char *path)
{
    int device = open(path, O_RDONLY | O_EXCL | O_CLOEXEC);
    bool is = device < 0 && errno == EBUSY;
    if (device >= 0)
        close(device);
    return is;
}

static int busy(int count, char **words)
{
    if (count != 1)
        die("usage: tierdisk busy DEVICE");
    return claimed(words[0]) ? 0 : 1;
}

/*
 * The kernel's own listing shows "/" as the backing file once the container is
 * gone; the name that was given when the device was made stays with it.
 */
static int loops(void)
{
    for (int number = 0; number < 1024; number++) {
        char path[32];
        struct loop_info64 info;
        snprintf(path, sizeof path, "/dev/loop%d", number);
        int device = open(path, O_RDONLY | O_DIRECT | O_CLOEXEC);
        if (device < 0)
            continue;
        bool ours = !ioctl(device, LOOP_GET_STATUS64, &info) && !strncmp((char *)info.lo_file_name, HOME "/", sizeof HOME);
        if (ours) {
            void *bytes;
            bool alive = !posix_memalign(&bytes, 4096, 4096) && pread(device, bytes, 4096, 0) == 4096;
            printf("{\"device\": \"%s\", \"file\": \"%.63s\", \"alive\": %s, \"mounted\": %s}\n", path, info.lo_file_name,
                   alive ? "true" : "false", claimed(path) ? "true" : "false");
        }
        close(device);
    }
    return 0;
}

int main(int count, char **words)
{
    const char *verb = count > 1 ? words[1] : "";
    if (!strcmp(verb, "serve"))
        return serve(count - 2, words + 2);
    if (!strcmp(verb, "ask"))
        return ask(count - 2, words + 2);
    if (!strcmp(verb, "busy"))
        return busy(count - 2, words + 2);
    if (!strcmp(verb, "probe"))
        return probe(count - 2, words + 2);
    if (!strcmp(verb, "path"))
        return path(count - 2, words + 2);
    if (!strcmp(verb, "loops"))
        return loops();
    if (!strcmp(verb, "version")) {
        puts(VERSION);
        return 0;
    }
    die("usage: tierdisk serve | ask | probe | path | busy | loops | version");
}
