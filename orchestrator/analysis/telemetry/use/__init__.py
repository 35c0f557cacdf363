"""How much of each resource did a node use? Growth of counters → values of a node, no judgement."""
