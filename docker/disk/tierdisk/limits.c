/* Reads limits from "name=value" texts, checks that they fit together, writes them as JSON. */
#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "limits.h"

const char *const direction_names[DIRECTIONS] = {"read", "write"};

const struct limits DEFAULT_LIMITS = {
    .io_unit = 262144, .slow_factor = 1, .credit_ms = 20, .burst_start = 100};

enum kind { REAL, WHOLE, FLAG };

/* Every limit by the name that the command line, the control socket and records use. */
static const struct {
    const char *name;
    enum kind kind;
    size_t offset;
} FIELDS[] = {
#define ONE(name, kind) {#name, kind, offsetof(struct limits, name)}
#define EACH_DIRECTION(name, kind)                               \
    {"read_" #name, kind, offsetof(struct limits, name[READ])},  \
    {"write_" #name, kind, offsetof(struct limits, name[WRITE])}
    ONE(iops, REAL),
    ONE(bytes_per_s, REAL),
    ONE(iops_burst, REAL),
    ONE(iops_burst_length, REAL),
    ONE(bytes_burst, REAL),
    ONE(bytes_burst_length, REAL),
    ONE(shared_iops, REAL),
    ONE(shared_bytes_per_s, REAL),
    ONE(io_unit, WHOLE),
    EACH_DIRECTION(latency_us, REAL),
    EACH_DIRECTION(overhead_us, REAL),
    EACH_DIRECTION(overhead_slope, REAL),
    ONE(latency_seed, WHOLE),
    ONE(slow_factor, REAL),
    ONE(slow_dwell_s, REAL),
    ONE(good_dwell_s, REAL),
    ONE(credit_ms, REAL),
    ONE(burst_start, REAL),
    ONE(stall_s, REAL),
    ONE(flush, FLAG),
#undef EACH_DIRECTION
#undef ONE
};

/* Shorter epochs would be noise, and many to count after a pause. */
#define SHORTEST_DWELL_S 0.01

/* Texts are read as doubles, which hold all whole numbers up to this one. */
#define MOST_WHOLE 0x1p53

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

/* Sets the field to a number of 0 or more. Returns NULL, or what the field needs instead. */
static const char *set_field(struct limits *limits, size_t i, double value)
{
    void *field = (char *)limits + FIELDS[i].offset;
    switch (FIELDS[i].kind) {
    case WHOLE:
        if (value != floor(value) || value > MOST_WHOLE)
            return "a whole number up to 2^53 is needed";
        *(int64_t *)field = (int64_t)value;
        return NULL;
    case FLAG:
        if (value != 0 && value != 1)
            return "0 or 1 is needed";
        *(bool *)field = value == 1;
        return NULL;
    case REAL:
        *(double *)field = value;
        return NULL;
    }
    return "no field is of this kind";
}

/* Sets the field that "name=value" names. Returns NULL, or what is wrong with the text. */
const char *assign_limit(struct limits *limits, const char *text)
{
    static __thread char problem[200];
    const char *wrong = "not a limit, or not a number of 0 or more";
    const char *equals = strchr(text, '=');
    size_t i = find_field(text);
    if (equals && i < FIELD_COUNT) {
        char *end;
        double value = strtod(equals + 1, &end);
        if (end != equals + 1 && !*end && isfinite(value) && value >= 0)
            wrong = set_field(limits, i, value);
    }
    if (!wrong)
        return NULL;
    snprintf(problem, sizeof problem, "%s: %.100s", wrong, text);
    return problem;
}

/* Whether a peak, if there is one, is more than its base, and lasts. */
static bool is_burst(double base, double peak, double length_s)
{
    return peak <= 0 || (base > 0 && peak > base && length_s > 0);
}

/* Returns NULL, or which limits do not fit together. */
const char *check_limits(const struct limits *limits)
{
    if (!is_burst(limits->iops, limits->iops_burst, limits->iops_burst_length))
        return "iops_burst needs iops, more than iops, and iops_burst_length";
    if (!is_burst(limits->bytes_per_s, limits->bytes_burst, limits->bytes_burst_length))
        return "bytes_burst needs bytes_per_s, more than bytes_per_s, and bytes_burst_length";
    if (limits->io_unit < 4096 || limits->io_unit > 1048576)
        return "io_unit must be 4096 to 1048576";
    if (limits->burst_start > 100)
        return "burst_start is a percentage";
    if (limits->slow_factor < 1)
        return "slow_factor is 1 (no slow epochs) or more";
    double shortest_s = fmin(limits->slow_dwell_s, limits->good_dwell_s);
    if (limits->slow_factor > 1 && shortest_s < SHORTEST_DWELL_S)
        return "slow_factor needs slow_dwell_s and good_dwell_s of 0.01 or more";
    return NULL;
}

/* Writes the number that a field holds, a whole one with all its digits. Returns its length. */
static int print_field(const struct limits *limits, size_t i, char *out, size_t room)
{
    const void *field = (const char *)limits + FIELDS[i].offset;
    switch (FIELDS[i].kind) {
    case WHOLE:
        return snprintf(out, room, "%" PRId64, *(const int64_t *)field);
    case FLAG:
        return snprintf(out, room, "%d", *(const bool *)field);
    case REAL:
        return snprintf(out, room, "%.15g", *(const double *)field);
    }
    return snprintf(out, room, "null");
}

/* Writes the limits as one JSON object. Returns its length. */
int print_limits(const struct limits *limits, char *out, size_t room)
{
    int length = 0;
    for (size_t i = 0; i < FIELD_COUNT; i++) {
        length += snprintf(out + length, room - length, "%s\"%s\": ", i ? ", " : "{",
                           FIELDS[i].name);
        length += print_field(limits, i, out + length, room - length);
    }
    length += snprintf(out + length, room - length, "}");
    assert((size_t)length < room);
    return length;
}
