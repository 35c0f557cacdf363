/* The image file that holds the disk's bytes, and its base, if there is one. */
#ifndef IMAGE_H
#define IMAGE_H

#include <stddef.h>
#include <sys/types.h>
#include <sys/uio.h>

#define PAGE_BYTES 4096

/* Opened and mapped once, before the first request. */
struct image {
    int file;
    char *bytes;
    off_t size;
};
extern struct image image;

void open_image(const char *path, const char *base_path);
size_t bytes_before_end(off_t offset, size_t size);
size_t find_pieces(struct iovec *pieces, size_t room, size_t size, off_t offset);
int load_pages(const struct iovec *piece);
int store(const char *bytes, size_t size, off_t offset);
int change_allocation(int mode, off_t offset, off_t size);

#endif
