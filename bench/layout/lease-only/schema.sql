-- D1: the claim writes nothing in the job row. A lane's position is exact: whoever claims from a
-- lane locks it, takes the next jobs, moves the position past them and writes one lease row. A job
-- is running because a lease names it; its row still says available until it is settled.

create type job_state as enum (
  'pending', 'scheduled', 'retryable', 'available', 'running',
  'completed', 'archived', 'cancelled', 'quarantined', 'undecodable'
);

create sequence lease_seq;

create table job (
  key                 bigint generated always as identity (cache 100) primary key,
  fence               integer   not null default 0,
  state               job_state not null,
  stage               smallint  not null generated always as (
                        case
                          when state in ('pending', 'scheduled', 'retryable') then 0
                          when state in ('available', 'running') then 1
                          else 2
                        end) stored,
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
  unique_key          text,
  rate_classes        text[],
  headers             jsonb,
  tags                text[],
  sticky_worker       text,
  periodic_schedule_id text
);

create index job_ready on job (queue, partition_key, priority desc, scheduled_at_ms, key)
  where stage = 1;
create unique index job_id on job (id) where id is not null;
create unique index job_unique_key on job (unique_key) where unique_key is not null;

create table lease (
  lease_no      bigint primary key,
  claimed_at_ms bigint not null,
  expires_at_ms bigint not null,
  worker        text   not null,
  keys          bigint[] not null
) with (toast_tuple_target = 8160);

create index lease_expiry on lease (expires_at_ms);
