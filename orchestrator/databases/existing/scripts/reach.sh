#!/usr/bin/env bash
# Which of these servers (/dev/tcp/<host>/<port>) cannot be reached from here, a line
# each.

for at; do
  timeout 10 bash -c ': < "$0"' "$at" || echo "$at: no connection" &
done
wait
