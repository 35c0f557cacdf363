-- Memory that the threads of sysbench share: each has a Lua of its own, in one process.
local ffi = require("ffi")

ffi.cdef[[
void *calloc(size_t n, size_t size);
int setenv(const char *name, const char *value, int overwrite);
int pthread_mutex_lock(void *mutex);
int pthread_mutex_unlock(void *mutex);
]]

local C = ffi.C
local shared = {}

-- Zeroed memory for a struct, before the threads start; it is given back at the end of the process.
-- name: of the environment variable that tells the threads where it is.
function shared.create(name, struct)
   local memory = ffi.cast(struct .. " *", C.calloc(1, ffi.sizeof(struct)))
   C.setenv(name, string.format("%.0f", tonumber(ffi.cast("uintptr_t", memory))), 1)
   return memory
end

-- An array of n zeroed elements of that many bytes, for a pointer in such memory.
function shared.array(n, bytes) return C.calloc(n, bytes) end

function shared.find(name, struct)
   return ffi.cast(struct .. " *", ffi.cast("uintptr_t", tonumber(os.getenv(name))))
end

-- Calls f while no other thread is in a call with that lock: a pthread_mutex_t, which is open when
-- it is all zeros; eight int64_t hold one.
function shared.locked(lock, f, ...)
   C.pthread_mutex_lock(lock)
   local result = f(...)
   C.pthread_mutex_unlock(lock)
   return result
end

return shared
