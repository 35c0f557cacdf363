-- The SQL of the five transactions, prepared once per connection. Parameter types as in
-- lib/pq_codec.lua: i int4, I int4[], t text, T text[]. What the terminal would show is
-- selected even if nothing here reads it; what is read is cast to int4 (cents,
-- ten-thousandths), which needs no parsing.
local statements = {}

local SQL = {
   begin = {"BEGIN"},
   commit = {"COMMIT"},
   rollback = {"ROLLBACK"},

   -- New-Order
   new_order_customer = {[[
      SELECT (c_discount * 10000)::int4, c_last, c_credit, (w_tax * 10000)::int4
      FROM warehouse, customer
      WHERE w_id = $1 AND c_w_id = $1 AND c_d_id = $2 AND c_id = $3]], "iii"},
   items = {[[
      SELECT i_id, (i_price * 100)::int4, i_name, i_data FROM item WHERE i_id = ANY ($1)]], "I"},
   next_order = {[[
      UPDATE district SET d_next_o_id = d_next_o_id + 1 WHERE d_w_id = $1 AND d_id = $2
      RETURNING d_next_o_id - 1, (d_tax * 10000)::int4]], "ii"},
   insert_order = {[[
      INSERT INTO orders (o_w_id, o_d_id, o_id, o_c_id, o_entry_d, o_carrier_id, o_ol_cnt,
                          o_all_local)
      VALUES ($1, $2, $3, $4, localtimestamp, NULL, $5, $6)]], "iiiiii"},
   insert_new_order = {[[
      INSERT INTO new_order (no_w_id, no_d_id, no_o_id) VALUES ($1, $2, $3)]], "iii"},
   update_stock = {[[
      UPDATE stock SET
         s_quantity = s_quantity - line.quantity
            + CASE WHEN s_quantity >= line.quantity + 10 THEN 0 ELSE 91 END,
         s_ytd = s_ytd + line.quantity, s_order_cnt = s_order_cnt + 1,
         s_remote_cnt = s_remote_cnt + CASE WHEN s_w_id = $1 THEN 0 ELSE 1 END
      FROM unnest($3, $4, $5) AS line (w_id, i_id, quantity)
      WHERE s_w_id = line.w_id AND s_i_id = line.i_id
      RETURNING s_w_id, s_i_id, s_quantity,
         CASE $2 WHEN 1 THEN s_dist_01 WHEN 2 THEN s_dist_02 WHEN 3 THEN s_dist_03
                 WHEN 4 THEN s_dist_04 WHEN 5 THEN s_dist_05 WHEN 6 THEN s_dist_06
                 WHEN 7 THEN s_dist_07 WHEN 8 THEN s_dist_08 WHEN 9 THEN s_dist_09
                 ELSE s_dist_10 END, s_data]], "iiIII"},
   insert_order_lines = {[[
      INSERT INTO order_line (ol_w_id, ol_d_id, ol_o_id, ol_number, ol_i_id, ol_supply_w_id,
                              ol_delivery_d, ol_quantity, ol_amount, ol_dist_info)
      SELECT $1, $2, $3, line.number, line.i_id, line.w_id, NULL, line.quantity,
             line.cents * 0.01, line.info
      FROM unnest($4, $5, $6, $7, $8, $9) AS line (number, i_id, w_id, quantity, cents, info)]],
      "iiiIIIIIT"},

   -- Payment and Order-Status
   customer_by_id = {[[
      SELECT c_id, c_credit, c_first, c_middle, c_last, c_street_1, c_street_2, c_city, c_state,
             c_zip, c_phone, c_since, c_credit_lim, c_discount, c_balance
      FROM customer WHERE c_w_id = $1 AND c_d_id = $2 AND c_id = $3]], "iii"},
   customer_by_name = {[[
      SELECT c_id, c_credit, c_first, c_middle, c_last, c_street_1, c_street_2, c_city, c_state,
             c_zip, c_phone, c_since, c_credit_lim, c_discount, c_balance
      FROM customer WHERE c_w_id = $1 AND c_d_id = $2 AND c_last = $3 ORDER BY c_first]], "iit"},
   pay = {[[
      UPDATE customer SET
         c_balance = c_balance - $4 * 0.01, c_ytd_payment = c_ytd_payment + $4 * 0.01,
         c_payment_cnt = c_payment_cnt + 1
      WHERE c_w_id = $1 AND c_d_id = $2 AND c_id = $3 RETURNING c_balance]], "iiii"},
   pay_bad_credit = {[[
      UPDATE customer SET
         c_balance = c_balance - $4 * 0.01, c_ytd_payment = c_ytd_payment + $4 * 0.01,
         c_payment_cnt = c_payment_cnt + 1, c_data = left($5 || c_data, 500)
      WHERE c_w_id = $1 AND c_d_id = $2 AND c_id = $3
      RETURNING c_balance, left(c_data, 200)]], "iiiit"},
   -- One statement: the history row needs both names, and the warehouse row, which every
   -- payment of the warehouse wants, is locked last and for one round trip only. Last,
   -- because the update of w joins d: planners may run independent parts in any order,
   -- and two payments with different orders would wait for each other.
   pay_warehouse = {[[
      WITH d AS (UPDATE district SET d_ytd = d_ytd + $6 * 0.01 WHERE d_w_id = $1 AND d_id = $2
                 RETURNING d_name, d_street_1, d_street_2, d_city, d_state, d_zip),
           w AS (UPDATE warehouse SET w_ytd = w_ytd + $6 * 0.01 FROM d WHERE w_id = $1
                 RETURNING w_name, w_street_1, w_street_2, w_city, w_state, w_zip, d.*),
           h AS (INSERT INTO history (h_c_id, h_c_d_id, h_c_w_id, h_d_id, h_w_id, h_date,
                                      h_amount, h_data)
                 SELECT $5, $4, $3, $2, $1, localtimestamp, $6 * 0.01,
                        w_name || '    ' || d_name FROM w)
      SELECT * FROM w]], "iiiiii"},
   last_order = {[[
      SELECT o.o_id, o.o_entry_d, o.o_carrier_id, ol_i_id, ol_supply_w_id, ol_quantity, ol_amount,
             ol_delivery_d
      FROM (SELECT o_id, o_entry_d, o_carrier_id FROM orders
            WHERE o_w_id = $1 AND o_d_id = $2 AND o_c_id = $3
            ORDER BY o_id DESC LIMIT 1) o
      JOIN order_line ON ol_w_id = $1 AND ol_d_id = $2 AND ol_o_id = o.o_id]], "iii"},

   -- Delivery
   oldest_order = {[[
      SELECT no_o_id FROM new_order WHERE no_w_id = $1 AND no_d_id = $2
      ORDER BY no_o_id LIMIT 1 FOR UPDATE]], "ii"},
   any_order = {"SELECT 1 FROM new_order WHERE no_w_id = $1 AND no_d_id = $2 LIMIT 1", "ii"},
   delete_new_orders = {[[
      DELETE FROM new_order USING unnest($2, $3) AS taken (d_id, o_id)
      WHERE no_w_id = $1 AND no_d_id = taken.d_id AND no_o_id = taken.o_id]], "iII"},
   deliver_orders = {[[
      UPDATE orders SET o_carrier_id = $4 FROM unnest($2, $3) AS taken (d_id, o_id)
      WHERE o_w_id = $1 AND o_d_id = taken.d_id AND orders.o_id = taken.o_id
      RETURNING o_d_id, o_c_id]], "iIIi"},
   deliver_lines = {[[
      WITH line AS (UPDATE order_line SET ol_delivery_d = localtimestamp
                    FROM unnest($2, $3) AS taken (d_id, o_id)
                    WHERE ol_w_id = $1 AND ol_d_id = taken.d_id AND ol_o_id = taken.o_id
                    RETURNING ol_d_id, ol_amount)
      SELECT ol_d_id, (sum(ol_amount) * 100)::int4 FROM line GROUP BY ol_d_id]], "iII"},
   deliver_customers = {[[
      UPDATE customer SET
         c_balance = c_balance + paid.cents * 0.01, c_delivery_cnt = c_delivery_cnt + 1
      FROM unnest($2, $3, $4) AS paid (d_id, c_id, cents)
      WHERE c_w_id = $1 AND c_d_id = paid.d_id AND customer.c_id = paid.c_id]], "iIII"},

   -- Stock-Level
   district_order = {"SELECT d_next_o_id FROM district WHERE d_w_id = $1 AND d_id = $2", "ii"},
   low_stock = {[[
      SELECT count(DISTINCT s_i_id)::int4 FROM order_line
      JOIN stock ON s_w_id = $1 AND s_i_id = ol_i_id
      WHERE ol_w_id = $1 AND ol_d_id = $2 AND ol_o_id >= $3 AND ol_o_id < $4
        AND s_quantity < $5]], "iiiii"},
}

function statements.prepare(conn, unprepared)
   local prepared = {}
   for name, definition in pairs(SQL) do
      prepared[name] = conn:prepare(definition[1], definition[2], unprepared)
   end
   return prepared
end

return statements
