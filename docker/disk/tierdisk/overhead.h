/* What loop and FUSE add to a request. */
#ifndef OVERHEAD_H
#define OVERHEAD_H

int measure_overhead(const char *device_path, const char *socket_path);

#endif
