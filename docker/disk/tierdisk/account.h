/* The disk's own account of its limits, in a file that others read while it is written. */
#ifndef ACCOUNT_H
#define ACCOUNT_H

#include <stdint.h>

void keep_account(const char *path);

#endif
