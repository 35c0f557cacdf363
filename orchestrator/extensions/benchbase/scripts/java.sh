#!/bin/sh
# BenchBase in a shell of the client. $0: the name of its file of attempts. Its XML
# comes from the environment. Numbers and times must not depend on the image's
# language or time zone.

printf %s "$BENCHBASE_XML" > /tmp/benchbase.xml &&
cd "$BENCHBASE_FOLDER" &&
exec java \
  -Dlog4j.configuration=file:/workloads/benchbase/log4j.properties \
  -Dattempts="/out/$0" \
  -Duser.language=en -Duser.country=US -Duser.timezone=UTC \
  -jar benchbase.jar -b tpcc -c /tmp/benchbase.xml "$@"
