// timeout: 240 s
import pg from "pg";
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { migrate, PgStore, supportedSchema } from "../../../src/index.js";
import { testDatabase } from "../support/database.js";
import { storeError } from "../support/store-error.js";
import { workerProcesses } from "../support/worker-processes.js";

const versions = suite("versions of driver and schema");
const database = await testDatabase();
const { schema, query } = database;
const window = supportedSchema as { oldest: number; newest: number };
const shipped = { ...supportedSchema };
const installed = (await query<{ v: number }>("select :SCHEMA.schema_version() as v"))[0]!.v;

versions.after.each(async () => {
  Object.assign(window, shipped);
  await query("delete from :SCHEMA.schema_migration where version > $1", [installed]);
});
versions.after(() => database.close());

/** As if a later package had migrated the schema. */
const upgradeTo = (version: number): Promise<unknown> =>
  query("insert into :SCHEMA.schema_migration (version, name) values ($1, 'later')", [version]);

/** Changes with every object that is made, replaced or dropped. */
async function catalogue(): Promise<unknown> {
  const parts = ["pg_namespace", "pg_class", "pg_proc", "pg_type", "pg_constraint", "pg_attribute"].map(
    (name) => `select '${name}' as name, count(*) as n, max(c.xmin::text::bigint) as newest from ${name} c`,
  );
  return query(`${parts.join(" union all ")} order by 1`);
}

async function works(): Promise<void> {
  const store = await PgStore.connect(database.url, { schema });
  const [job] = await store.enqueue([{ kind: "task", payload: {} }]);
  const [claim] = await store.admit({ worker: "w", queues: ["default"], capacity: 1 });
  assert.is(claim?.id, job!.id);
  await store.ack(claim!, "success");
  await store.close();
}

versions(
  "a driver works with its own schema and with those to come, up to the end of its window (R-88)",
  async () => {
    await works();
    for (const version of [installed + 1, installed + 3, shipped.newest]) {
      await upgradeTo(version);
      await works();
    }
    // The older package does not migrate back.
    const { ahead, applied } = await migrate({ pool: database.pool, schema });
    assert.equal([ahead, applied], [true, []]);
  },
);

for (const [name, prepare, numbers] of [
  [
    "a schema that is too new",
    () => upgradeTo(shipped.newest + 1),
    [shipped.newest + 1, shipped.oldest, shipped.newest],
  ],
  [
    "a driver that is too new",
    () => Promise.resolve(void Object.assign(window, { oldest: installed + 1, newest: installed + 99 })),
    [installed, installed + 1, installed + 99],
  ],
] as const) {
  versions(
    `${name} is refused at the start, with the numbers of both, and nothing is changed (R-88)`,
    async () => {
      await prepare();
      const before = await catalogue();
      const [version, oldest, newest] = numbers;
      const error = await storeError(PgStore.connect(database.url, { schema, listen: true }));
      assert.is(error.code, "invalid");
      assert.match(error.message, `version ${version}, this driver needs ${oldest}..${newest}`);
      const late = new PgStore(database.pool, { schema });
      assert.is((await storeError(late.checkSchema())).message, error.message);
      assert.equal(await catalogue(), before);
    },
  );
}

versions("a worker process ends at once where the schema is too new, and claims nothing (R-88)", async () => {
  const [job] = await query<{ id: string }>("select :SCHEMA.enqueue('quick') as id");
  await upgradeTo(shipped.newest + 1);
  const before = await catalogue();
  const { work, close } = await workerProcesses({
    url: database.url,
    schema,
    tasks: { "quick.mjs": "export default () => undefined;" },
  });
  try {
    const one = await work();
    assert.is(await one.ended(), 1);
    const { newest, oldest } = shipped;
    assert.match(one.errors(), `has version ${newest + 1}, this driver needs ${oldest}..${newest}`);
  } finally {
    await close();
  }
  const [left] = await query("select state, fence from :SCHEMA.get_job($1)", [job!.id]);
  assert.equal([left?.["state"], left?.["fence"]], ["available", "0"]);
  assert.equal(await catalogue(), before);
});

versions("a role that may only read connects and inspects, and writes nothing (R-88)", async () => {
  const [job] = await query<{ id: string }>("select :SCHEMA.enqueue('task', queue => 'seen') as id");
  const role = `${database.name}_eyes`;
  const identifier = pg.escapeIdentifier(role);
  await query(`create role ${identifier} login password 'eyes'`);
  await query("select :SCHEMA.grant_access($1, 'reader')", [role]);
  await query(`alter role ${identifier} set default_transaction_read_only = on`);
  const url = new URL(database.url);
  Object.assign(url, { username: encodeURIComponent(role), password: "eyes" });
  const before = await catalogue();
  const store = await PgStore.connect(url.href, { schema });
  try {
    assert.is((await store.getJob(job!.id))?.queue, "seen");
    assert.is((await store.listJobs({ queue: "seen" })).jobs.length, 1);
    assert.ok((await store.counts()).byState.available > 0);
    assert.ok((await store.queueStats()).some(({ queue }) => queue === "seen"));
    assert.ok((await store.metrics()).length > 0);
    assert.ok((await store.indexHealth()).length > 0);
    assert.equal(await store.listWorkers(60_000), []);
    assert.ok(await store.explainAdmission(job!.id));
    assert.equal(await store.verifyInvariants(), []);
    assert.is((await storeError(store.enqueue([{ kind: "task", payload: {} }]))).sqlstate, "42501");
    assert.is((await storeError(store.setQueuePaused("seen", true))).sqlstate, "42501");
    assert.equal(await catalogue(), before);
  } finally {
    await store.close();
    await query("select :SCHEMA.revoke_access($1, 'reader')", [role]);
    await query(`drop role ${identifier}`);
  }
});

versions.run();
