/* Ending the program with a message on standard error and exit code 1. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "die.h"

/* Takes what printf takes; adds the program's name in front and the end of the line. */
void die(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fputs("tierdisk: ", stderr);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
    exit(1);
}
