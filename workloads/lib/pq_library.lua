-- libpq as LuaJIT's FFI sees it: the functions that pq.lua calls.
local ffi = require("ffi")

ffi.cdef[[
typedef struct pg_conn PGconn;
typedef struct pg_result PGresult;
PGconn *PQconnectdb(const char *conninfo);
void PQfinish(PGconn *c);
int PQstatus(const PGconn *c);
char *PQerrorMessage(const PGconn *c);
int PQtransactionStatus(const PGconn *c);
PGresult *PQexec(PGconn *c, const char *sql);
PGresult *PQprepare(PGconn *c, const char *name, const char *sql, int n, const unsigned *types);
int PQsendQueryPrepared(PGconn *c, const char *name, int n, const char *const *values,
                        const int *lengths, const int *formats, int result_format);
int PQsendQueryParams(PGconn *c, const char *sql, int n, const unsigned *types,
                      const char *const *values, const int *lengths, const int *formats,
                      int result_format);
int PQenterPipelineMode(PGconn *c);
int PQpipelineSync(PGconn *c);
PGresult *PQgetResult(PGconn *c);
int PQisBusy(PGconn *c);
int PQconsumeInput(PGconn *c);
int PQsocket(const PGconn *c);
void PQclear(PGresult *r);
int PQresultStatus(const PGresult *r);
char *PQresultErrorField(const PGresult *r, int field);
char *PQcmdTuples(PGresult *r);
int PQntuples(const PGresult *r);
int PQnfields(const PGresult *r);
char *PQgetvalue(const PGresult *r, int row, int col);
int PQgetisnull(const PGresult *r, int row, int col);
int PQgetlength(const PGresult *r, int row, int col);
int PQputCopyData(PGconn *c, const char *data, int n);
int PQputCopyEnd(PGconn *c, const char *error);
typedef struct { int fd; short events, revents; } tb_pollfd;
int poll(tb_pollfd *files, unsigned long count, int timeout_ms);
]]

return ffi.load("libpq.so.5")
