#!/bin/sh
# A command of a pod under a time limit. $0: the limit in seconds; KILL follows TERM
# after five. Its variables come from standard input, one a line, up to an empty line:
# in a value `\n` is a line break and `\\` a backslash.

while IFS= read -r line && [ -n "$line" ]; do
  pair=$(printf '%b.' "$line") # without the point line breaks at the end would be lost
  # shellcheck disable=SC2163  # the pair is `name=value`, which is to be exported
  export "${pair%.}"
done
command -v timeout >/dev/null || exec "$@" </dev/null
exec timeout -k 5 "$0" "$@" </dev/null
