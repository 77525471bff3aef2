-- B: a job's state is where it stands. The body is written once and deleted once; a narrow row
-- moves from ready (available) to lease (running).

create sequence lease_seq cache 10;

create table body (
  key                 bigint generated always as identity (cache 100) primary key,
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

create unique index body_id on body (id) where id is not null;
create unique index body_unique_key on body (unique_key) where unique_key is not null;

create table ready (
  key             bigint   not null,
  scheduled_at_ms bigint   not null,
  fence           integer  not null,
  priority        smallint not null,
  queue           text     not null,
  partition_key   text     not null
);

create index ready_order on ready (queue, partition_key, priority desc, scheduled_at_ms, key);

create table lease (
  key           bigint  primary key,
  lease_no      bigint  not null,
  claimed_at_ms bigint  not null,
  expires_at_ms bigint  not null,
  fence         integer not null,
  worker        text    not null
);

create index lease_expiry on lease (expires_at_ms);
