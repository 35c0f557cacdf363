/* Questions to a running disk over a socket: a line in, a line of JSON out. */
#define _GNU_SOURCE
#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "clock.h"
#include "control.h"
#include "die.h"
#include "latency.h"
#include "lock.h"
#include "throttle.h"
#include "turn.h"

#define BETWEEN_WORDS " \n"
#define REFUSAL "{\"error\""
#define QUESTION_BYTES 1024
#define ANSWER_BYTES 2048

static int listener;

/* Seconds of processor time that this program has used. */
static double cpu_s(void)
{
    struct rusage use;
    getrusage(RUSAGE_SELF, &use);
    return use.ru_utime.tv_sec + use.ru_stime.tv_sec
           + (use.ru_utime.tv_usec + use.ru_stime.tv_usec) / 1e6;
}

/* Writes the credit that is left of a burst, or null. Returns its length. */
static int print_credit(const char *name, enum resource resource, int64_t at_ns, char *out,
                        size_t room)
{
    double left = credit_left(resource, at_ns);
    if (left < 0)
        return snprintf(out, room, ", \"%s\": null", name);
    return snprintf(out, room, ", \"%s\": %.6f", name, left);
}

static double seconds(int64_t duration_ns)
{
    return (double)duration_ns / NS_PER_S;
}

/* Writes what was counted of one direction. Returns its length. */
static int print_direction(enum direction direction, char *out, size_t room)
{
    const struct counters *counters = &disk.counters[direction];
    uint64_t draws;
    double all_drawn_s = drawn_s(direction, &draws);
    return snprintf(out, room,
                    ", \"%s\": {\"ops\": %" PRIu64 ", \"bytes\": %" PRIu64 ", "
                    "\"waited_s\": %.6f, \"late_s\": %.6f, \"host_s\": %.6f, "
                    "\"over\": %" PRIu64 ", \"answered\": %" PRIu64 ", \"took_s\": %.6f, "
                    "\"table_points\": %d, \"draws\": %" PRIu64 ", \"drawn_s\": %.9f}",
                    direction_names[direction], counters->ops, counters->bytes,
                    seconds(counters->waited_ns), seconds(counters->late_ns),
                    seconds(counters->host_ns), counters->over, counters->answered,
                    seconds(counters->took_ns), table_points(direction), draws, all_drawn_s);
}

/* Writes what was counted since the start as one JSON object. */
static void print_stats(char *out, size_t room)
{
    require_disk_lock();
    int64_t at_ns = now_ns();
    int length = snprintf(out, room,
                          "{\"time_s\": %.6f, \"cpu_s\": %.6f, \"io_flusher\": %s, "
                          "\"flushes\": %" PRIu64 ", \"host_errors\": %" PRIu64,
                          seconds(at_ns), cpu_s(), disk.io_flusher ? "true" : "false",
                          disk.flushes, disk.host_errors);
    length += print_credit("iops_credit", IOPS, at_ns, out + length, room - length);
    length += print_credit("bytes_credit", BYTES, at_ns, out + length, room - length);
    double drawing_s;
    double all_slow_s = slow_s(&disk.limits, at_ns, &drawing_s);
    length += snprintf(out + length, room - length, ", \"drawing_s\": %.6f, \"slow_s\": %.6f",
                       drawing_s, all_slow_s);
    for (int i = 0; i < DIRECTIONS; i++)
        length += print_direction(i, out + length, room - length);
    length += snprintf(out + length, room - length, "}");
    assert((size_t)length < room);
}

/* A base that is lifted to the peak or beyond it leaves nothing to burst to. */
static void end_burst(double base, double *peak)
{
    if (base <= 0 || base >= *peak)
        *peak = 0;
}

/* What latencies and epochs are drawn by. */
static bool draws_alike(const struct limits *a, const struct limits *b)
{
    return a->latency_seed == b->latency_seed && a->slow_factor == b->slow_factor
           && a->slow_dwell_s == b->slow_dwell_s && a->good_dwell_s == b->good_dwell_s;
}

/* Whether an assignment is of a latency that is drawn from a table, and so no constant. */
static bool sets_drawn_latency(const char *word)
{
    return (starts_with(word, "read_latency_us=") && table_points(READ))
           || (starts_with(word, "write_latency_us=") && table_points(WRITE));
}

/* Takes over the assignments that are left in `rest`, all or none: a half-applied set of limits
 * describes no tier. Returns NULL, or what is wrong. */
static const char *change_limits(char *rest)
{
    require_disk_lock();
    struct limits wanted = disk.limits;
    bool sets_credit = false, sets_stall = false, sets_iops_burst = false, sets_bytes_burst = false;
    char *word;
    while ((word = strtok_r(NULL, BETWEEN_WORDS, &rest))) {
        const char *problem = assign_limit(&wanted, word);
        if (problem)
            return problem;
        if (sets_drawn_latency(word))
            return "latencies are drawn from a table: a constant needs a disk without one";
        sets_credit |= starts_with(word, "burst_start=");
        sets_stall |= starts_with(word, "stall_s=");
        sets_iops_burst |= starts_with(word, "iops_burst=");
        sets_bytes_burst |= starts_with(word, "bytes_burst=");
    }
    if (!sets_iops_burst)
        end_burst(wanted.iops, &wanted.iops_burst);
    if (!sets_bytes_burst)
        end_burst(wanted.bytes_per_s, &wanted.bytes_burst);
    const char *problem = check_limits(&wanted);
    if (problem)
        return problem;
    if ((size_t)wanted.io_unit > disk.request_bytes)
        return "io_unit cannot grow on a running device";
    int64_t at_ns = now_ns();
    bool draws_go_on = draws_alike(&disk.limits, &wanted);
    disk.limits = wanted;
    if (!draws_go_on)
        begin_draws(&disk.limits, at_ns);
    shape_buckets(&disk.limits, at_ns);
    if (sets_credit)
        set_credit(disk.limits.burst_start, at_ns);
    if (sets_stall)
        begin_stall(disk.limits.stall_s, at_ns);
    return NULL;
}

/* Reads the tables of two paths; from then on latencies are drawn. NULL, or what is wrong. */
static const char *change_tables(char *rest)
{
    const char *read_path = strtok_r(NULL, BETWEEN_WORDS, &rest);
    const char *write_path = strtok_r(NULL, BETWEEN_WORDS, &rest);
    if (!read_path || !write_path)
        return "tables needs the paths of two files, for reads and for writes";
    const char *problem = prepare_tables(read_path, write_path);
    if (problem)
        return problem;
    lock_disk();
    use_tables();
    begin_draws(&disk.limits, now_ns());
    unlock_disk();
    return NULL;
}

/* Writes a refusal as a JSON object. What may not stand in a text of JSON is a question mark. */
static void print_refusal(const char *problem, char *out, size_t room)
{
    char text[QUESTION_BYTES];
    size_t length = strnlen(problem, sizeof text - 1);
    for (size_t i = 0; i < length; i++) {
        bool is_plain = problem[i] >= ' ' && problem[i] != '"' && problem[i] != '\\';
        text[i] = is_plain ? problem[i] : '?';
    }
    text[length] = 0;
    snprintf(out, room, REFUSAL ": \"%s\"}", text);
}

/* Answers one line: `limits`, `stats`, `set name=value...` or `tables READ WRITE`. */
static void answer(char *line, char *out, size_t room)
{
    char *rest;
    const char *verb = strtok_r(line, BETWEEN_WORDS, &rest);
    const char *problem = NULL;
    if (verb && !strcmp(verb, "tables")) {
        problem = change_tables(rest);
        verb = "limits"; /* which then are the answer */
    }
    lock_disk();
    if (verb && !strcmp(verb, "stats"))
        print_stats(out, room);
    else if (verb && !strcmp(verb, "set"))
        problem = change_limits(rest);
    else if (!verb || strcmp(verb, "limits"))
        problem = "ask for limits, stats, set, or tables";
    if (problem)
        print_refusal(problem, out, room);
    else if (strcmp(verb, "stats"))
        print_limits(&disk.limits, out, room);
    unlock_disk();
}

/* The address of the socket at that path. */
static struct sockaddr_un address_of(const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (strlen(path) >= sizeof address.sun_path)
        die("path too long for a socket: %s", path);
    strcpy(address.sun_path, path);
    return address;
}

/* Answers one question after the other, for ever; a peer that says nothing has two seconds. */
static void *answer_peers(void *unused)
{
    (void)unused;
    for (;;) {
        int peer = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
        if (peer < 0)
            continue;
        struct timeval patience = {.tv_sec = 2};
        setsockopt(peer, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
        char question[QUESTION_BYTES], reply[ANSWER_BYTES];
        ssize_t n = recv(peer, question, sizeof question - 1, 0);
        if (n > 0) {
            question[n] = 0;
            answer(question, reply, sizeof reply - 2);
            strcat(reply, "\n");
            send(peer, reply, strlen(reply), MSG_NOSIGNAL);
        }
        close(peer);
    }
    return NULL;
}

/* Starts answering questions at a socket, in a thread of its own. */
void answer_questions(const char *socket_path)
{
    struct sockaddr_un address = address_of(socket_path);
    unlink(socket_path);
    listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    if (bind(listener, (struct sockaddr *)&address, sizeof address) || listen(listener, 8))
        die("%s: %s", socket_path, strerror(errno));
    pthread_t thread;
    if (pthread_create(&thread, NULL, answer_peers, NULL))
        die("no thread for the control socket");
}

/* Puts the question in `text` to a disk; its answer is in `text` then. False if it refuses. */
bool ask_disk(const char *socket_path, char *text, size_t room)
{
    struct sockaddr_un address = address_of(socket_path);
    int peer = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    if (connect(peer, (struct sockaddr *)&address, sizeof address))
        die("no disk answers at %s: %s", socket_path, strerror(errno));
    send(peer, text, strlen(text), 0);
    ssize_t n = recv(peer, text, room - 1, 0);
    if (n <= 0)
        die("the disk did not answer");
    text[n] = 0;
    close(peer);
    return !starts_with(text, REFUSAL);
}
