-- BenchBase's nine tables for YugabyteDB, which keeps a table in its primary key: warehouse and
-- district are hashed, so that load spreads over the nodes, and what is read in ranges is ordered.
-- BenchBase inserts by position: columns and their order are its own.
DROP TABLE IF EXISTS history, new_order, order_line, oorder, customer, district, stock, item,
  warehouse CASCADE;

CREATE TABLE warehouse (
  w_id int NOT NULL,
  w_ytd numeric(12, 2) NOT NULL,
  w_tax numeric(4, 4) NOT NULL,
  w_name varchar(10) NOT NULL,
  w_street_1 varchar(20) NOT NULL,
  w_street_2 varchar(20) NOT NULL,
  w_city varchar(20) NOT NULL,
  w_state char(2) NOT NULL,
  w_zip char(9) NOT NULL,
  PRIMARY KEY (w_id HASH)
);

CREATE TABLE item (
  i_id int NOT NULL,
  i_name varchar(24) NOT NULL,
  i_price numeric(5, 2) NOT NULL,
  i_data varchar(50) NOT NULL,
  i_im_id int NOT NULL,
  PRIMARY KEY (i_id HASH)
);

CREATE TABLE stock (
  s_w_id int NOT NULL REFERENCES warehouse,
  s_i_id int NOT NULL REFERENCES item,
  s_quantity int NOT NULL,
  s_ytd numeric(8, 2) NOT NULL,
  s_order_cnt int NOT NULL,
  s_remote_cnt int NOT NULL,
  s_data varchar(50) NOT NULL,
  s_dist_01 char(24) NOT NULL,
  s_dist_02 char(24) NOT NULL,
  s_dist_03 char(24) NOT NULL,
  s_dist_04 char(24) NOT NULL,
  s_dist_05 char(24) NOT NULL,
  s_dist_06 char(24) NOT NULL,
  s_dist_07 char(24) NOT NULL,
  s_dist_08 char(24) NOT NULL,
  s_dist_09 char(24) NOT NULL,
  s_dist_10 char(24) NOT NULL,
  PRIMARY KEY (s_w_id HASH, s_i_id ASC)
);

CREATE TABLE district (
  d_w_id int NOT NULL REFERENCES warehouse,
  d_id int NOT NULL,
  d_ytd numeric(12, 2) NOT NULL,
  d_tax numeric(4, 4) NOT NULL,
  d_next_o_id int NOT NULL,
  d_name varchar(10) NOT NULL,
  d_street_1 varchar(20) NOT NULL,
  d_street_2 varchar(20) NOT NULL,
  d_city varchar(20) NOT NULL,
  d_state char(2) NOT NULL,
  d_zip char(9) NOT NULL,
  PRIMARY KEY ((d_w_id, d_id) HASH)
);

CREATE TABLE customer (
  c_w_id int NOT NULL,
  c_d_id int NOT NULL,
  c_id int NOT NULL,
  c_discount numeric(4, 4) NOT NULL,
  c_credit char(2) NOT NULL,
  c_last varchar(16) NOT NULL,
  c_first varchar(16) NOT NULL,
  c_credit_lim numeric(12, 2) NOT NULL,
  c_balance numeric(12, 2) NOT NULL,
  c_ytd_payment float NOT NULL,
  c_payment_cnt int NOT NULL,
  c_delivery_cnt int NOT NULL,
  c_street_1 varchar(20) NOT NULL,
  c_street_2 varchar(20) NOT NULL,
  c_city varchar(20) NOT NULL,
  c_state char(2) NOT NULL,
  c_zip char(9) NOT NULL,
  c_phone char(16) NOT NULL,
  c_since timestamp NOT NULL DEFAULT CURRENT_TIMESTAMP,
  c_middle char(2) NOT NULL,
  c_data varchar(500) NOT NULL,
  FOREIGN KEY (c_w_id, c_d_id) REFERENCES district,
  PRIMARY KEY ((c_w_id, c_d_id) HASH, c_id ASC)
);

CREATE TABLE history (
  h_c_id int NOT NULL,
  h_c_d_id int NOT NULL,
  h_c_w_id int NOT NULL,
  h_d_id int NOT NULL,
  h_w_id int NOT NULL,
  h_date timestamp NOT NULL DEFAULT CURRENT_TIMESTAMP,
  h_amount numeric(6, 2) NOT NULL,
  h_data varchar(24) NOT NULL,
  FOREIGN KEY (h_c_w_id, h_c_d_id, h_c_id) REFERENCES customer,
  FOREIGN KEY (h_w_id, h_d_id) REFERENCES district
);

CREATE TABLE oorder (
  o_w_id int NOT NULL,
  o_d_id int NOT NULL,
  o_id int NOT NULL,
  o_c_id int NOT NULL,
  o_carrier_id int,
  o_ol_cnt int NOT NULL,
  o_all_local int NOT NULL,
  o_entry_d timestamp NOT NULL DEFAULT CURRENT_TIMESTAMP,
  FOREIGN KEY (o_w_id, o_d_id, o_c_id) REFERENCES customer,
  PRIMARY KEY ((o_w_id, o_d_id) HASH, o_id ASC)
);

CREATE TABLE new_order (
  no_w_id int NOT NULL,
  no_d_id int NOT NULL,
  no_o_id int NOT NULL,
  FOREIGN KEY (no_w_id, no_d_id, no_o_id) REFERENCES oorder,
  PRIMARY KEY ((no_w_id, no_d_id) HASH, no_o_id ASC)
);

CREATE TABLE order_line (
  ol_w_id int NOT NULL,
  ol_d_id int NOT NULL,
  ol_o_id int NOT NULL,
  ol_number int NOT NULL,
  ol_i_id int NOT NULL,
  ol_delivery_d timestamp,
  ol_amount numeric(6, 2) NOT NULL,
  ol_supply_w_id int NOT NULL,
  ol_quantity numeric(6, 2) NOT NULL,
  ol_dist_info char(24) NOT NULL,
  FOREIGN KEY (ol_w_id, ol_d_id, ol_o_id) REFERENCES oorder,
  FOREIGN KEY (ol_supply_w_id, ol_i_id) REFERENCES stock,
  PRIMARY KEY ((ol_w_id, ol_d_id) HASH, ol_o_id ASC, ol_number ASC)
);

CREATE INDEX customer_by_name ON customer ((c_w_id, c_d_id) HASH, c_last ASC, c_first ASC);

CREATE INDEX order_by_customer ON oorder ((o_w_id, o_d_id) HASH, o_c_id ASC, o_id DESC);
