-- Writes the JSON that our own output needs: json(value) for strings, numbers, booleans,
-- lists and objects. Keys are sorted, so that files can be compared. An empty table is a
-- list. Raises for what JSON does not have: NaN, infinity, and values of other types.
local function text(s)
   s = s:gsub('[%c"\\]', function(c) return string.format("\\u%04x", c:byte()) end)
   return '"' .. s .. '"'
end

local function number(n)
   if n ~= n or math.abs(n) == math.huge then error(n .. " is no number of JSON", 0) end
   if n == math.floor(n) and math.abs(n) < 1e15 then return string.format("%.0f", n) end
   return string.format("%.15g", n)
end

local function json(value)
   if type(value) == "string" then return text(value) end
   if type(value) == "number" then return number(value) end
   if type(value) == "boolean" then return tostring(value) end
   if type(value) ~= "table" then error(type(value) .. " is no type of JSON", 0) end
   local parts = {}
   if #value > 0 or next(value) == nil then
      for i, v in ipairs(value) do parts[i] = json(v) end
      return "[" .. table.concat(parts, ",") .. "]"
   end
   local keys = {}
   for k in pairs(value) do keys[#keys + 1] = k end
   table.sort(keys)
   for i, k in ipairs(keys) do parts[i] = text(k) .. ":" .. json(value[k]) end
   return "{" .. table.concat(parts, ",") .. "}"
end

return json
