-- The twelve consistency conditions of specification 5.11, clause 3.3.2.
--
-- For programs: a block starts with "-- name: <name>; when: <when>; holds: <text>" and is
-- one statement that ends with a semicolon at the end of a line. It returns one row with
-- one column, violations: how many rows break the condition; 0 means that it holds.
-- when: "always", or "loaded" for what holds only before the first transaction.
-- psql runs the file as it is, with the load stopped.
--
-- To check only some warehouses: "-- rows of <table>: <condition>" says which rows are theirs. Put
-- in front of a statement WITH <table> AS (SELECT … FROM <table> WHERE <condition>), …, with their
-- numbers for :warehouses. A payment's row is of the warehouse that was paid and of the customer's.
-- Districts are listed because YugabyteDB finds a hashed key only by all of its columns.
-- rows of warehouse: w_id IN (:warehouses)
-- rows of district: d_w_id IN (:warehouses) AND d_id IN (1, 2, 3, 4, 5, 6, 7, 8, 9, 10)
-- rows of customer: c_w_id IN (:warehouses) AND c_d_id IN (1, 2, 3, 4, 5, 6, 7, 8, 9, 10)
-- rows of history: h_w_id IN (:warehouses) OR h_c_w_id IN (:warehouses)
-- rows of orders: o_w_id IN (:warehouses) AND o_d_id IN (1, 2, 3, 4, 5, 6, 7, 8, 9, 10)
-- rows of new_order: no_w_id IN (:warehouses) AND no_d_id IN (1, 2, 3, 4, 5, 6, 7, 8, 9, 10)
-- rows of order_line: ol_w_id IN (:warehouses) AND ol_d_id IN (1, 2, 3, 4, 5, 6, 7, 8, 9, 10)
--
-- Sums and counts over nothing are 0, and rows whose parent or child is missing count as
-- violations: hence LEFT and FULL joins and IS DISTINCT FROM. Condition 10 is written without the
-- order lines, which c12 has summed already: that took four times as long. c12 sums the lines of
-- an order before it looks for its customer: half to a third of the time of joining every line.

-- name: c01; when: always; holds: W_YTD = sum(D_YTD) of the warehouse
SELECT count(*) AS violations
FROM warehouse
LEFT JOIN (SELECT d_w_id, sum(d_ytd) AS ytd FROM district GROUP BY d_w_id) d ON d_w_id = w_id
WHERE w_ytd IS DISTINCT FROM coalesce(d.ytd, 0);

-- name: c02; when: always; holds: D_NEXT_O_ID - 1 = max(O_ID) = max(NO_O_ID) of the district, the latter where it has new orders
SELECT count(*) AS violations
FROM district
LEFT JOIN (SELECT o_w_id, o_d_id, max(o_id) AS last FROM orders GROUP BY o_w_id, o_d_id) o
   ON o_w_id = d_w_id AND o_d_id = d_id
LEFT JOIN (SELECT no_w_id, no_d_id, max(no_o_id) AS last FROM new_order GROUP BY no_w_id, no_d_id) n
   ON no_w_id = d_w_id AND no_d_id = d_id
WHERE d_next_o_id - 1 IS DISTINCT FROM coalesce(o.last, 0)
   OR (n.last IS NOT NULL AND n.last <> d_next_o_id - 1);

-- name: c03; when: always; holds: max(NO_O_ID) - min(NO_O_ID) + 1 = count(NEW_ORDER) of a district that has new orders
SELECT count(*) AS violations
FROM (SELECT no_w_id, no_d_id FROM new_order GROUP BY no_w_id, no_d_id
      HAVING max(no_o_id) - min(no_o_id) + 1 <> count(*)) gaps;

-- name: c04; when: always; holds: sum(O_OL_CNT) = count(ORDER_LINE) of the district
SELECT count(*) AS violations
FROM district
LEFT JOIN (SELECT o_w_id, o_d_id, sum(o_ol_cnt) AS lines FROM orders GROUP BY o_w_id, o_d_id) o
   ON o_w_id = d_w_id AND o_d_id = d_id
LEFT JOIN (SELECT ol_w_id, ol_d_id, count(*) AS lines FROM order_line GROUP BY ol_w_id, ol_d_id) l
   ON ol_w_id = d_w_id AND ol_d_id = d_id
WHERE coalesce(o.lines, 0) <> coalesce(l.lines, 0);

-- name: c05; when: always; holds: O_CARRIER_ID is null exactly where the order is in NEW_ORDER
SELECT count(*) AS violations
FROM orders
FULL JOIN new_order ON no_w_id = o_w_id AND no_d_id = o_d_id AND no_o_id = o_id
WHERE o_id IS NULL OR (o_carrier_id IS NULL) <> (no_o_id IS NOT NULL);

-- name: c06; when: always; holds: O_OL_CNT = count(ORDER_LINE) of the order
SELECT count(*) AS violations
FROM orders
FULL JOIN (SELECT ol_w_id, ol_d_id, ol_o_id, count(*) AS lines FROM order_line GROUP BY ol_w_id, ol_d_id, ol_o_id) l
   ON ol_w_id = o_w_id AND ol_d_id = o_d_id AND ol_o_id = o_id
WHERE o_ol_cnt IS DISTINCT FROM coalesce(l.lines, 0);

-- name: c07; when: always; holds: OL_DELIVERY_D is null exactly where the order's O_CARRIER_ID is
SELECT count(*) AS violations
FROM order_line
LEFT JOIN orders ON o_w_id = ol_w_id AND o_d_id = ol_d_id AND o_id = ol_o_id
WHERE o_id IS NULL OR (ol_delivery_d IS NULL) <> (o_carrier_id IS NULL);

-- name: c08; when: always; holds: W_YTD = sum(H_AMOUNT) of the warehouse
SELECT count(*) AS violations
FROM warehouse
LEFT JOIN (SELECT h_w_id, sum(h_amount) AS amount FROM history GROUP BY h_w_id) h ON h_w_id = w_id
WHERE w_ytd IS DISTINCT FROM coalesce(h.amount, 0);

-- name: c09; when: always; holds: D_YTD = sum(H_AMOUNT) of the district
SELECT count(*) AS violations
FROM district
LEFT JOIN (SELECT h_w_id, h_d_id, sum(h_amount) AS amount FROM history GROUP BY h_w_id, h_d_id) h
   ON h_w_id = d_w_id AND h_d_id = d_id
WHERE d_ytd IS DISTINCT FROM coalesce(h.amount, 0);

-- name: c10; when: always; holds: C_YTD_PAYMENT = sum(H_AMOUNT) of the customer: with c12 the same as C_BALANCE = sum(OL_AMOUNT) of the delivered lines - sum(H_AMOUNT)
SELECT count(*) AS violations
FROM customer
LEFT JOIN (SELECT h_c_w_id, h_c_d_id, h_c_id, sum(h_amount) AS amount FROM history
           GROUP BY h_c_w_id, h_c_d_id, h_c_id) h
   ON h_c_w_id = c_w_id AND h_c_d_id = c_d_id AND h_c_id = c_id
WHERE c_ytd_payment IS DISTINCT FROM coalesce(h.amount, 0);

-- name: c11; when: loaded; holds: count(ORDERS) - count(NEW_ORDER) = 2100 of the district
SELECT count(*) AS violations
FROM district
LEFT JOIN (SELECT o_w_id, o_d_id, count(*) AS n FROM orders GROUP BY o_w_id, o_d_id) o
   ON o_w_id = d_w_id AND o_d_id = d_id
LEFT JOIN (SELECT no_w_id, no_d_id, count(*) AS n FROM new_order GROUP BY no_w_id, no_d_id) n
   ON no_w_id = d_w_id AND no_d_id = d_id
WHERE coalesce(o.n, 0) - coalesce(n.n, 0) <> 2100;

-- name: c12; when: always; holds: C_BALANCE + C_YTD_PAYMENT = sum(OL_AMOUNT) of the customer's delivered lines
SELECT count(*) AS violations
FROM customer
LEFT JOIN (SELECT o_w_id, o_d_id, o_c_id, sum(amount) AS amount FROM orders
           JOIN (SELECT ol_w_id, ol_d_id, ol_o_id, sum(ol_amount) AS amount FROM order_line
                 WHERE ol_delivery_d IS NOT NULL GROUP BY ol_w_id, ol_d_id, ol_o_id) delivered
              ON ol_w_id = o_w_id AND ol_d_id = o_d_id AND ol_o_id = o_id
           GROUP BY o_w_id, o_d_id, o_c_id) l
   ON o_w_id = c_w_id AND o_d_id = c_d_id AND o_c_id = c_id
WHERE c_balance + c_ytd_payment IS DISTINCT FROM coalesce(l.amount, 0);
