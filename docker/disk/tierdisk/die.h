/* Ending the program with a message on standard error and exit code 1. */
#ifndef DIE_H
#define DIE_H

_Noreturn void die(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
