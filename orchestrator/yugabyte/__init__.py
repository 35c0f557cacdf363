"""Reading any YugabyteDB cluster, whoever started it: pages, counters, SQL."""
