-- The nine tables of the TPC-C-derived workload with their cardinalities (specification 5.11,
-- clauses 1.2 to 1.4), and the SQL that makes them in a dialect of lib/dialects.lua.
local ITEMS = 100000
local DISTRICTS = 10
local CUSTOMERS = 3000
local FIRST_NEW_ORDER = 2101

-- Districts per warehouse, customers (and orders at loading) per district; of these orders, the
-- first that is not delivered yet; most lines of an order.
local schema = {VERSION = 2, ITEMS = ITEMS, DISTRICTS = DISTRICTS, CUSTOMERS = CUSTOMERS,
                FIRST_NEW_ORDER = FIRST_NEW_ORDER, MAX_LINES = 15}

-- In loading order. key and indexes: the columns; range: the first column that is ordered rather
-- than hashed if a database shards by hash; warehouse: the column of the warehouse that a row
-- belongs to; rows: how many a warehouse has (order lines: as many as were drawn).
schema.tables = {
   {name = "item", key = {"i_id"}, range = 2, columns = [[
      i_id int NOT NULL, i_im_id int NOT NULL, i_name varchar(24) NOT NULL,
      i_price numeric(5,2) NOT NULL, i_data varchar(50) NOT NULL]]},
   {name = "warehouse", warehouse = "w_id", rows = 1, key = {"w_id"}, range = 2, columns = [[
      w_id int NOT NULL, w_name varchar(10) NOT NULL, w_street_1 varchar(20) NOT NULL,
      w_street_2 varchar(20) NOT NULL, w_city varchar(20) NOT NULL, w_state char(2) NOT NULL,
      w_zip char(9) NOT NULL, w_tax numeric(4,4) NOT NULL, w_ytd numeric(12,2) NOT NULL]]},
   {name = "district", warehouse = "d_w_id", rows = DISTRICTS, key = {"d_w_id", "d_id"}, range = 3,
    parents = {{"d_w_id", "warehouse"}}, columns = [[
      d_w_id int NOT NULL, d_id int NOT NULL, d_name varchar(10) NOT NULL,
      d_street_1 varchar(20) NOT NULL, d_street_2 varchar(20) NOT NULL, d_city varchar(20) NOT NULL,
      d_state char(2) NOT NULL, d_zip char(9) NOT NULL, d_tax numeric(4,4) NOT NULL,
      d_ytd numeric(12,2) NOT NULL, d_next_o_id int NOT NULL]]},
   {name = "customer", warehouse = "c_w_id", rows = DISTRICTS * CUSTOMERS,
    key = {"c_w_id", "c_d_id", "c_id"}, range = 3, parents = {{"c_w_id, c_d_id", "district"}},
    indexes = {{name = "customer_by_name", columns = {"c_w_id", "c_d_id", "c_last", "c_first"},
                range = 3}},
    columns = [[
      c_w_id int NOT NULL, c_d_id int NOT NULL, c_id int NOT NULL, c_first varchar(16) NOT NULL,
      c_middle char(2) NOT NULL, c_last varchar(16) NOT NULL, c_street_1 varchar(20) NOT NULL,
      c_street_2 varchar(20) NOT NULL, c_city varchar(20) NOT NULL, c_state char(2) NOT NULL,
      c_zip char(9) NOT NULL, c_phone char(16) NOT NULL, c_since timestamp NOT NULL,
      c_credit char(2) NOT NULL, c_credit_lim numeric(12,2) NOT NULL,
      c_discount numeric(4,4) NOT NULL, c_balance numeric(12,2) NOT NULL,
      c_ytd_payment numeric(12,2) NOT NULL, c_payment_cnt int NOT NULL, c_delivery_cnt int NOT NULL,
      c_data varchar(500) NOT NULL]]},
   {name = "history", warehouse = "h_w_id", rows = DISTRICTS * CUSTOMERS,
    parents = {{"h_c_w_id, h_c_d_id, h_c_id", "customer"}, {"h_w_id, h_d_id", "district"}},
    columns = [[
      h_c_id int NOT NULL, h_c_d_id int NOT NULL, h_c_w_id int NOT NULL, h_d_id int NOT NULL,
      h_w_id int NOT NULL, h_date timestamp NOT NULL, h_amount numeric(6,2) NOT NULL,
      h_data varchar(24) NOT NULL]]},
   {name = "stock", warehouse = "s_w_id", rows = ITEMS, key = {"s_w_id", "s_i_id"}, range = 2,
    parents = {{"s_w_id", "warehouse"}, {"s_i_id", "item"}}, columns = [[
      s_w_id int NOT NULL, s_i_id int NOT NULL, s_quantity int NOT NULL,
      s_dist_01 char(24) NOT NULL, s_dist_02 char(24) NOT NULL, s_dist_03 char(24) NOT NULL,
      s_dist_04 char(24) NOT NULL, s_dist_05 char(24) NOT NULL, s_dist_06 char(24) NOT NULL,
      s_dist_07 char(24) NOT NULL, s_dist_08 char(24) NOT NULL, s_dist_09 char(24) NOT NULL,
      s_dist_10 char(24) NOT NULL, s_ytd int NOT NULL, s_order_cnt int NOT NULL,
      s_remote_cnt int NOT NULL, s_data varchar(50) NOT NULL]]},
   {name = "orders", warehouse = "o_w_id", rows = DISTRICTS * CUSTOMERS,
    key = {"o_w_id", "o_d_id", "o_id"}, range = 3,
    parents = {{"o_w_id, o_d_id, o_c_id", "customer"}},
    indexes = {{name = "orders_by_customer", columns = {"o_w_id", "o_d_id", "o_c_id", "o_id DESC"},
                range = 3}},
    columns = [[
      o_w_id int NOT NULL, o_d_id int NOT NULL, o_id int NOT NULL, o_c_id int NOT NULL,
      o_entry_d timestamp NOT NULL, o_carrier_id int, o_ol_cnt int NOT NULL,
      o_all_local int NOT NULL]]},
   {name = "new_order", warehouse = "no_w_id",
    rows = DISTRICTS * (CUSTOMERS - FIRST_NEW_ORDER + 1),
    key = {"no_w_id", "no_d_id", "no_o_id"}, range = 3,
    parents = {{"no_w_id, no_d_id, no_o_id", "orders"}}, columns = [[
      no_w_id int NOT NULL, no_d_id int NOT NULL, no_o_id int NOT NULL]]},
   {name = "order_line", warehouse = "ol_w_id",
    key = {"ol_w_id", "ol_d_id", "ol_o_id", "ol_number"}, range = 3,
    parents = {{"ol_w_id, ol_d_id, ol_o_id", "orders"}, {"ol_supply_w_id, ol_i_id", "stock"}},
    columns = [[
      ol_w_id int NOT NULL, ol_d_id int NOT NULL, ol_o_id int NOT NULL, ol_number int NOT NULL,
      ol_i_id int NOT NULL, ol_supply_w_id int NOT NULL, ol_delivery_d timestamp,
      ol_quantity int NOT NULL, ol_amount numeric(6,2) NOT NULL, ol_dist_info char(24) NOT NULL]]},
}

-- Bookkeeping that belongs to a data set and is restored with it: facts (version, scale,
-- seed, the C constants of NURand at loading) and which warehouses are complete.
schema.bookkeeping = {
   "CREATE TABLE tpcc_facts (name text PRIMARY KEY, value text NOT NULL)",
   "CREATE TABLE tpcc_loaded (w_id int PRIMARY KEY, complete boolean NOT NULL, rows bigint, "
      .. "order_lines bigint)",
}

-- Which rows of a table are a warehouse's. Districts are listed because a database that shards by a
-- hash of warehouse and district finds rows only by both, and would read the whole table.
function schema.belongs(t, w)
   local condition = string.format("%s = %d", t.warehouse, w)
   local district = t.key and t.key[2]
   if not district or not district:find("d_id$") then return condition end
   local numbers = {}
   for d = 1, DISTRICTS do numbers[d] = d end
   return string.format("%s AND %s IN (%s)", condition, district, table.concat(numbers, ", "))
end

function schema.create_table(dialect, t, tablets)
   local key = ""
   if dialect.keys_first and t.key then
      key = ",\n      PRIMARY KEY " .. dialect.key(t.key, t.range)
   end
   return "CREATE TABLE " .. t.name .. " (\n" .. t.columns .. key .. ")" .. dialect.split(tablets)
end

function schema.create_indexes(dialect, t, tablets)
   local statements = {}
   for _, index in ipairs(t.indexes or {}) do
      statements[#statements + 1] = string.format(
         "CREATE INDEX IF NOT EXISTS %s ON %s %s%s", index.name, t.name,
         dialect.key(index.columns, index.range), dialect.split(tablets))
   end
   return statements
end

-- A key after the data, under the name the primary key gets by default.
function schema.add_key(dialect, t)
   return string.format("ALTER TABLE %s ADD PRIMARY KEY %s", t.name, dialect.key(t.key, t.range))
end

function schema.foreign_keys(t)
   local statements = {}
   for i, parent in ipairs(t.parents or {}) do
      statements[i] = string.format(
         "ALTER TABLE %s ADD CONSTRAINT %s_parent_%d FOREIGN KEY (%s) REFERENCES %s",
         t.name, t.name, i, parent[1], parent[2])
   end
   return statements
end

-- Raised if a row that must exist does not: the data set is broken, a retry would not help.
function schema.missing_row(what)
   error({sqlstate = "P0002", message = "no such row: " .. what}, 0)
end

return schema
