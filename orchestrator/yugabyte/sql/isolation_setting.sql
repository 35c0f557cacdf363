-- The isolation level that READ COMMITTED really gives, where it is a setting.

SELECT current_setting('yb_effective_transaction_isolation_level', true) AS level
