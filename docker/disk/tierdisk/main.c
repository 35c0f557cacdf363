/*
 * tierdisk: one image file, shown as a file that is as slow as a rented disk.
 *
 * It serves a single FUSE file whose bytes are the image's. Every read and write is charged to the
 * tier's limits (IOPS, bytes/s, each with an optional credit burst) and answered when the tier's
 * latency has passed. A loop device on that file is the block device a database gets.
 *
 * Why a program of our own: QEMU's FUSE export with a throttle node answers nested requests
 * last-in-first-out and passes at most 16 at a time to nbdkit. At 5 ms it tops out at 1,700 IOPS
 * whatever is declared, and p99 doubles long before the cap.
 *
 * Files: limits (what is declared), throttle and bucket (when a request may start), latency (how
 * long it takes), turn (when it is answered), shared (limits of several disks), image, fuse_file,
 * control (questions), account (counters in a file), overhead (what the kernel adds), loops; clock,
 * lock, die.
 */
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "account.h"
#include "control.h"
#include "die.h"
#include "fuse_file.h"
#include "image.h"
#include "loops.h"
#include "overhead.h"
#include "shared.h"
#include "turn.h"

#define VERSION "12"
#define EXIT_REFUSED 64

static const char USAGE[] =
    "usage: tierdisk serve [--over IMAGE] [--shared FILE] [--account FILE] IMAGE MOUNTPOINT "
    "SOCKET [name=value]...\n"
    "                 over: what was not written is read from there, which stays as it is\n"
    "                 shared: where disks keep what they have used of limits of all together\n"
    "                 account: where the disk keeps for how long its limits held requests back\n"
    "       tierdisk ask SOCKET limits | stats | set name=value...\n"
    "       tierdisk ask SOCKET tables READ_FILE WRITE_FILE   latencies are drawn from these\n"
    "       tierdisk overhead DEVICE SOCKET   what loop and FUSE add, as assignments for `set`\n"
    "       tierdisk busy DEVICE              exit 0 if something has it mounted\n"
    "       tierdisk attach on|off FILE <>DEVICE   shows the file as a free loop device, with\n"
    "                 direct I/O or without, until its last holder closes it; exit 75: taken\n"
    "       tierdisk reset-unused DEV SYS     gives free loop devices that killed disks had used\n"
    "                 the kernel's settings again; DEV and SYS: /dev, and a sysfs to write to\n"
    "       tierdisk version";

/* Starts with the limits that the command line gives. */
static void set_limits(int argc, char **argv)
{
    struct limits limits = DEFAULT_LIMITS;
    const char *problem = NULL;
    for (int i = 0; i < argc && !problem; i++)
        problem = assign_limit(&limits, argv[i]);
    if (!problem)
        problem = check_limits(&limits);
    if (problem)
        die("%s", problem);
    begin_disk(&limits);
}

/* Takes an option and its value from the words; NULL if they begin with something else. */
static const char *option(const char *name, int *argc, char ***argv)
{
    if (*argc < 2 || strcmp((*argv)[0], name))
        return NULL;
    *argc -= 2;
    *argv += 2;
    return (*argv)[-1];
}

/* tierdisk serve [--over IMAGE] [--shared FILE] [--account FILE] IMAGE MOUNTPOINT SOCKET
 * [name=value]...: until a signal ends it. */
static int serve(int argc, char **argv)
{
    const char *base_path = option("--over", &argc, &argv);
    const char *shared_path = option("--shared", &argc, &argv);
    const char *account_path = option("--account", &argc, &argv);
    if (argc < 3)
        die("%s", USAGE);
    const char *image_path = argv[0], *mountpoint = argv[1], *socket_path = argv[2];
    if (shared_path)
        open_shared(shared_path);
    set_limits(argc - 3, argv + 3);
    open_image(image_path, base_path);
    /* The default slack of 50 us would be a sixth of a fast disk's latency. Threads inherit it. */
    prctl(PR_SET_TIMERSLACK, 1);
    /* What is served here is what the kernel writes dirty pages to: it must not wait until they are
     * fewer. Needs CAP_SYS_RESOURCE; `stats` says whether it was had. */
    disk.io_flusher = !prctl(PR_SET_IO_FLUSHER, 1, 0, 0, 0);
    answer_questions(socket_path);
    if (account_path)
        keep_account(account_path);
    int exit_code = serve_file(mountpoint);
    unlink(socket_path);
    return exit_code;
}

/* tierdisk ask SOCKET WORD...: prints the answer, or the refusal on standard error. */
static int ask(int argc, char **argv)
{
    if (argc < 2)
        die("%s", USAGE);
    char text[2048] = "";
    for (int i = 1; i < argc; i++) {
        if (strlen(text) + strlen(argv[i]) > 1000)
            die("too much to ask at once");
        strcat(text, argv[i]);
        strcat(text, " ");
    }
    bool answered = ask_disk(argv[0], text, sizeof text);
    fputs(text, answered ? stdout : stderr);
    return answered ? 0 : EXIT_REFUSED;
}

/* Calls what the first word of the command line names. */
int main(int argc, char **argv)
{
    const char *verb = argc > 1 ? argv[1] : "";
    if (!strcmp(verb, "serve"))
        return serve(argc - 2, argv + 2);
    if (!strcmp(verb, "ask"))
        return ask(argc - 2, argv + 2);
    if (!strcmp(verb, "overhead") && argc == 4)
        return measure_overhead(argv[2], argv[3]);
    if (!strcmp(verb, "busy") && argc == 3)
        return in_use(argv[2]) ? 0 : 1;
    if (!strcmp(verb, "attach") && argc == 4)
        return attach(STDIN_FILENO, argv[3], !strcmp(argv[2], "on"));
    if (!strcmp(verb, "reset-unused") && argc == 4)
        return reset_unused(argv[2], argv[3]);
    if (!strcmp(verb, "version"))
        return puts(VERSION) < 0;
    die("%s", USAGE);
}
