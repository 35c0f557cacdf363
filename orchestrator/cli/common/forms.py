"""The forms in which a command can show what it found: `-o table`, `-o json` and others.

Each command lists those that it has; the first is the one that is not asked for. Names are those
of kubectl and gh where they have the form."""

TABLE = "table"
JSON = "json"
NAME = "name"  # names alone, a line each, for a shell's loop; of an answer the disks to buy
MARKDOWN = "md"
SUMMARY = "summary"  # the first lines alone, for a chat or a merge request
HTML = "html"

TABLE_ALONE = (TABLE,)
OR_JSON = (TABLE, JSON)
OF_LISTS = (TABLE, JSON, NAME)
OF_TABLES = (TABLE, JSON, MARKDOWN)
OF_ANSWERS = (TABLE, JSON, NAME, MARKDOWN, SUMMARY, HTML)
