/* Loop devices: whether one is in use, and which a killed disk left behind. */
#include <errno.h>
#include <fcntl.h>
#include <linux/loop.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "limits.h"
#include "loops.h"

/* Every disk lives below this folder; it is how a loop device is known to be ours. */
#define STATE_ROOT "/run/tierbench/"
#define MOST_LOOP_DEVICES 1024

/* Whether a file system is mounted from the device: only an exclusive open can tell. */
bool in_use(const char *device_path)
{
    int device = open(device_path, O_RDONLY | O_EXCL | O_CLOEXEC);
    if (device < 0)
        return errno == EBUSY;
    close(device);
    return false;
}

/* Whether a loop device is ours and lacks the mark to detach on its last close. */
static bool is_stray(const char *device_path)
{
    int device = open(device_path, O_RDONLY | O_CLOEXEC);
    if (device < 0)
        return false;
    struct loop_info64 info;
    bool known = !ioctl(device, LOOP_GET_STATUS64, &info);
    close(device);
    return known && starts_with((const char *)info.lo_file_name, STATE_ROOT)
           && !(info.lo_flags & LO_FLAGS_AUTOCLEAR) && !in_use(device_path);
}

/*
 * Prints the devices of disks that were killed before they could mark them. A disk marks its loop
 * device to detach on its last close as soon as it has made it. No I/O is needed to know, which a
 * disk that stands still would never answer. The kernel's own listing shows "/" as the backing file
 * once the container is gone; the name that was given when the device was made stays with it.
 */
int print_strays(void)
{
    for (int number = 0; number < MOST_LOOP_DEVICES; number++) {
        char path[32];
        snprintf(path, sizeof path, "/dev/loop%d", number);
        if (is_stray(path))
            puts(path);
    }
    return 0;
}
