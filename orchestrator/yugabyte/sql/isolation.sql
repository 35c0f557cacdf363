-- The isolation level that READ COMMITTED really gives, as releases tell it.

SELECT yb_get_effective_transaction_isolation_level() AS level
