-- Whether this user may create a database.

SELECT rolcreatedb OR rolsuper AS may FROM pg_roles WHERE rolname = current_user
