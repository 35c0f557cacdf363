/* Reads limits from "name=value" texts, checks that they fit together, writes them as JSON. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "limits.h"

const char *const direction_names[DIRECTIONS] = {"read", "write"};

const struct limits DEFAULT_LIMITS = {
    .io_unit = 262144, .slow_factor = 1, .credit_ms = 20, .burst_start = 100};

/* Every limit by the name that the command line, the control socket and records use. */
static const struct {
    const char *name;
    size_t offset;
} FIELDS[] = {
#define ONE(name) {#name, offsetof(struct limits, name)}
#define EACH_DIRECTION(name)                               \
    {"read_" #name, offsetof(struct limits, name[READ])},  \
    {"write_" #name, offsetof(struct limits, name[WRITE])}
    ONE(iops),
    ONE(bytes_per_s),
    ONE(iops_burst),
    ONE(iops_burst_length),
    ONE(bytes_burst),
    ONE(bytes_burst_length),
    ONE(shared_iops),
    ONE(shared_bytes_per_s),
    ONE(io_unit),
    EACH_DIRECTION(latency_us),
    EACH_DIRECTION(overhead_us),
    EACH_DIRECTION(overhead_slope),
    ONE(latency_seed),
    ONE(slow_factor),
    ONE(slow_dwell_s),
    ONE(good_dwell_s),
    ONE(credit_ms),
    ONE(burst_start),
    ONE(flush),
#undef EACH_DIRECTION
#undef ONE
};

/* Shorter epochs would be noise, and many to count after a pause. */
#define SHORTEST_DWELL_S 0.01
#define MOST_SEED 0x1p53

#define FIELD_COUNT (sizeof FIELDS / sizeof *FIELDS)

/* Whether a text begins with another. */
bool starts_with(const char *text, const char *beginning)
{
    return !strncmp(text, beginning, strlen(beginning));
}

/* The index of the field that an assignment names, or FIELD_COUNT if there is none. */
static size_t find_field(const char *assignment)
{
    size_t length = strcspn(assignment, "=");
    size_t i = 0;
    while (i < FIELD_COUNT && (strlen(FIELDS[i].name) != length
                               || strncmp(FIELDS[i].name, assignment, length)))
        i++;
    return i;
}

/* Sets the field that "name=value" names. Returns NULL, or what is wrong with the text. */
const char *assign_limit(struct limits *limits, const char *text)
{
    static __thread char problem[160];
    const char *equals = strchr(text, '=');
    size_t i = find_field(text);
    if (equals && i < FIELD_COUNT) {
        char *end;
        double value = strtod(equals + 1, &end);
        if (end != equals + 1 && !*end && isfinite(value) && value >= 0) {
            *(double *)((char *)limits + FIELDS[i].offset) = value;
            return NULL;
        }
    }
    snprintf(problem, sizeof problem, "not a limit, or not a number of 0 or more: %.100s", text);
    return problem;
}

/* Returns NULL, or which limits do not fit together. */
const char *check_limits(const struct limits *l)
{
    if (l->iops_burst > 0
        && (l->iops <= 0 || l->iops_burst <= l->iops || l->iops_burst_length <= 0))
        return "iops_burst needs iops, more than iops, and iops_burst_length";
    if (l->bytes_burst > 0
        && (l->bytes_per_s <= 0 || l->bytes_burst <= l->bytes_per_s || l->bytes_burst_length <= 0))
        return "bytes_burst needs bytes_per_s, more than bytes_per_s, and bytes_burst_length";
    if (l->io_unit < 4096 || l->io_unit > 1048576)
        return "io_unit must be 4096 to 1048576";
    if (l->burst_start > 100)
        return "burst_start is a percentage";
    if (l->slow_factor < 1)
        return "slow_factor is 1 (no slow epochs) or more";
    if (l->slow_factor > 1
        && (l->slow_dwell_s < SHORTEST_DWELL_S || l->good_dwell_s < SHORTEST_DWELL_S))
        return "slow_factor needs slow_dwell_s and good_dwell_s of 0.01 or more";
    if (l->latency_seed > MOST_SEED)
        return "latency_seed is at most 2^53";
    return NULL;
}

/* Writes the limits as one JSON object. Returns its length. */
int print_limits(const struct limits *limits, char *out, size_t room)
{
    int n = 0;
    for (size_t i = 0; i < FIELD_COUNT; i++) {
        double value = *(const double *)((const char *)limits + FIELDS[i].offset);
        n += snprintf(out + n, room - n, "%s\"%s\": %.15g", i ? ", " : "{", FIELDS[i].name, value);
    }
    return n + snprintf(out + n, room - n, "}");
}
