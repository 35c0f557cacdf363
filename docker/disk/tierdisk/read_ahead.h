/* Brings loaded data into the host's page cache. */
#ifndef READ_AHEAD_H
#define READ_AHEAD_H

#include <stdint.h>

void start_reading_ahead(int file, int64_t longest_wait_ns);

#endif
