/*
 * Loop devices: making one, whether one is in use, and settings that killed disks have left.
 *
 * Loop devices are global to the host. A device that is ours is never without a holder and without
 * the mark to detach when its last holder closes it: who asks opens a free one, and one call of the
 * kernel then gives it file and mark together. So nothing has to be detached after a kill -9, and
 * nobody can take a device for left over that a disk is just starting with.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/loop.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "die.h"
#include "loops.h"

#define MOST_LOOP_DEVICES 1024
#define EXIT_TAKEN 75

/* Whether a file system is mounted from the device: only an exclusive open can tell. */
bool in_use(const char *device_path)
{
    int device = open(device_path, O_RDONLY | O_EXCL | O_CLOEXEC);
    if (device < 0)
        return errno == EBUSY;
    close(device);
    return false;
}

/* Makes the open device show the file until its last holder closes it. `device`: of a loop device
 * that is free. Returns an exit code: EXIT_TAKEN if somebody else was faster to take it. */
int attach(int device, const char *path, bool direct_io)
{
    int file = open(path, O_RDWR | O_CLOEXEC);
    if (file < 0)
        die("%s: %s", path, strerror(errno));
    struct loop_config config = {.fd = file};
    config.info.lo_flags = LO_FLAGS_AUTOCLEAR | (direct_io ? LO_FLAGS_DIRECT_IO : 0);
    /* By this name the kernel's own list shows whose it is once the container is gone. */
    snprintf((char *)config.info.lo_file_name, LO_NAME_SIZE, "%s", path);
    int problem = ioctl(device, LOOP_CONFIGURE, &config) ? errno : 0;
    close(file);
    if (problem == EBUSY)
        return EXIT_TAKEN;
    if (problem == EINVAL || problem == ENOTTY)
        die("this kernel cannot configure loop devices in one step: Linux 5.8 or newer is needed");
    if (problem)
        die("cannot attach %s: %s", path, strerror(problem));
    return 0;
}

/* The number in a file of sysfs; -1 if there is none. */
static long read_number(const char *path)
{
    long number = -1;
    FILE *file = fopen(path, "re");
    if (!file)
        return -1;
    if (fscanf(file, "%ld", &number) != 1)
        number = -1;
    fclose(file);
    return number;
}

static void write_word(const char *path, const char *word)
{
    FILE *file = fopen(path, "we");
    if (!file)
        return;
    fputs(word, file);
    fclose(file); /* a kernel may refuse the word: then the setting is not one that it keeps */
}

/* Whether the device's settings are such as a disk of ours gives its own: smaller requests than the
 * kernel would send, and no flushes. */
static bool has_our_settings(const char *queue)
{
    char path[256], word[32] = "";
    snprintf(path, sizeof path, "%s/max_sectors_kb", queue);
    long most_kib = read_number(path);
    snprintf(path, sizeof path, "%s/max_hw_sectors_kb", queue);
    if (most_kib < 0 || most_kib >= read_number(path))
        return false;
    snprintf(path, sizeof path, "%s/write_cache", queue);
    FILE *file = fopen(path, "re");
    bool is_read = file && fgets(word, sizeof word, file);
    if (file)
        fclose(file);
    return is_read && !strcmp(word, "write through\n");
}

/* Gives a device the kernel's own settings again. */
static void reset_settings(const char *queue)
{
    char path[256];
    snprintf(path, sizeof path, "%s/write_cache", queue);
    write_word(path, "write back");
    snprintf(path, sizeof path, "%s/max_sectors_kb", queue);
    write_word(path, "0");
}

/*
 * Settings outlive the use of a loop device: the next one, which may be no disk of ours, shall have
 * its flushes again. After a kill -9 the next disk that starts sees to it here. Held exclusively, a
 * device that is free cannot be configured by others meanwhile. `dev`, `sys`: where both are.
 */
int reset_unused(const char *dev, const char *sys)
{
    for (int number = 0; number < MOST_LOOP_DEVICES; number++) {
        char queue[128], device_path[128];
        snprintf(queue, sizeof queue, "%s/block/loop%d/queue", sys, number);
        if (!has_our_settings(queue))
            continue;
        snprintf(device_path, sizeof device_path, "%s/loop%d", dev, number);
        int device = open(device_path, O_RDONLY | O_EXCL | O_CLOEXEC);
        if (device < 0)
            continue;
        struct loop_info64 info;
        if (ioctl(device, LOOP_GET_STATUS64, &info) && errno == ENXIO)
            reset_settings(queue);
        close(device);
    }
    return 0;
}
