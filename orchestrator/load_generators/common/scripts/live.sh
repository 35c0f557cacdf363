#!/bin/sh
# The client's first process, in any POSIX shell. $0: the file of heartbeats. It ends
# when the number there has stayed the same for LEASE_S seconds, which it counts by
# itself.

still=0
while [ "$still" -lt "$LEASE_S" ]; do
  sleep 1
  now=
  [ -f "$0" ] && read -r now < "$0"
  if [ "$now" = "$last" ]; then
    still=$((still + 1))
  else
    still=0
    last=$now
  fi
done
echo "no sign of tierbench for $LEASE_S s: the client ends"
