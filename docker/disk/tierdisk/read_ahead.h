/* Brings loaded data into the host's memory. */
#ifndef READ_AHEAD_H
#define READ_AHEAD_H

void start_reading_ahead(int file);

#endif
