module tierbench/tests/cluster/pause

go 1.22.0
