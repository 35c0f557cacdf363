#!/bin/sh
# One line becomes a file, whole or not at all. $0: the file.

read -r line && echo "$line" > "$0.new" && mv "$0.new" "$0" && echo written
