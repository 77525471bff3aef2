-- D2: three append-only segments that are written, read and truncated in turn. Nothing is ever
-- updated or deleted in a segment: a cursor per lane says how far it has been claimed, one lease
-- row stands for a claimed batch, and a segment that every cursor has left and no lease names is
-- truncated. First in, first out only: a lane is a (queue, partition), without priorities.
--
-- The order is (born, key), born being the number of the enqueuing transaction, and only what is
-- older than the oldest transaction still running can be claimed. So nothing can appear behind a
-- cursor, and one long writing transaction anywhere in the database holds up every queue.

create sequence lease_seq;
create sequence key_seq cache 100;

create table lane (
  lane_no integer generated always as identity primary key,
  queue text not null,
  partition_key text not null,
  segment smallint not null default 0,
  born xid8 not null default '0',
  key bigint not null default 0,
  unique (queue, partition_key)
) with (fillfactor = 50);

create table turn (
  only_row boolean primary key default true check (only_row),
  writing smallint not null default 0,
  reading smallint not null default 0,
  since xid8 not null default '0'
);
insert into turn default values;

create table job (
  segment smallint not null,
  attempt smallint not null default 0,
  lane_no integer not null,
  key bigint not null default nextval('key_seq'),
  born xid8 not null default pg_current_xact_id(),
  fence integer not null default 0,
  crash_attempt smallint not null default 0,
  max_attempts smallint not null default 25,
  priority smallint not null default 0,
  weight integer not null default 1,
  schema_version integer not null default 1,
  enqueued_at_ms bigint not null,
  scheduled_at_ms bigint not null,
  timeout_ms bigint,
  deadline_ms bigint,
  retention_ms bigint,
  periodic_tick_ms bigint,
  kind text not null,
  payload bytea not null,
  fingerprint bytea,
  id text,
  unique_key text,
  rate_classes text[],
  headers jsonb,
  tags text[],
  sticky_worker text,
  periodic_schedule_id text
) partition by list (segment);

create table job_0 partition of job for values in (0);
create table job_1 partition of job for values in (1);
create table job_2 partition of job for values in (2);
create index job_order on job (lane_no, born, key);

create table lease (
  lease_no bigint primary key,
  claimed_at_ms bigint not null,
  expires_at_ms bigint not null,
  segment smallint not null,
  worker text not null,
  keys bigint[] not null
) with (toast_tuple_target = 8160);

create index lease_expiry on lease (expires_at_ms);
