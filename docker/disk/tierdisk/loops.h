/* Loop devices: making one, whether one is in use, and settings that killed disks have left. */
#ifndef LOOPS_H
#define LOOPS_H

#include <stdbool.h>

bool in_use(const char *device_path);
int attach(int device, const char *path, bool direct_io);
int reset_unused(const char *dev, const char *sys);

#endif
