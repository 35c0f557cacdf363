#!/bin/sh
# Drops all caches of the machine: Documentation/admin-guide/sysctl/vm.rst.

sync && echo 3 > /proc/sys/vm/drop_caches
