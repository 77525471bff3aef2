// timeout: 300 s
import { readFile } from "node:fs/promises";
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { testDatabase } from "./support/database.js";
import { enqueue, jobIn } from "./support/jobs.js";

/**
 * Every public function is called with every extreme value in each of its arguments, and in each field of the JSON that it
 * reads, beside sound values in the others. It must answer, or refuse with an error of ours that has the fields the contract
 * names for it and that its comment tells of; and what it did must keep the invariants.
 */
const doors = suite("every door, with whatever people pass");
const database = await testDatabase({ poolSize: 2 });
const { query } = database;

interface Door {
  readonly name: string;
  readonly changes: boolean;
  readonly comment: string;
  readonly names: readonly string[];
  readonly types: readonly string[];
  readonly required: number;
}

const all = (await query<{
  name: string;
  changes: boolean;
  comment: string;
  names: string[];
  types: string[];
  required: number;
}>(
  `select p.proname as name, p.provolatile = 'v' as changes, obj_description(p.oid, 'pg_proc') as comment,
       coalesce(p.proargnames[1:p.pronargs], '{}') as names, p.pronargs - p.pronargdefaults as required,
       array(select format_type(t, null) from unnest(p.proargtypes) with ordinality a(t, n) order by n) as types
     from pg_proc p
     where p.pronamespace = (select oid from pg_namespace where nspname = :SCHEMA_LITERAL)
       and (p.proname in (select door from :SCHEMA.doors())
         or p.proname in ('grant_access', 'revoke_access', 'set_transition_guard'))
     order by p.proname`,
)) satisfies Door[];

const text = (value: string): string =>
  `convert_from('\\x${Buffer.from(value, "utf8").toString("hex")}', 'UTF8')`;
const strings = [
  "",
  " ",
  "0",
  "-1",
  "a\nb\tc",
  `a"b'c;drop table x;--`,
  "$$ %I %s \\",
  "NaN",
  "null",
  "{}",
  "[1]",
  "n".repeat(63),
  "é".repeat(127),
  "😀".repeat(64),
  "n".repeat(300),
  "n".repeat(3000),
  "j0000000000000001",
  "jffffffffffffffff",
  "r0000000000000001",
  "rffffffffffffffff",
  "0000-01",
  "9999-12",
  "99999999999999999999",
  "999999999999999999.999999999999999999",
  "@every:99999999999999999999",
  "CRON_TZ=Nowhere/X * * * * *",
  "0 0 30 2 *",
];
const json = [
  "null",
  "true",
  "1",
  "1e400",
  '"x"',
  "{}",
  "[]",
  "[null]",
  "[[]]",
  "[{}]",
  '{"": null}',
  '{"a": {"b": [1]}}',
];
/** Text that jsonb can't hold and json can. */
const odd = ['{"a": "\\u0000"}', '[{"kind": "a\\u0000b"}]', '{"\\u0000": 1}', '"\\ud800"'];

const [{ endless = false } = {}] = await query<{ endless: boolean }>(
  "select current_setting('server_version_num')::integer >= 170000 as endless",
);
const extremes: Readonly<Record<string, readonly string[]>> = {
  text: strings.map(text),
  boolean: ["true", "false"],
  integer: ["0", "-1", "1", "2147483647", "(-2147483648)"],
  bigint: ["0", "-1", "1", "315576000000001", "9223372036854775807", "(-9223372036854775808)"],
  json: [...json, ...odd].map((value) => `'${value}'`),
  jsonb: json.map((value) => `'${value}'`),
  bytea: ["''", "'\\x00'", "decode(repeat('ff', 1025), 'hex')"],
  "text[]": [
    "'{}'",
    "'{null}'",
    "'{a,a}'",
    "'{\"\"}'",
    "'{{a,b},{c,d}}'",
    "'[0:1]={a,b}'",
    "array_fill('n'::text, array[300])",
    "array[repeat('n', 300)]",
  ],
  "bigint[]": [
    "'{}'",
    "'{null}'",
    "'{1,1}'",
    "'{{1,2},{3,4}}'",
    "'[0:1]={1,2}'",
    "'{9223372036854775807}'",
    "array_fill(1::bigint, array[10001])",
  ],
  interval: [
    ...(endless ? ["'infinity'", "'-infinity'"] : []),
    "'0'",
    "'-1 day'",
    "'178000000 years'",
    "'-178000000 years'",
    "'1 microsecond'",
  ],
  "timestamp with time zone": [
    "'infinity'",
    "'-infinity'",
    "'4713-01-01 00:00+00 BC'",
    "'294276-12-31 00:00+00'",
    "'epoch'",
  ],
};
const fieldValues = [
  "null",
  "true",
  "0",
  "-1",
  "1.5",
  "1e400",
  "99999999999999999999",
  "9223372036854775807",
  '""',
  '"x"',
  '"NaN"',
  '"Infinity"',
  '"\\u0000"',
  '"\\ud800"',
  JSON.stringify("é".repeat(200)),
  "[]",
  "[null]",
  '[""]',
  '["a","a"]',
  "[[1]]",
  "{}",
  '{"a": null}',
];

const literal = (value: string): string => `'${value.replaceAll("'", "''")}'`;

await query("select :SCHEMA.set_enqueue_limit('limited', 100)");
await query("select :SCHEMA.upsert_rate_class('class', 10, 1000, 10)");
await query("select :SCHEMA.upsert_concurrency_limit('ceiling', 'limited', 3)");
await query("select :SCHEMA.upsert_schedule('schedule', '@every:60000', 'task')");
await query("select :SCHEMA.create_operation('cancel', '{\"queue\": \"none\"}', id => 'operation')");
await query("select :SCHEMA.heartbeat_worker('worker', 'one', 'host', 1, '{q}', 1)");
await query('select :SCHEMA.backend_register_task(\'{"task_name": "task"}\')');
for (const state of ["pending", "scheduled", "available", "archived", "completed", "quarantined"]) {
  await jobIn(database, state, { id: state, payload: state });
}
const [quarantined] = await query("select fingerprint from :SCHEMA.quarantine_list()");
await query(
  `select :SCHEMA.backend_upsert_run('{"run_id": "run", "job_id": "x", "task_name": "t", "status": "running"}')`,
);
const [reserved] = await query("select :SCHEMA.backend_try_claim_run_lease('r', 'worker', 1000) as lease");
await enqueue(database, { id: "job", queue: "q", rate_class: "class" });
const [claim] = await query(
  "select id, lease_id, fence from :SCHEMA.admit('worker', '{q}', 1, 3600000, lease_id => 'lease')",
);
const holder = { job_id: "job", lease_id: "lease", fence: Number(claim?.["fence"]) };

/** Sound values, by the name of the argument. */
const sound: Readonly<Record<string, string>> = {
  id: "'job'",
  job_id: "'job'",
  lease_id: "'lease'",
  fence: String(holder.fence),
  job_ids: "'{job}'",
  lease_ids: "'{lease}'",
  fences: `'{${holder.fence}}'`,
  kind: "'task'",
  payload: "'{}'",
  queue: "'q'",
  queues: "'{q}'",
  pool: "'q'",
  worker: "'worker'",
  worker_id: "'worker'",
  holder: "'worker'",
  incarnation: "'one'",
  host: "'host'",
  pid: "1",
  concurrency: "1",
  capacity: "1",
  lease_ms: "60000",
  spec: "'* * * * *'",
  paused: "true",
  weight: "1",
  role: "current_user",
  duty: "'reader'",
  month: "'2020-01'",
  action: "'cancel'",
  selector: `'{"queue": "q"}'`,
  task_name: "'task'",
  status: "'success'",
  run_id: "'run'",
  ttl_secs: "10",
  outcome: "'retry'",
  message: "'message'",
  total: "10",
  current: "1",
  bytes: "'\\x01'",
  schema_version: "1",
};
const soundFor: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  write_job_output: { value: "'\\x01'" },
  backend_extend_lease: { lease_id: literal(String(reserved?.["lease"])) },
  backend_revert_job_to_queued: { job_id: "'archived'" },
  delete_job: { id: "'archived'" },
  edit_payload: { id: "'pending'" },
  promote_job: { id: "'pending'" },
  backend_finish_run: { run_id: "'run'" },
  delete_concurrency_limit: { name: "'ceiling'" },
  delete_rate_class: { name: "'class'" },
  delete_schedule: { id: "'schedule'" },
  operator_retry: { id: "'archived'" },
  quarantine_release: { fingerprint: literal(String(quarantined?.["fingerprint"])) },
  record_schedule_event: {
    id: "'schedule'",
    schedule_id: "'schedule'",
    outcome: "'enqueued'",
    reason: "'r'",
  },
  reindexable: { name: "'job_line'" },
  reschedule_job: { id: "'scheduled'", at_ms: "1" },
  run_schedule_now: { id: "'schedule'" },
  set_history_policy: { keep: "'all'" },
  set_schedule_paused: { id: "'schedule'" },
};

/** The fields of the JSON that a function reads, in an example of it. */
const objects: Readonly<Record<string, { argument: string; many: boolean; example: object }>> = {
  enqueue_many: {
    argument: "jobs",
    many: true,
    example: {
      id: "new",
      kind: "task",
      schema_version: 1,
      payload: {},
      queue: "limited",
      partition_key: "p",
      rate_class: "class",
      weight: 1,
      priority: 1,
      max_attempts: 2,
      delay_ms: 10,
      timeout_ms: 10,
      deadline_ms: 4000000000000,
      retention_ms: 10,
      unique_key: "key",
      unique_window_ms: 10,
      unique_scope: "global",
      headers: { a: "b" },
      tags: ["a"],
      pending: false,
      sticky_worker: "worker",
      periodic_schedule_id: "schedule",
      periodic_tick_ms: 1,
      fingerprint: "f",
    },
  },
  "enqueue_many/2": {
    argument: "jobs",
    many: true,
    example: {
      kind: "task",
      payload_base64: "e30=",
      unique_key_base64: "e30=",
      unique_replace: ["payload"],
      unique_debounce_ms: 10,
      rate_classes: ["class"],
      scheduled_at_ms: 4000000000000,
    },
  },
  ack_many: {
    argument: "acks",
    many: true,
    example: {
      ...holder,
      outcome: "retry",
      error: "e",
      delay_ms: 10,
      logs: ["l"],
      actual_weight: 1,
    },
  },
  "ack_many/2": {
    argument: "acks",
    many: true,
    example: { ...holder, outcome: "success", result_schema_version: 1, result_base64: "e30=" },
  },
  ack_batch: { argument: "others", many: true, example: { ...holder, outcome: "retry", error: "e" } },
  renew: { argument: "leases", many: true, example: holder },
  checkpoint: {
    argument: "checkpoint",
    many: false,
    example: { completed: ["a"], in_progress: "b", crashes: { b: 1 } },
  },
  list_jobs: {
    argument: "filter",
    many: false,
    example: {
      id: "job",
      queue: "q",
      state: "running",
      kind: "task",
      kind_prefix: "t",
      partition_key: "",
      fingerprint: "f",
      rate_class: "class",
      priority: 0,
      tags_all: ["a"],
      tags_any: ["a"],
    },
  },
  create_operation: {
    argument: "selector",
    many: false,
    example: { queue: "q", state: "available", kind: "task", priority: 0, tags_all: ["a"] },
  },
  backend_upsert_job: {
    argument: "job",
    many: false,
    example: {
      job_id: "new",
      task_name: "task",
      actor_json: "{}",
      params_json: "{}",
      priority: 1,
      pool: "q",
      status: "running",
      idempotency_key: "k",
      signature_hash: "1",
      attempt: 1,
      run_id: "run",
      delay_ms: 1,
    },
  },
  backend_enqueue_with_policies: {
    argument: "job",
    many: false,
    example: { job_id: "new", task_name: "task", signature_hash: "1", idempotency_key: "k", attempt: 1 },
  },
  "backend_enqueue_with_policies/2": {
    argument: "task_config",
    many: false,
    example: {
      task_name: "task",
      priority: 1,
      pool: "q",
      retry_policy: {},
      rate_limit_policy: {},
      idempotency_mode: "lwt",
      retention_ms: 1,
    },
  },
  backend_upsert_task_config: {
    argument: "config",
    many: false,
    example: { task_name: "task", priority: 1, pool: "q", retention_ms: 1, idempotency_mode: "none" },
  },
  "backend_upsert_task_config/retry": {
    argument: "config.retry_policy",
    many: false,
    example: { max_attempts: 1, base_delay_ms: 1, backoff_multiplier: 2, max_delay_ms: 1 },
  },
  "backend_upsert_task_config/limits": {
    argument: "config.rate_limit_policy",
    many: false,
    example: { max_in_flight: 1, max_enqueue_per_second: 1 },
  },
  backend_register_task: {
    argument: "config",
    many: false,
    example: { task_name: "other", priority: 1, pool: "q" },
  },
  backend_upsert_run: {
    argument: "run",
    many: false,
    example: {
      run_id: "run",
      job_id: "job",
      task_name: "task",
      attempt: 1,
      status: "success",
      started_at_ms: 1,
      finished_at_ms: 2,
      duration_ms: 1,
      error_message: "e",
    },
  },
};

function soundValue({ name, types }: Door, argument: string, index: number): string {
  for (const [key, { argument: at, many, example }] of Object.entries(objects)) {
    if (key === name && at === argument) return literal(JSON.stringify(many ? [example] : example));
  }
  const own = soundFor[name]?.[argument] ?? sound[argument];
  if (own) return own;
  const type = types[index] ?? "";
  return (
    {
      text: "'x'",
      integer: "1",
      bigint: "1",
      boolean: "true",
      json: "'{}'",
      jsonb: "'{}'",
      bytea: "'\\x01'",
    }[type] ?? (type.endsWith("[]") ? "'{}'" : "null")
  );
}

function call(door: Door, changed: ReadonlyMap<string, string>): string {
  const list = door.names.flatMap((name, index) => {
    if (index >= door.required && !changed.has(name)) return [];
    const value = changed.get(name) ?? soundValue(door, name, index);
    return [`${name} => cast(${value} as ${door.types[index]})`];
  });
  return `select * from :SCHEMA.${door.name}(${list.join(", ")})`;
}

/** How many random combinations of a function's arguments are tried, and from which seed. */
const rounds = Number(process.env["HEADRACE_TEST_RUNS"] ?? 30);
const seed = Number(process.env["HEADRACE_TEST_SEED"] ?? 1 + Math.floor(Math.random() * 2 ** 31));
let state = seed;
const random = (): number => {
  state = (Math.imul(state, 48271) >>> 0) % 2147483647 || 1;
  return state / 2147483647;
};
const pick = (values: readonly string[]): string => values[Math.floor(random() * values.length)] ?? "null";

function* calls(): Generator<{ door: Door; statement: string }> {
  for (const door of all) {
    const one = (changed: Record<string, string>): { door: Door; statement: string } => ({
      door,
      statement: call(door, new Map(Object.entries(changed))),
    });
    yield one({});
    yield one(Object.fromEntries(door.names.map((name) => [name, "null"])));
    for (const [index, name] of door.names.entries()) {
      const values = extremes[door.types[index] ?? ""];
      assert.ok(values, `${door.name}: no extreme values for ${door.types[index]}`);
      for (const value of ["null", ...values]) yield one({ [name]: value });
    }
    for (let round = 0; round < rounds && door.names.length > 1; round++) {
      yield one(
        Object.fromEntries(
          door.names.flatMap((name, index) => {
            const values = [
              "null",
              soundValue(door, name, index),
              ...(extremes[door.types[index] ?? ""] ?? []),
            ];
            return index < door.required || random() < 0.6 ? [[name, pick(values)]] : [];
          }),
        ),
      );
    }
    for (const [key, { argument, many, example }] of Object.entries(objects)) {
      if (key.split("/")[0] !== door.name) continue;
      const [outer = "", inner] = argument.split(".");
      const wrap = (body: string): string => {
        const whole = inner ? `{"task_name": "task", "${inner}": ${body}}` : body;
        return literal(many ? `[${whole}]` : whole);
      };
      const entries = Object.entries(example).map(
        ([field, value]) => [field, JSON.stringify(value)] as const,
      );
      const body = (list: readonly (readonly [string, string])[]): string =>
        `{${list.map(([field, value]) => `${JSON.stringify(field)}: ${value}`).join(", ")}}`;
      yield one({ [outer]: wrap(body(entries)) });
      yield one({ [outer]: wrap(body([...entries, ["surprise", "1"]])) });
      for (const [field] of entries) {
        yield one({ [outer]: wrap(body(entries.filter(([other]) => other !== field))) });
        const jsonb = door.types[door.names.indexOf(outer)] === "jsonb";
        for (const value of fieldValues.filter((candidate) => !jsonb || !candidate.includes("\\u"))) {
          yield one({
            [outer]: wrap(body(entries.map(([other, old]) => [other, other === field ? value : old]))),
          });
        }
      }
    }
  }
}

/** What the contract says stands in DETAIL. */
const fields: Readonly<Record<string, readonly string[]>> = {
  HR001: ["existing_id", "replaced"],
  HR002: ["job_id"],
  HR003: ["fingerprint"],
  HR004: ["queue", "limit", "current", "incoming"],
  HR005: ["job_id"],
  HR006: ["what", "id"],
  HR007: ["field", "reason", "bound"],
  HR008: ["task"],
  HR009: ["job_id", "from", "event"],
};

await query(`
  create function public.try(statement text, changes boolean,
    out code text, out message text, out detail text, out broken text)
  language plpgsql as $$
  begin
    execute statement;
    if changes then
      broken := (select string_agg(v::text, '; ') from :SCHEMA.verify_invariants() v);
    end if;
    raise exception sqlstate 'ZZ000';
  exception
    when sqlstate 'ZZ000' then
      code := 'none';
    when others then
      get stacked diagnostics code = returned_sqlstate, message = message_text, detail = pg_exception_detail;
  end;
  $$`);

// Its locks are nobody's fault.
await query(`
  do $$
  declare
    v_table regclass;
  begin
    for v_table in
      select c.oid from pg_class c join pg_namespace n on n.oid = c.relnamespace
      where n.nspname = :SCHEMA_LITERAL and c.relkind = 'r'
    loop
      execute format('alter table %s set (autovacuum_enabled = off)', v_table);
    end loop;
  end;
  $$`);

doors("answers or refuses with an error of ours", async () => {
  const list = [...calls()];
  assert.ok(list.length > 5000, String(list.length));
  const complaints = new Map<string, string>();
  const answered = new Set<string>();
  const size = 200;
  for (let from = 0; from < list.length; from += size) {
    const part = list.slice(from, from + size);
    const rows = await query<{
      code: string;
      message: string | null;
      detail: string | null;
      broken: string | null;
    }>(
      `select t.* from unnest($1::text[], $2::boolean[]) with ordinality s(statement, changes, n)
       cross join lateral public.try(s.statement, s.changes) t order by s.n`,
      [part.map(({ statement }) => database.sql(statement)), part.map(({ door }) => door.changes)],
    );
    for (const [index, { code, message, detail, broken }] of rows.entries()) {
      const made = part[index];
      if (!made) throw new Error("an answer to no call");
      const { door, statement } = made;
      const complain = (what: string): void => {
        const key = `${door.name}: ${what}`;
        if (!complaints.has(key)) complaints.set(key, `${key}: ${statement.slice(0, 400)}`);
      };
      if (broken) complain(`broken ${broken}`);
      if (code === "none") {
        answered.add(door.name);
        continue;
      }
      const wanted = fields[code];
      if (!wanted) complain(`${code} ${message}`);
      else {
        const given = JSON.parse(detail ?? "{}") as Record<string, unknown>;
        const missing = wanted.filter(
          // A lease that nobody knows is of no job.
          (field) => given[field] === undefined || (given[field] === null && code !== "HR005"),
        );
        if (missing.length > 0) complain(`${code} without ${missing.join(", ")}`);
        if (!door.comment.includes(code)) complain(`the comment does not tell of ${code}`);
      }
    }
  }
  const mute = all.map(({ name }) => name).filter((name) => !answered.has(name));
  assert.equal(complaints.size, 0, `seed ${seed}\n${[...complaints.values()].join("\n")}`);
  assert.equal(mute, [], "no call at all was answered");
});

doors("answers or refuses so also when six ask the same at once", async () => {
  const clients = await Promise.all(Array.from({ length: 6 }, () => database.connect()));
  for (const client of clients) await client.query("set deadlock_timeout = '50ms'");
  const complaints: string[] = [];
  for (const door of all.filter(({ changes }) => changes)) {
    // With new names, and once more when what they make is there.
    const named = (suffix: string): Map<string, string> =>
      new Map(
        door.names.flatMap((name) =>
          /^(id|name|key|job_id|run_id)$/.test(name) && !soundFor[door.name]?.[name]
            ? [[name, `'made${suffix}'`] as const]
            : [],
        ),
      );
    for (const changed of [new Map<string, string>(), named("-1"), named("-1"), named("-2")]) {
      const statement = call(door, changed);
      const ends = await Promise.allSettled(clients.map((client) => client.query(database.sql(statement))));
      for (const end of ends) {
        if (end.status === "fulfilled") continue;
        const { code = "?", message } = end.reason as { code?: string; message: string };
        // What waits for a lock gives up in time, where the machine is slow enough, and says so.
        if (!(code in fields) && code !== "55P03")
          complaints.push(`${code} ${message}: ${statement.slice(0, 300)}`);
      }
    }
  }
  assert.equal(complaints.length, 0, complaints.join("\n"));
});

doors("has the signatures that were promised", async () => {
  // A renamed argument or another default breaks callers: this list changes together with a note in the change log.
  const promised = (await readFile(new URL("../fixtures/sql-functions.txt", import.meta.url), "utf8"))
    .trim()
    .split("\n");
  const given = all.map(({ name, names, types, required, changes }) => {
    const list = names.map((argument, index) => `${argument} ${types[index]}${index < required ? "" : "?"}`);
    return `${changes ? "writes" : "reads "} ${name}(${list.join(", ")})`;
  });
  assert.equal(given, promised);
});

doors.after(() => database.close());
doors.run();
