-- Run by graphile-migrate before pending migrations; `headrace migrate` makes the schema by itself.
create schema if not exists :SCHEMA;
