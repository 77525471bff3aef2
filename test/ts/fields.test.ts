// timeout: 300 s
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { testDatabase } from "./support/database.js";

/**
 * Each field of what is stored for others (jobs, schedules, rate classes, ceilings, runs, policies of tasks) is given values
 * outside its bounds, of other types and not to be stored at all, beside sound ones. Each is refused as HR007, and what is
 * named is the field; the sound object is taken.
 */
const fields = suite("every field, with what it can't take");
const database = await testDatabase();
const { query } = database;
fields.after(() => database.close());

/** Values as JSON texts, since some have no form in JavaScript. */
type Values = readonly string[];

const quoted = (value: string): string => JSON.stringify(value);
const nested = ["[]", "{}", '["a"]', '{"a": 1}'];
const unstorable = ['"a\\u0000b"', '"\\ud800"', '"\\udc00x"'];

/** A text of at most so many bytes. */
const text = (most: number, form: { readonly empty?: boolean; readonly required?: boolean } = {}): Values => [
  ...nested,
  ...unstorable,
  quoted("x".repeat(most + 1)),
  quoted("x".repeat(most - 1) + "é"),
  ...(form.empty ? [] : ['""']),
  ...(form.required ? ["null"] : []),
];
const whole = (least: bigint, most: bigint, form: { readonly required?: boolean } = {}): Values => [
  ...nested,
  ...unstorable,
  String(least - 1n),
  String(most + 1n),
  ...["1.5", "1e400", "99999999999999999999", "true", '""', '"x"', '"NaN"'],
  ...['"Infinity"', '" "'],
  ...(form.required ? ["null"] : []),
];
const integer = (least = -2147483648n, form = {}): Values => whole(least, 2147483647n, form);
const longest = 315576000000000n;
const duration = (least = 0n): Values => whole(least, longest);
const oneOf = (form: { readonly empty?: boolean; readonly required?: boolean } = {}): Values => [
  ...nested,
  ...unstorable,
  ...['"x"', "1", "true"],
  ...(form.empty ? [] : ['""']),
  ...(form.required ? ["null"] : []),
];
const names: Values = [
  '"a"',
  "1",
  "true",
  "{}",
  "[null]",
  '[""]',
  "[[]]",
  "[{}]",
  `[${quoted("x".repeat(256))}]`,
  ...unstorable.map((value) => `[${value}]`),
];
const base64: Values = [...nested, ...unstorable, '"*"', '"a"', '"=a=="'];

interface Door {
  /** The call, with the object as $1. */
  readonly call: string;
  readonly sound: Readonly<Record<string, unknown>>;
  readonly fields: Readonly<Record<string, Values>>;
  /** What else may be named: where two fields do not go together. */
  readonly also?: Readonly<Record<string, string>>;
}

const jobFields: Readonly<Record<string, Values>> = {
  id: text(255),
  kind: [...text(128, { required: true }), '"-a"', '"é"', '"a b"'],
  schema_version: integer(1n),
  queue: text(255, { empty: true }),
  partition_key: text(255, { empty: true }),
  rate_class: text(255, { empty: true }),
  weight: integer(1n),
  fingerprint: text(255),
  priority: integer(),
  max_attempts: integer(1n),
  delay_ms: duration(),
  timeout_ms: duration(),
  deadline_ms: duration(),
  retention_ms: duration(),
  unique_key: text(1024, { empty: true }),
  unique_window_ms: duration(),
  unique_scope: oneOf(),
  headers: [
    '"a"',
    "1",
    "true",
    "[]",
    '{"a": "\\u0000"}',
    '{"headrace-a": 1}',
    `{"a": ${quoted("x".repeat(65536))}}`,
  ],
  tags: [...names, '["a", "a"]', '["é"]', `[${quoted("x".repeat(65))}]`],
  pending: [...nested, ...unstorable, '"x"', "2", '""'],
  sticky_worker: text(255, { empty: true }),
  periodic_schedule_id: text(255),
  periodic_tick_ms: whole(1n, 9223372036854775807n),
  payload: ['"\\u0000"', '"\\ud800"', '{"a": ["\\u0000"]}', quoted("x".repeat(1048576))],
};

/** What PostgreSQL can't read of an object in an object has the name of that. */
const within = (name: string, members: readonly string[]): Readonly<Record<string, string>> =>
  Object.fromEntries(members.map((member) => [member, name]));

const doors: Readonly<Record<string, Door>> = {
  enqueue_many: {
    call: "enqueue_many(json_build_array($1::json))",
    sound: { kind: "a", unique_key: "k", periodic_schedule_id: "s", periodic_tick_ms: 1, payload: {} },
    fields: jobFields,
    also: { rate_class: "rate_classes" },
  },
  "enqueue_many, in report": {
    call: "enqueue_many(json_build_array('{\"kind\": \"first\"}'::json, $1::json), 'report')",
    sound: { kind: "a", unique_key: "k", periodic_schedule_id: "s", periodic_tick_ms: 1, payload: {} },
    fields: { queue: jobFields["queue"]!, weight: jobFields["weight"]!, tags: jobFields["tags"]! },
  },
  "enqueue_many, the other forms": {
    call: "enqueue_many(json_build_array($1::json))",
    sound: { kind: "a", unique_key_base64: "b3RoZXI=", payload_base64: "" },
    fields: {
      payload_base64: base64,
      unique_key_base64: base64,
      unique_replace: [...names, '["kind"]'],
      unique_debounce_ms: duration(),
      scheduled_at_ms: duration(),
      rate_classes: [...names, '["a", "b", "c", "d", "e"]'],
    },
  },
  backend_upsert_job: {
    call: "backend_upsert_job($1::json)",
    sound: { job_id: "job", task_name: "task" },
    fields: {
      job_id: text(255),
      task_name: [...text(128, { required: true }), '"é"'],
      actor_json: text(65536, { empty: true }),
      params_json: [...nested, ...unstorable, quoted("x".repeat(1048577))],
      priority: whole(-2147483647n, 2147483647n),
      pool: text(255, { empty: true }),
      status: oneOf(),
      idempotency_key: text(1024, { empty: true }),
      signature_hash: whole(0n, 18446744073709551615n),
      attempt: integer(1n),
      delay_ms: duration(),
      run_id: nested,
    },
    also: { params_json: "payload", pool: "queue", job_id: "id" },
  },
  backend_enqueue_with_policies: {
    call: "backend_enqueue_with_policies($1::json)",
    sound: { job_id: "other", task_name: "task" },
    fields: {
      job_id: text(255),
      task_name: text(128, { required: true }),
      priority: whole(-2147483647n, 2147483647n),
      signature_hash: whole(0n, 18446744073709551615n),
      attempt: integer(1n),
      delay_ms: duration(),
    },
    also: { job_id: "id" },
  },
  "backend_enqueue_with_policies, the policies": {
    call: 'backend_enqueue_with_policies(\'{"job_id": "third", "task_name": "task"}\', $1::json)',
    sound: { task_name: "task" },
    fields: {
      priority: whole(-2147483647n, 2147483647n),
      pool: text(255, { empty: true }),
      idempotency_mode: oneOf(),
      retention_ms: duration(),
    },
  },
  backend_upsert_task_config: {
    call: "backend_upsert_task_config($1::json)",
    sound: { task_name: "task" },
    fields: {
      task_name: text(128, { required: true }),
      priority: whole(-2147483647n, 2147483647n),
      pool: text(255, { empty: true }),
      idempotency_mode: oneOf(),
      retention_ms: duration(),
      retry_policy: ["[]", '"a"', "1", '{"a": 1}'],
      rate_limit_policy: ["[]", '"a"', "1", '{"a": 1}'],
    },
  },
  "backend_upsert_task_config, retry_policy": {
    call: "backend_upsert_task_config(json_build_object('task_name', 'task', 'retry_policy', $1::json))",
    sound: { max_attempts: 3 },
    fields: {
      max_attempts: integer(0n),
      base_delay_ms: duration(),
      backoff_multiplier: [
        ...nested,
        ...unstorable,
        "-1",
        "0.5",
        "101",
        "1e400",
        '"x"',
        '"NaN"',
        '"Infinity"',
        "true",
        '""',
      ],
      max_delay_ms: duration(),
    },
    also: within("retry_policy", ["max_attempts", "base_delay_ms", "backoff_multiplier", "max_delay_ms"]),
  },
  "backend_upsert_task_config, rate_limit_policy": {
    call: "backend_upsert_task_config(json_build_object('task_name', 'task', 'rate_limit_policy', $1::json))",
    sound: { max_in_flight: 3 },
    fields: { max_in_flight: integer(0n), max_enqueue_per_second: integer(0n) },
    also: within("rate_limit_policy", ["max_in_flight", "max_enqueue_per_second"]),
  },
  backend_register_task: {
    call: "backend_register_task($1::json)",
    sound: { task_name: "registered" },
    fields: {
      task_name: text(128, { required: true }),
      priority: whole(-2147483647n, 2147483647n),
      pool: text(255, { empty: true }),
    },
  },
  backend_upsert_run: {
    call: "backend_upsert_run($1::json)",
    sound: { run_id: "run", job_id: "job", task_name: "task", status: "success" },
    fields: {
      run_id: text(255, { required: true }),
      job_id: text(255, { required: true }),
      task_name: text(128, { required: true }),
      attempt: integer(1n),
      status: oneOf({ required: true }),
      started_at_ms: duration(),
      finished_at_ms: duration(),
      duration_ms: duration(),
      error_message: nested,
    },
  },
};

/** How many rows each table has. */
const stored = (): Promise<Record<string, unknown>[]> =>
  query(
    `select c.relname, (xpath('//n/text()', query_to_xml('select count(*) as n from ' || c.oid::regclass, false, true, '')))[1]::text as n
     from pg_class c where c.relnamespace = :SCHEMA_LITERAL::regnamespace and c.relkind = 'r' order by 1`,
  );

for (const [name, door] of Object.entries(doors)) {
  fields(name, async () => {
    const complaints: string[] = [];
    const before = await stored();
    for (const [field, values] of Object.entries(door.fields)) {
      for (const value of values) {
        const others = Object.entries(door.sound).filter(([key]) => key !== field);
        const members = others.map(([key, sound]) => `${quoted(key)}: ${JSON.stringify(sound)}`);
        const object = `{${[...members, `${quoted(field)}: ${value}`].join(", ")}}`;
        const told = `${field} = ${value.slice(0, 60)}`;
        await database.pool.query(database.sql(`select * from :SCHEMA.${door.call}`), [object]).then(
          () => complaints.push(`${told}: taken`),
          (error: { code?: string; detail?: string; message: string }) => {
            const given = (error.code?.startsWith("HR") ? JSON.parse(error.detail ?? "{}") : {}) as {
              field?: string;
            };
            if (error.code === "HR007" && (given.field === field || given.field === door.also?.[field]))
              return;
            complaints.push(`${told}: ${error.code} ${given.field ?? ""} ${error.message}`);
          },
        );
      }
    }
    assert.equal(complaints.length, 0, complaints.join("\n"));
    assert.equal(await stored(), before, "something was written");
    await query(`select * from :SCHEMA.${door.call}`, [JSON.stringify(door.sound)]);
  });
}

fields.run();
