/* The image file that holds the disk's bytes. */
#ifndef IMAGE_H
#define IMAGE_H

#include <stddef.h>
#include <sys/types.h>

/* Opened and mapped once, before the first request. */
struct image {
    int file;
    char *bytes;
    off_t size;
};
extern struct image image;

void open_image(const char *path);
void load_pages(char *bytes, size_t size);
int store(const char *bytes, size_t size, off_t offset);

#endif
