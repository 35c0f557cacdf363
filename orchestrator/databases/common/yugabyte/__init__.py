"""What any YugabyteDB server says of itself, whoever started it: pages, counters, SQL."""
