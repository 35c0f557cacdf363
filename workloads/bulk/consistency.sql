-- What must hold of the tables of the bulk workloads, before and after each run. Format: see
-- tpcc/consistency.sql; `:warehouses` are the numbers of the tables, all of which are checked.
-- rows of bulk_tables: t_id IN (:warehouses)
--
-- Every row is held against the formula that made it (formula.lua), and its table against what was
-- committed: by the loader, or by each thread of copy.lua, whose rows are a block of ids. The pad
-- becomes a text by the functions that write and read it: a cast, to text or to char(10), would look
-- at each of its 75 characters.

-- name: rows; when: always; holds: each block of each table has the rows that were committed, and each row is as its id says
SELECT count(*) AS violations
FROM bulk_expected
FULL JOIN (SELECT t, (id / 1000000000)::int AS block, count(*) AS rows, sum(k) AS total,
                  count(*) FILTER (WHERE k <> id % 2147483647 * 48271 % 2147483647
                     OR left(textin(bpcharout(pad)), 10)::bigint
                        <> k::bigint * 48271 % 2147483647) AS wrong
           FROM bulk_rows GROUP BY 1, 2) present USING (t, block)
WHERE bulk_expected.rows IS DISTINCT FROM present.rows
   OR bulk_expected.total IS DISTINCT FROM present.total
   OR present.wrong > 0;

-- name: indexes; when: always; holds: every index is complete
SELECT count(*) AS violations FROM pg_index WHERE NOT indisvalid;
