"""The programs of the stand-in image: what YugabyteDB's servers say, around a PostgreSQL.

Runs inside the image only, on the standard library. What it may say, with the sources:
tests/standin/evidence/. Switches, as environment variables of a node:
  STANDIN_VERSION       the version it claims (default: the one that tierbench starts)
  STANDIN_SLOW_S        seconds before a node begins to start
  STANDIN_PLACEMENT     none: no placement is ever set, as the chart and a manual start leave it
  STANDIN_REFUSE_JOIN   1: the node fails to join
  STANDIN_REFUSE_PASSWORD  1: with TLS the first node fails to change the administrator's
"""
