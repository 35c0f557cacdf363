/* Loop devices: whether one is in use, and which a killed disk left behind. */
#ifndef LOOPS_H
#define LOOPS_H

#include <stdbool.h>

bool in_use(const char *device_path);
int print_strays(void);

#endif
