import { suite } from "uvu";
import * as assert from "uvu/assert";
import { testDatabase } from "./support/database.js";
import { refusal } from "./support/refusal.js";

const ways = suite("the short way of simple jobs");
const database = await testDatabase();
const { query } = database;
const client = await database.connect();

/** Says nothing, and keeps a job from the short way. */
const long = '"pending":false';

/** What became of a list: the rows as they are stored, or the refusal. Nothing stays. */
async function outcome(list: string, mode = "error"): Promise<unknown> {
  await client.query("begin");
  const answer = client.query<{ id: string | null }>(
    database.sql("select * from :SCHEMA.enqueue_many($1, $2) order by ord"),
    [list, mode],
  );
  try {
    const { rows } = await answer;
    const ids = rows.map(({ id }) => id);
    const { rows: jobs } = await client.query(
      database.sql(
        `select to_jsonb(j) - 'key' - 'enqueued_at_ms' - 'scheduled_at_ms' || jsonb_build_object(
           'place', array_position($1, :SCHEMA.job_id(key, id)), 'wait', scheduled_at_ms - enqueued_at_ms) as job
         from :SCHEMA.job j where array_position($1, :SCHEMA.job_id(key, id)) is not null order by key`,
      ),
      [ids],
    );
    const { rows: lanes } = await client.query(
      database.sql(
        "select queue, partition_key, sticky_worker, class_key, priority from :SCHEMA.lane order by 1, 2, 3, 4, 5",
      ),
    );
    const { rows: tallies } = await client.query(
      database.sql(
        "select queue, sum(arrived) arrived, sum(depth) depth from :SCHEMA.tally group by 1 order by 1",
      ),
    );
    return { answers: rows.map((row) => ({ ...row, id: row.id !== null })), jobs, lanes, tallies };
  } catch {
    const { code, message, fields } = await refusal(answer);
    return { code, message, fields };
  } finally {
    await client.query("rollback");
  }
}

/** Jobs are texts of JSON; where one has an @, the long way's mark is put. */
async function same(jobs: readonly string[], mode = "error"): Promise<unknown> {
  const short = await outcome(`[${jobs.join(",").replaceAll("@", "")}]`, mode);
  const slow = await outcome(`[${jobs.join(",").replaceAll("@", `,${long}`)}]`, mode);
  assert.equal(short, slow, jobs.join());
  return short;
}

async function takesShortWay(list: string): Promise<boolean> {
  await client.query("begin");
  try {
    const { rows } = await client.query<{ taken: boolean }>(
      database.sql(
        `select case when json_array_length($1) = 1 then :SCHEMA.place_simple_job($1) is not null
           else :SCHEMA.place_simple_jobs($1) is not null end as taken`,
      ),
      [list],
    );
    return rows[0]!.taken;
  } finally {
    await client.query("rollback");
  }
}

const simple = [
  `{"kind":"a"@}`,
  `{"kind":"a/b[c]","payload":{"x":1}@}`,
  `{ "kind" : "a", "payload" : {"x" :  1e400, "x":2} @}`,
  `{"payload":"text","kind":"b"@}`,
  `{"kind":"\\u0061","queue":"\\u00e9"@}`,
  `{"kind":"a","payload_base64":"AP8="@}`,
  `{"kind":"a","queue":"","partition_key":"7","rate_class":"","priority":0,"timeout_ms":0,"retention_ms":0@}`,
  `{"kind":"a","queue":"q","partition_key":"é","rate_class":"smtp","priority":-5,"max_attempts":3@}`,
  `{"kind":"a","schema_version":7,"delay_ms":60000,"timeout_ms":5,"retention_ms":7,"headers":{"a":"b"}@}`,
  `{"kind":"a","priority":"5","headers":{}@}`,
  `{"kind":"a","queue":null,"partition_key":null,"priority":null,"headers":null,"delay_ms":null@}`,
  `{"kind":"a","kind":"b"@}`,
];

ways("stores what the long way stores, alone and in a list", async () => {
  for (const job of simple) {
    assert.ok(await takesShortWay(`[${job.replace("@", "")}]`), job);
    assert.ok(await takesShortWay(`[${job.replace("@", "")},{"kind":"a"}]`), job);
    assert.ok(((await same([job])) as { jobs: unknown[] }).jobs.length === 1);
    await same([`{"kind":"first"@}`, job, `{"kind":"a"@}`]);
  }
  await same(simple);
  await same([...simple].reverse(), "report");
});

ways("is left to jobs that are not simple or at fault, which fare as they always did", async () => {
  for (const job of [
    `{"kind":"a","payload":null@}`,
    `{"kind":"a","id":"chosen"@}`,
    `{"kind":"a","unique_key":"k"@}`,
    `{"kind":"a","tags":["t"]@}`,
    `{"kind":"a","x":1@}`,
    `{"kind":"a b"@}`,
    `{"kind":""@}`,
    `{"kind":null@}`,
    `{"payload":1@}`,
    `{"kind":"${"a".repeat(129)}"@}`,
    `{"kind":"a","queue":"${"q".repeat(256)}"@}`,
    `{"kind":"a","partition_key":"${"q".repeat(256)}"@}`,
    `{"kind":"a","rate_class":"${"q".repeat(256)}"@}`,
    `{"kind":"a","priority":1.5@}`,
    `{"kind":"a","priority":1e1@}`,
    `{"kind":"a","priority":2147483648@}`,
    `{"kind":"a","max_attempts":0@}`,
    `{"kind":"a","schema_version":0@}`,
    `{"kind":"a","delay_ms":-1@}`,
    `{"kind":"a","timeout_ms":-1@}`,
    `{"kind":"a","retention_ms":315576000000001@}`,
    `{"kind":"a","payload":1,"payload_base64":"AA=="@}`,
    `{"kind":"a","payload_base64":"A"@}`,
    `{"kind":"a","payload":"\\u0000"@}`,
    `{"kind":"a","headers":[]@}`,
    `{"kind":"a","headers":5@}`,
    `{"kind":"a","headers":{"headrace-tick-ms":"1"}@}`,
    `{"kind":"a","headers":{"a":"b","\\u0068eadrace-x":"1"}@}`,
    `{"kind":"a","headers":{"a":"${"b".repeat(70_000)}"}@}`,
    `{"kind":"a","headers":${JSON.stringify(Object.fromEntries(Array.from({ length: 129 }, (_, n) => [n, ""])))}@}`,
    `{"kind":"a","payload":"${"x".repeat(1024 * 1024)}"@}`,
  ]) {
    const clean = job.replace("@", "");
    if (job.includes('payload":null')) assert.ok(await takesShortWay(`[${clean}]`));
    else assert.not(await takesShortWay(`[${clean}]`), job.slice(0, 60));
    assert.not(await takesShortWay(`[{"kind":"a"},${clean}]`), job.slice(0, 60));
    await same([job]);
    await same([`{"kind":"a"@}`, job]);
  }
  for (const list of ["[5]", "[[]]", "[null]", '["kind"]', '[{"kind":"a"},5]', "[5,6]", "[]"]) {
    assert.is(((await outcome(list)) as { code: string }).code, "HR007", list);
  }
});

ways("no unknown field hides behind values that are shorter than they look", async () => {
  // Numbers and true are two quotes short of a text.
  for (const job of [
    `{"kind":5,"queue":1,"partition_key":2,"x":1@}`,
    `{"kind":true,"queue":{"a":1},"rate_class":[],"x":1@}`,
    `{"kind":"a","payload_base64":1234,"queue":1,"partition_key":2,"x":1@}`,
    `{"kind":"a","priority":"5","x":1@}`,
    `{"kind":"aaaaaaaa","kind":"b","x":1@}`,
    `{"kind":"b","kind":"aaaaaaaa","x":1@}`,
  ])
    for (const jobs of [[job], [job, `{"kind":"a"@}`]])
      assert.is(((await same(jobs)) as { fields: { field: string } }).fields.field, "x", job);
});

ways("leaves limits, quarantine and tasks with policies their say", async () => {
  await query("select :SCHEMA.set_enqueue_limit('bounded', 1)");
  assert.not(await takesShortWay(`[{"kind":"a","queue":"bounded"}]`));
  assert.not(await takesShortWay(`[{"kind":"a"},{"kind":"a","queue":"bounded"}]`));
  assert.ok(await takesShortWay(`[{"kind":"a"}]`));
  assert.ok(await takesShortWay(`[{"kind":"a"},{"kind":"a"}]`));
  const bounded = `{"kind":"a","queue":"bounded"@}`;
  assert.is(((await same([bounded, bounded])) as { code: string }).code, "HR004");

  await query(
    `insert into :SCHEMA.quarantine (fingerprint, kind, crash_count, quarantined_at_ms, reason)
     values (:SCHEMA.fingerprint('bad', '{"x":1}'), 'bad', 3, 1, 'test')`,
  );
  const bad = `{"kind":"bad","payload":{"x":1}@}`;
  assert.is(((await same([bad])) as { code: string }).code, "HR003");
  assert.is(((await same([`{"kind":"a"@}`, bad])) as { code: string }).code, "HR003");
  await same([`{"kind":"a"@}`, bad], "report");
  assert.ok(await takesShortWay(`[{"kind":"bad"}]`));
  assert.ok(await takesShortWay(`[{"kind":"bad"},{"kind":"bad"}]`));

  await query(`select :SCHEMA.backend_upsert_task_config('counted', '{"max_in_flight": 5}')`).catch(() =>
    query("insert into :SCHEMA.task_limit (task_name) values ('counted')"),
  );
  for (const jobs of [[`{"kind":"counted"@}`], [`{"kind":"counted"@}`, `{"kind":"a"@}`]]) {
    const { jobs: stored } = (await same(jobs)) as { jobs: { job: { counted: boolean | null } }[] };
    assert.equal(
      stored.map(({ job }) => job.counted),
      jobs.length === 1 ? [true] : [true, null],
    );
  }
});

ways("a list of ids and keys fares together as one by one", async () => {
  await query(`select from :SCHEMA.enqueue_many('[
    {"kind":"held","id":"there","payload":1}, {"kind":"held","unique_key":"taken"}]')`);
  await query(
    `insert into :SCHEMA.quarantine (fingerprint, kind, crash_count, quarantined_at_ms, reason)
     values (:SCHEMA.fingerprint('worse', '{}'), 'worse', 3, 1, 'test')`,
  );
  const jobs = [
    `{"kind":"held","id":"there","payload":1}`,
    `{"kind":"held","id":"there-2","payload":1}`,
    `{"kind":"other","id":"there","payload":1}`,
    `{"kind":"held","unique_key":"taken"}`,
    `{"kind":"held","unique_key":"free"}`,
    `{"kind":"held","unique_key":"free","id":"free-2"}`,
    `{"kind":"held","unique_key":"free","unique_scope":"global"}`,
    `{"kind":"worse"}`,
    `{"kind":"worse","id":"worse-2"}`,
    `{"kind":"held","delay_ms":5}`,
  ];
  const throttled = `{"kind":"held","unique_key":"window","unique_window_ms":1000}`;
  const seen = new Set<string>();
  for (let n = 0; n < 60; n++) {
    const chosen = [...jobs].sort(() => Math.random() - 0.5).slice(0, 2 + (n % 5));
    if (chosen.filter((job) => job.includes('"there"')).length > 1) continue;
    const answers = async (list: readonly string[]): Promise<{ disposition: string }[]> =>
      ((await outcome(`[${list.join()}]`, "report")) as { answers: { disposition: string }[] }).answers;
    const together = await answers(chosen);
    // One window sends the whole list the other way.
    assert.equal(together, (await answers([...chosen, throttled])).slice(0, -1), chosen.join());
    for (const { disposition } of together) seen.add(disposition);
  }
  assert.equal([...seen].sort(), [
    "duplicate",
    "id_conflict",
    "inserted",
    "quarantined",
    "replayed",
    "withheld",
  ]);
});

ways("whatever the fields and however they are written", async () => {
  const pick = <T>(...from: readonly T[]): T => from[Math.floor(Math.random() * from.length)]!;
  const fields: Record<string, () => unknown> = {
    kind: () => pick<unknown>("a", "b", "é", 5, true, "x".repeat(128), undefined),
    payload: () => pick<unknown>(null, 1, "text", { a: [1, { b: null }] }, '"\\', undefined),
    queue: () => pick<unknown>("", "q", "ü", 7, undefined),
    partition_key: () => pick<unknown>("", "p", "42", 42, null),
    rate_class: () => pick<unknown>("", "smtp", 1),
    priority: () => pick<unknown>(0, -3, "4", 1.5, null),
    max_attempts: () => pick<unknown>(1, 25, 0, null),
    schema_version: () => pick<unknown>(1, 2, -1),
    delay_ms: () => pick<unknown>(0, 1000, -1, null),
    timeout_ms: () => pick<unknown>(0, 5, "x"),
    retention_ms: () => pick<unknown>(0, 60_000),
    headers: () => pick<unknown>({}, { a: "b" }, [], null),
    x: () => pick<unknown>(1, undefined, undefined),
  };
  for (let n = 0; n < 150; n++) {
    const jobs = Array.from({ length: 1 + (n % 4) }, () => {
      const chosen = Object.keys(fields).filter((name) => name === "kind" || Math.random() < 0.15);
      const entries = chosen.sort(() => Math.random() - 0.5).map((name) => [name, fields[name]!()]);
      const text = JSON.stringify(Object.fromEntries(entries), null, pick(0, 0, 1));
      return text === "{}" ? `{"kind":"a"@}` : text.replace(/\s*\}$/, "@}");
    });
    await same(jobs, pick("error", "report"));
  }
});

ways.after(() => database.close());
ways.run();
