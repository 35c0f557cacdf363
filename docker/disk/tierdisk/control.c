/* Questions to a running disk over a socket: a line in, a line of JSON out. */
#define _GNU_SOURCE
#include <errno.h>
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
static int print_credit(const char *name, enum resource resource, double now, char *out,
                        size_t room)
{
    double left = credit_left(resource, now);
    if (left < 0)
        return snprintf(out, room, ", \"%s\": null", name);
    return snprintf(out, room, ", \"%s\": %.6f", name, left);
}

/* Writes what was counted since the start as one JSON object. */
static void print_stats(char *out, size_t room)
{
    double now = now_ns();
    int n = snprintf(out, room,
                     "{\"time_s\": %.6f, \"cpu_s\": %.6f, \"io_flusher\": %s, "
                     "\"flushes\": %.0f, \"host_errors\": %.0f",
                     now / 1e9, cpu_s(), disk.io_flusher ? "true" : "false", disk.flushes,
                     disk.host_errors);
    n += print_credit("iops_credit", IOPS, now, out + n, room - n);
    n += print_credit("bytes_credit", BYTES, now, out + n, room - n);
    double drawing_s, slow = slow_s(&disk.limits, now, &drawing_s);
    n += snprintf(out + n, room - n, ", \"drawing_s\": %.6f, \"slow_s\": %.6f", drawing_s, slow);
    for (int i = 0; i < DIRECTIONS; i++) {
        const struct counters *c = &disk.counters[i];
        double draws, drawn = drawn_s(i, &draws);
        n += snprintf(out + n, room - n,
                      ", \"%s\": {\"ops\": %.0f, \"bytes\": %.0f, \"waited_s\": %.6f, "
                      "\"late_s\": %.6f, \"host_s\": %.6f, \"over\": %.0f, "
                      "\"answered\": %.0f, \"took_s\": %.6f, "
                      "\"table_points\": %d, \"draws\": %.0f, \"drawn_s\": %.9f}",
                      direction_names[i], c->ops, c->bytes, c->waited_ns / 1e9, c->late_ns / 1e9,
                      c->host_ns / 1e9, c->over, c->answered, c->took_ns / 1e9, table_points(i),
                      draws, drawn);
    }
    snprintf(out + n, room - n, "}");
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
    struct limits wanted = disk.limits;
    bool sets_credit = false, iops_peak = false, bytes_peak = false;
    char *word;
    while ((word = strtok_r(NULL, BETWEEN_WORDS, &rest))) {
        const char *problem = assign_limit(&wanted, word);
        if (problem)
            return problem;
        if (sets_drawn_latency(word))
            return "latencies are drawn from a table: a constant needs a disk without one";
        sets_credit |= starts_with(word, "burst_start=");
        iops_peak |= starts_with(word, "iops_burst=");
        bytes_peak |= starts_with(word, "bytes_burst=");
    }
    if (!iops_peak)
        end_burst(wanted.iops, &wanted.iops_burst);
    if (!bytes_peak)
        end_burst(wanted.bytes_per_s, &wanted.bytes_burst);
    const char *problem = check_limits(&wanted);
    if (problem)
        return problem;
    if (wanted.io_unit > disk.request_bytes)
        return "io_unit cannot grow on a running device";
    double now = now_ns();
    bool go_on = draws_alike(&disk.limits, &wanted);
    disk.limits = wanted;
    if (!go_on)
        begin_draws(&disk.limits, now);
    shape_buckets(&disk.limits, now);
    if (sets_credit)
        set_credit(disk.limits.burst_start, now);
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
    pthread_mutex_lock(&disk.lock);
    use_tables();
    begin_draws(&disk.limits, now_ns());
    pthread_mutex_unlock(&disk.lock);
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
    pthread_mutex_lock(&disk.lock);
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
    pthread_mutex_unlock(&disk.lock);
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
