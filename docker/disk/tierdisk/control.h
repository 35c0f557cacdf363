/* Questions to a running disk over a socket: a line in, a line of JSON out. */
#ifndef CONTROL_H
#define CONTROL_H

#include <stdbool.h>
#include <stddef.h>

void answer_questions(const char *socket_path);
bool ask_disk(const char *socket_path, char *text, size_t room);

#endif
