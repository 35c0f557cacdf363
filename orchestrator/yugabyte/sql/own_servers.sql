-- The servers that a node knows, with all that it says of them.

SELECT * FROM yb_servers()
