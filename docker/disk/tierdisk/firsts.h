/* What was read for the first time since the start, and when. */
#ifndef FIRSTS_H
#define FIRSTS_H

#include <stddef.h>
#include <sys/types.h>

#include "limits.h"

void watch_pages(off_t image_bytes);
void note_pages(enum direction direction, off_t offset, size_t bytes);
void print_firsts(char *out, size_t room);

#endif
