#!/bin/sh
# A command of a pod under a time limit. $0: the limit in seconds; KILL follows TERM
# after five. Its variables come from standard input, one a line, up to an empty line.

while IFS= read -r pair && [ -n "$pair" ]; do
  # shellcheck disable=SC2163  # the pair is `name=value`, which is to be exported
  export "$pair"
done
command -v timeout >/dev/null || exec "$@" </dev/null
exec timeout -k 5 "$0" "$@" </dev/null
