/* The one file that FUSE shows: its operations, and the loop that answers them. */
#ifndef FUSE_FILE_H
#define FUSE_FILE_H

int serve_file(const char *mountpoint);

#endif
