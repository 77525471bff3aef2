create function now_ms() returns bigint
language sql volatile
return (extract(epoch from clock_timestamp()) * 1000)::bigint;
