// timeout: 300 s
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { eventually } from "../support/eventually.js";
import { withWorkers, type WorkerSetting } from "../support/worker-setting.js";

const holders = suite("holders of duties");
const test = (name: string, body: (setting: WorkerSetting) => Promise<void>): void =>
  holders(name, () => withWorkers(body));
const kept = { retentionMs: 3_600_000 };
const hang = `export default async (_, job) => {
  if (job.crashAttempt === 0) await new Promise((done) => setTimeout(done, 600_000));
};`;

interface Duty extends Record<string, unknown> {
  readonly name: string;
  readonly holder: string;
  readonly expires: number;
  readonly failures: number;
}
const dutiesOf = ({ database }: WorkerSetting): Promise<Duty[]> =>
  database.query<Duty>(
    "select name, holder, expires_at_ms::float8 as expires, failures from :SCHEMA.duty order by name",
  );

test("the duties of a frozen process go to others, and it can't take them away when it thaws (R-04)", async (setting) => {
  const { store, processes, until } = setting;
  const { work } = await processes({ "hang.mjs": hang });
  const names = [...(await store.dutyNames())].sort();
  const all = async (...wanted: string[]): Promise<boolean> => {
    const found = await dutiesOf(setting);
    return found.length === names.length && found.every(({ holder }) => wanted.includes(holder));
  };
  const frozen = await work("--worker-id", "frozen", "--queue", "none");
  await eventually("it has every duty", () => all("frozen"));
  const others = [
    await work("--worker-id", "second", "--lease", "1s"),
    await work("--worker-id", "third", "--lease", "1s"),
  ];
  frozen.child.kill("SIGSTOP");
  await eventually("the others have them", () => all("second", "third"), 120_000);
  // The new holders do the work: what a dead node held is taken back, and tried again.
  const doomed = await work("--worker-id", "doomed", "--no-duties", "--lease", "1s", "--queue", "doomed");
  const [job] = await store.enqueue([{ kind: "hang", payload: {}, queue: "doomed", ...kept }]);
  await until(job!.id, "running");
  doomed.child.kill("SIGKILL");
  await work("--worker-id", "heir", "--no-duties", "--queue", "doomed");
  await until(job!.id, "completed");
  assert.is((await store.getJob(job!.id))?.crashAttempt, 1);

  for (const one of others) {
    one.child.kill("SIGTERM");
    assert.is(await one.ended(), 0);
  }
  // From here on somebody has them for longer than the test takes.
  for (const name of names) assert.ok(await store.claimDuty(name, "keeper", 3_600_000));
  const before = await dutiesOf(setting);
  frozen.child.kill("SIGTERM");
  frozen.child.kill("SIGCONT");
  assert.is(await frozen.ended(), 0, frozen.errors());
  assert.equal(await dutiesOf(setting), before);
});

test("a duty that fails every time is tried again by every holder, and the others go on (R-04)", async (setting) => {
  const { database, store, processes, until } = setting;
  const { work } = await processes({ "hang.mjs": hang, "tick.mjs": "export default () => undefined;" });
  const [original] = await database.query<{ text: string }>(
    `select pg_get_functiondef(p.oid) as text from pg_proc p
     where p.proname = 'promote_due' and p.pronamespace = (select oid from pg_namespace where nspname = :SCHEMA_LITERAL)`,
  );
  await database.query(
    `create or replace function :SCHEMA.promote_due(max_rows integer default 1000) returns bigint language plpgsql
     as $$ begin raise exception 'this duty is broken'; end; $$`,
  );
  const broken = async (): Promise<Duty> =>
    (await dutiesOf(setting)).find(({ name }) => name === "promote_due") as Duty;
  const waiting = (
    await store.enqueue([{ kind: "tick", payload: {}, queue: "later", delayMs: 1, ...kept }])
  )[0]!;
  await store.upsertSchedule({ id: "each second", spec: "@every:1000", kind: "tick", ...kept });

  const nodes = new Map([
    ["one", await work("--worker-id", "one", "--lease", "1s")],
    ["two", await work("--worker-id", "two", "--lease", "1s")],
  ]);
  await eventually("it has been tried again", async () => (await broken()).failures >= 2);
  const { holder, failures } = await broken();
  nodes.get(holder)!.child.kill("SIGKILL");
  const rest = [...nodes.keys()].find((name) => name !== holder)!;
  await eventually(
    "the other node tries it as well",
    async () => {
      const now = await broken();
      return now.holder === rest && now.failures > failures;
    },
    120_000,
  );
  await eventually("it says so", () => nodes.get(rest)!.errors().includes("this duty is broken"));

  // Every other duty is held by the living node and renewed with each round, also while that one fails.
  const before = new Map((await dutiesOf(setting)).map((duty) => [duty.name, duty.expires]));
  const ticks = (): Promise<{ n: number }[]> =>
    database.query("select count(*)::int as n from :SCHEMA.job where kind = 'tick' and queue = 'default'");
  const [ticked] = await ticks();
  await eventually("each goes on", async () =>
    (await dutiesOf(setting)).every(
      ({ name, holder: now, expires }) => now === rest && expires >= before.get(name)! + 3_000,
    ),
  );
  await eventually("schedules fire", async () => (await ticks())[0]!.n >= ticked!.n + 2);
  const [doomed] = await store.enqueue([{ kind: "hang", payload: {}, queue: "doomed", ...kept }]);
  const dying = await work("--no-duties", "--lease", "1s", "--queue", "doomed");
  await until(doomed!.id, "running");
  dying.child.kill("SIGKILL");
  await until(doomed!.id, "retryable");
  assert.is((await store.getJob(waiting.id))?.state, "scheduled");
  assert.ok((await broken()).failures > 0);

  await database.query(original!.text);
  await until(doomed!.id, "available");
  await until(waiting.id, "available");
  await eventually("it is well again", async () => (await broken()).failures === 0);
  await store.setSchedulePaused("each second", true);
});

holders.run();
