import { suite } from "uvu";
import * as assert from "uvu/assert";
import { PgStore, StoreError } from "../../../src/index.js";
import { testDatabase } from "../support/database.js";

const schedules = suite("store: schedules");
const database = await testDatabase();
const store = new PgStore(database.pool, { schema: database.schema });
const minute = 60_000;

schedules.after(() => database.close());

async function setClock(instant: number): Promise<void> {
  await database.query(
    `insert into :SCHEMA.test_clock (offset_ms)
     values ($1::bigint - floor(extract(epoch from clock_timestamp()) * 1000)::bigint)
     on conflict (only_row) do update set offset_ms = excluded.offset_ms`,
    [instant],
  );
}

async function refused(call: Promise<unknown>): Promise<StoreError> {
  try {
    await call;
  } catch (error) {
    if (error instanceof StoreError) return error;
    throw error;
  }
  throw new Error("was not refused");
}

schedules("nextTick answers what SQL says", async () => {
  const after = Date.UTC(2026, 9, 31, 16);
  const first = await store.nextTick("CRON_TZ=America/New_York 30 1 * * *", after);
  assert.is(first, 1793511000000);
  assert.is(await store.nextTick("CRON_TZ=America/New_York 30 1 * * *", first), 1793601000000);
  const error = await refused(store.nextTick("0 0 30 2 *", after));
  assert.is(error.code, "invalid");
  assert.is(error.fields["field"], "spec");
  assert.is((await refused(store.nextTick("* * * * *", 1.5))).code, "invalid");
});

schedules("a schedule from end to end", async () => {
  const start = Date.UTC(2026, 11, 1, 6, 59, 30);
  await setClock(start);
  const seven = start + minute / 2;
  const next = await store.upsertSchedule({
    id: "daily",
    spec: "0 7 * * *",
    kind: "report",
    payload: { of: "\u0000 and \ud800" },
    queue: "reports",
    partitionKey: "acme",
    rateClasses: ["b", "a"],
    priority: -1,
    weight: 2,
    maxAttempts: 3,
    timeoutMs: 1000,
    retentionMs: 2000,
    headers: { trace: "1" },
    tags: ["x"],
    stickyWorker: "w1",
    schemaVersion: 4,
    onMissed: "backfill",
    backfillLimit: 5,
    graceMs: 1000,
  });
  assert.is(next, seven);
  const [listed] = await store.listSchedules();
  assert.is(listed?.payload, null);
  assert.is(listed?.headers, null);
  const [whole] = await store.listSchedules(true);
  assert.ok(whole);
  const { payload, storeNowMs, ...rest } = whole;
  assert.is(payload?.toString(), '{"of":"\\u0000 and \\ud800"}');
  assert.ok(storeNowMs >= start && storeNowMs < start + minute / 2);
  assert.equal(rest, {
    id: "daily",
    spec: "0 7 * * *",
    onMissed: "backfill",
    backfillLimit: 5,
    graceMs: 1000,
    paused: false,
    nextRunMs: seven,
    lastEnqueuedMs: null,
    missedTicks: 0,
    failures: 0,
    retryAtMs: 0,
    lastError: null,
    kind: "report",
    schemaVersion: 4,
    queue: "reports",
    partitionKey: "acme",
    rateClasses: ["a", "b"],
    priority: -1,
    weight: 2,
    maxAttempts: 3,
    timeoutMs: 1000,
    retentionMs: 2000,
    headers: { trace: "1" },
    tags: ["x"],
    stickyWorker: "w1",
  });
  assert.equal(await store.dueSchedules(), { schedules: [], nowMs: 0 });
  await setClock(seven + 10);
  const due = await store.dueSchedules(5);
  assert.is(due.schedules[0]?.id, "daily");
  assert.ok(due.nowMs >= seven + 10);
  assert.is(await store.tickSchedules(), 1);
  assert.is(await store.tickSchedules(), 0);
  const [event] = await store.listScheduleEvents("daily");
  assert.equal(
    { ...event, eventId: 0, recordedAtMs: 0 },
    {
      eventId: 0,
      scheduleId: "daily",
      tickMs: seven,
      ticks: 1,
      jobId: `sched-daily-${seven}`,
      outcome: "enqueued",
      reason: "accepted",
      detail: null,
      recordedAtMs: 0,
    },
  );
  const job = await store.getJob(`sched-daily-${seven}`);
  assert.is(job?.periodicScheduleId, "daily");
  assert.is(job?.periodicTickMs, seven);

  await store.setSchedulePaused("daily", true);
  await store.upsertSchedule({ id: "daily", spec: "0 7 * * *", kind: "report" });
  assert.is((await store.listSchedules())[0]?.paused, true);
  const id = await store.runScheduleNow("daily", "press");
  assert.is(await store.runScheduleNow("daily", "press"), id);
  assert.is((await store.getJob(id))?.kind, "report");

  const nextRun = seven + 24 * 60 * minute;
  assert.is(await store.advanceSchedule("daily", nextRun - 1, nextRun + minute), false);
  assert.is(await store.advanceSchedule("daily", nextRun, nextRun + minute), true);
  const number = await store.recordScheduleEvent({
    scheduleId: "daily",
    tickMs: nextRun,
    outcome: "skipped",
    reason: "mine",
  });
  const events = await store.listScheduleEvents("daily", null, 2);
  assert.equal(
    events.map(({ eventId, reason }) => [eventId, reason]),
    [
      [number, "mine"],
      [events[1]?.eventId, "manual"],
    ],
  );
  assert.is((await store.listScheduleEvents("daily", number)).length, 2);
  await store.deleteSchedule("daily");
  assert.is((await store.listScheduleEvents("daily")).length, 3);
  for (const call of [
    () => store.deleteSchedule("daily"),
    () => store.setSchedulePaused("daily", true),
    () => store.runScheduleNow("daily"),
  ]) {
    const error = await refused(call());
    assert.is(error.code, "not_found");
    assert.equal(error.fields, { what: "schedule", id: "daily" });
  }
});

schedules("what can't be is refused before or by SQL", async () => {
  for (const [field, change] of Object.entries({
    spec: { spec: "61 * * * *" },
    kind: { kind: "no kind" },
    payload: { payload: () => undefined },
    id: { id: "a\0b" },
    priority: { priority: 1.5 },
    on_missed: { onMissed: "never" as "skip" },
    backfill_limit: { onMissed: "backfill" as const, backfillLimit: 0 },
    headers: { headers: [] as unknown as Record<string, string> },
  })) {
    const error = await refused(store.upsertSchedule({ id: "a", spec: "* * * * *", kind: "k", ...change }));
    assert.is(error.code, "invalid", field);
    assert.is(error.fields["field"], field);
  }
  assert.is((await refused(store.listScheduleEvents("a", null, 101))).code, "invalid");
  assert.is((await refused(store.tickSchedules(0))).code, "invalid");
});

schedules.run();
