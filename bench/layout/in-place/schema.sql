-- A: one table, one state column, everything in place. The ready order is a partial index on
-- state = 'available', so a claim takes the row out of one index and puts it into another.

create type job_state as enum (
  'pending', 'scheduled', 'retryable', 'available', 'running',
  'completed', 'archived', 'cancelled', 'quarantined', 'undecodable'
);

create sequence lease_seq cache 10;

create table job (
  key                 bigint generated always as identity (cache 100) primary key,
  claimed_at_ms       bigint,
  lease_expires_at_ms bigint,
  lease_no            bigint,
  fence               integer   not null default 0,
  state               job_state not null,
  attempt             smallint  not null default 0,
  crash_attempt       smallint  not null default 0,
  max_attempts        smallint  not null default 25,
  priority            smallint  not null default 0,
  weight              integer   not null default 1,
  schema_version      integer   not null default 1,
  enqueued_at_ms      bigint    not null,
  scheduled_at_ms     bigint    not null,
  finalized_at_ms     bigint,
  timeout_ms          bigint,
  deadline_ms         bigint,
  retention_ms        bigint,
  periodic_tick_ms    bigint,
  queue               text      not null,
  partition_key       text      not null,
  kind                text      not null,
  payload             bytea     not null,
  fingerprint         bytea,
  id                  text,
  lease_worker        text,
  unique_key          text,
  rate_classes        text[],
  headers             jsonb,
  tags                text[],
  sticky_worker       text,
  periodic_schedule_id text
) with (fillfactor = 70);

create index job_ready on job (queue, partition_key, priority desc, scheduled_at_ms, key)
  where state = 'available';
create index job_lease_expiry on job (lease_expires_at_ms) where state = 'running';
create unique index job_id on job (id) where id is not null;
create unique index job_unique_key on job (unique_key) where unique_key is not null;
