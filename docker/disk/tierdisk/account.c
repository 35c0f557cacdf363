/*
 * The disk's own account of its limits, in a file that others read while it is written.
 *
 * A question at the socket takes a process in the container, which costs too much to be asked each
 * second. So a thread keeps the two counters in a mapped file: for how long limits kept requests,
 * and how long these took in all. Reading that costs this program nothing.
 *
 * The file is one line of four numbers of 20 digits: the number of the entry, both counters in
 * nanoseconds since the start, and the number of the entry once more. A reader takes the line only
 * if both numbers are the same: the last is written first, and the first last.
 */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "account.h"
#include "clock.h"
#include "die.h"
#include "lock.h"
#include "turn.h"

#define EVERY_NS (NS_PER_S / 10)
#define NUMBER_BYTES 21 /* 20 digits, and what separates them */
#define LINE_BYTES (NUMBER_BYTES * NUMBERS)

/* The numbers of the line, in their order. */
enum number { ENTRY, WAITED_NS, TOOK_NS, ENTRY_AGAIN, NUMBERS };

static char *line;

struct account {
    int64_t waited_ns;
    int64_t took_ns;
};

/* The counters of reads and writes together. */
static struct account account_now(void)
{
    struct account account = {0, 0};
    lock_disk();
    for (int i = 0; i < DIRECTIONS; i++) {
        account.waited_ns = add_ns(account.waited_ns, disk.counters[i].waited_ns);
        account.took_ns = add_ns(account.took_ns, disk.counters[i].took_ns);
    }
    unlock_disk();
    return account;
}

/* Writes one of the line's numbers, and the character behind it. */
static void write_number(enum number which, uint64_t value)
{
    char text[NUMBER_BYTES + 1];
    char behind = which == NUMBERS - 1 ? '\n' : ' ';
    snprintf(text, sizeof text, "%020" PRIu64 "%c", value, behind);
    memcpy(line + which * NUMBER_BYTES, text, NUMBER_BYTES);
    /* Whoever sees a later number sees this one too. */
    atomic_thread_fence(memory_order_seq_cst);
}

static void write_entry(uint64_t entry, const struct account *account)
{
    write_number(ENTRY_AGAIN, entry);
    write_number(WAITED_NS, (uint64_t)account->waited_ns);
    write_number(TOOK_NS, (uint64_t)account->took_ns);
    write_number(ENTRY, entry);
}

/* Keeps the file as the counters are, for ever. What has not changed is not written again. */
static void *keep(void *unused)
{
    (void)unused;
    struct account last = {0, 0};
    uint64_t entry = 0;
    for (int64_t due_ns = now_ns();; due_ns = max_ns(now_ns(), due_ns + EVERY_NS)) {
        sleep_until_ns(due_ns);
        struct account account = account_now();
        if (account.waited_ns == last.waited_ns && account.took_ns == last.took_ns)
            continue;
        write_entry(++entry, &account);
        last = account;
    }
    return NULL;
}

/* Makes the file anew and keeps it, in a thread of its own; the program ends if that fails. Others
 * may read the file: it has no secrets. */
void keep_account(const char *path)
{
    assert(!line); /* it is kept once */
    int file = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    if (file < 0 || fchmod(file, 0644) || ftruncate(file, LINE_BYTES))
        die("%s: %s", path, strerror(errno));
    line = mmap(NULL, LINE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (line == MAP_FAILED)
        die("%s: cannot map: %s", path, strerror(errno));
    close(file);
    write_entry(0, &(struct account){0, 0});
    pthread_t thread;
    if (pthread_create(&thread, NULL, keep, NULL))
        die("no thread for the account");
}
