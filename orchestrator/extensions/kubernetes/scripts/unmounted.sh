#!/bin/sh
# Waits until no file system of a device is mounted. $0: the device, $1: how often it
# looks.

n=0
while [ -e "/sys/fs/xfs/$0" ] || [ -e "/sys/fs/ext4/$0" ]; do
  n=$((n + 1))
  [ $n -lt "$1" ] || exit 1
  sleep 0.1
done
