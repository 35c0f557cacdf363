-- Where a connection goes, and the text in which libpq takes that.
local pq_address = {}

local function quoted(value)
   return "'" .. tostring(value):gsub("\\", "\\\\"):gsub("'", "\\'") .. "'"
end

-- Encryption and whom to trust come from the environment: PGSSLMODE, PGSSLROOTCERT.
-- With keepalives and the user timeout, a vanished server is an error within half a
-- minute instead of an endless wait.
function pq_address.conninfo(p)
   local words = {"connect_timeout=10", "keepalives=1 keepalives_idle=10 keepalives_interval=5",
                  "keepalives_count=4 tcp_user_timeout=30000 client_encoding=UTF8"}
   local function add(word, value)
      if value and value ~= "" then words[#words + 1] = word .. "=" .. quoted(value) end
   end
   add("host", p.host)
   add("port", p.port)
   add("user", p.user)
   add("password", p.password)
   add("dbname", p.db)
   add("application_name", p.application_name or "tierbench-load")
   add("options", "-c client_min_messages=warning")
   return table.concat(words, " ")
end

-- Returns the address in the --pgsql-* options. With several hosts separated by commas,
-- connection number i goes to host i modulo their count, so that every node of a
-- distributed database serves clients. A host may have its own port: host:port, [address]:port.
function pq_address.of_options(opt, index)
   local hosts = {}
   for host in tostring(opt.pgsql_host or ""):gmatch("[^,]+") do hosts[#hosts + 1] = host end
   local host = hosts[(index or 0) % math.max(#hosts, 1) + 1] or ""
   local name, port = host:match("^%[(.*)%]:(%d+)$")
   if not name then name, port = host:match("^([^:]*):(%d+)$") end
   return {host = name or host, port = port or opt.pgsql_port,
           user = opt.pgsql_user, password = opt.pgsql_password, db = opt.pgsql_db}
end

return pq_address
