import { setTimeout as sleep } from "node:timers/promises";
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { Client, PgStore, StoreError, type CircuitStatus } from "../../../src/index.js";
import { CircuitBreaker } from "../../../src/client/circuit.js";
import { memoryLogger } from "../observe/support.js";
import { testDatabase } from "../support/database.js";
import { startProxy } from "../support/proxy.js";

const circuit = suite("circuit breaker");

const down = (): Promise<never> =>
  Promise.reject(new StoreError("unavailable", "the database can't be reached"));
const refuse = (): Promise<never> =>
  Promise.reject(new StoreError("duplicate", "a job with this unique key exists"));

async function thrownBy(call: () => Promise<unknown>): Promise<StoreError> {
  try {
    await call();
  } catch (error) {
    return error as StoreError;
  }
  return assert.unreachable("nothing was thrown") as never;
}

function breaker(threshold = 3): { clock: { ms: number }; told: string[]; breaker: CircuitBreaker } {
  const clock = { ms: 1000 };
  const told: string[] = [];
  return {
    clock,
    told,
    breaker: new CircuitBreaker(
      { threshold, coolDown: "1s" },
      ({ state }) => void told.push(state),
      () => clock.ms,
    ),
  };
}

circuit("opens after so many outages in a row, and refuses at once without a call", async () => {
  const { breaker: it, told } = breaker();
  for (let n = 1; n <= 3; n++) {
    assert.equal(it.status, { state: "closed", failures: n - 1, retryInMs: 0 });
    assert.match((await thrownBy(() => it.run(down))).message, "can't be reached");
  }
  assert.equal([it.status, told], [{ state: "open", failures: 3, retryInMs: 1000 }, ["open"]]);
  let called = false;
  const refused = await thrownBy(() => it.run(() => Promise.resolve((called = true))));
  assert.instance(refused, StoreError);
  assert.equal([refused.code, refused.retryable, called], ["unavailable", true, false]);
  assert.match(refused.message, "the circuit is open");
  assert.equal(refused.fields, { circuit: "open", retry_after_ms: 1000 });
});

circuit("any answer, a refusal too, ends the count", async () => {
  const { breaker: it, told } = breaker();
  for (const answer of [refuse, () => Promise.reject(new TypeError("mine")), () => Promise.resolve(1)]) {
    await it.run(down).catch(() => undefined);
    await it.run(down).catch(() => undefined);
    await it.run(answer).catch(() => undefined);
    assert.is(it.status.failures, 0);
  }
  for (let n = 0; n < 10; n++) await it.run(refuse).catch(() => undefined);
  assert.equal([it.status.state, told], ["closed", []]);
});

circuit("lets one call try after the cool-down, and what that finds decides", async () => {
  for (const [probe, state, after] of [
    [() => Promise.resolve("there"), "closed", ["open", "half-open", "closed"]],
    [refuse, "closed", ["open", "half-open", "closed"]],
    [down, "open", ["open", "half-open", "open"]],
  ] as const) {
    const { breaker: it, told, clock } = breaker(1);
    await thrownBy(() => it.run(down));
    clock.ms += 999;
    assert.match((await thrownBy(() => it.run(probe))).message, "may try in 1 ms");
    clock.ms += 1;
    let release = (): void => undefined;
    const held = new Promise<void>((resolve) => (release = resolve));
    const trying = it.run(() => held.then(probe)).catch((error: unknown) => error);
    assert.is(it.status.state, "half-open");
    const beside = await thrownBy(() => it.run(() => Promise.resolve("too early")));
    assert.match(beside.message, "one call is trying");
    assert.equal(beside.fields["circuit"], "half-open");
    release();
    await trying;
    assert.equal([it.status.state, told], [state, after]);
    assert.is(it.status.retryInMs, state === "open" ? 1000 : 0);
    if (state === "closed") assert.is(await it.run(() => Promise.resolve("through")), "through");
  }
});

circuit("calls from before a change decide nothing after it", async () => {
  const { breaker: it, told, clock } = breaker(1);
  const ends: ((failed: boolean) => void)[] = [];
  const slow = (): Promise<unknown> =>
    it
      .run(
        () =>
          new Promise((resolve, reject) =>
            ends.push((failed) => (failed ? reject(new StoreError("unavailable", "late")) : resolve(1))),
          ),
      )
      .catch(() => undefined);
  const [first, second] = [slow(), slow()];
  await thrownBy(() => it.run(down));
  ends[0]!(false);
  await first;
  assert.is(it.status.state, "open");
  clock.ms += 1000;
  await it.run(() => Promise.resolve(1));
  ends[1]!(true);
  await second;
  assert.equal(
    [it.status, told],
    [{ state: "closed", failures: 0, retryInMs: 0 }, ["open", "half-open", "closed"]],
  );
});

circuit("options that make no sense are refused", () => {
  for (const options of [{ threshold: 0 }, { threshold: 1.5 }, { coolDown: "soon" }] as const)
    assert.throws(() => new CircuitBreaker(options, () => undefined), RangeError);
});

circuit("a client opens it in an outage, tells, and closes it when the database is back", async () => {
  const database = await testDatabase();
  const proxy = await startProxy(database.url);
  const store = await PgStore.connect(proxy.url, { schema: database.schema, callTimeoutMs: 5000 });
  const own = new PgStore(database.pool, { schema: database.schema });
  const { lines, logger } = memoryLogger();
  const client = new Client(store, { circuitBreaker: { threshold: 2, coolDown: "1m" }, logger });
  const told: CircuitStatus[] = [];
  client.on("circuit:changed", (status) => void told.push(status));
  assert.is(client.circuit?.state, "closed");
  assert.is(new Client(store).circuit, undefined);
  await client.enqueue("before");
  await proxy.refuse(true);
  for (let n = 0; n < 2; n++) assert.is((await thrownBy(() => client.enqueue("lost"))).code, "unavailable");
  assert.is(client.circuit?.state, "open");
  assert.match((await thrownBy(() => client.enqueue("refused"))).message, "the circuit is open");
  // A caller's own connection is another matter.
  const connection = await database.connect();
  await connection.query("begin");
  await client.enqueue("beside", {}, { id: "beside", tx: connection });
  await connection.query("commit");
  assert.is((await own.getJob("beside"))?.kind, "beside");
  assert.is(client.circuit?.state, "open");
  assert.equal(
    told.map(({ state, failures }) => [state, failures]),
    [["open", 2]],
  );
  assert.equal(
    lines.map(({ level, fields }) => [level, fields["circuit"], fields["failures"]]),
    [["warn", "open", 2]],
  );
  await proxy.refuse(false);
  assert.match((await thrownBy(() => client.enqueue("refused"))).message, "the circuit is open");
  const quick = new Client(store, { circuitBreaker: { threshold: 1, coolDown: 1 }, logger });
  await proxy.refuse(true);
  await thrownBy(() => quick.enqueue("lost"));
  assert.is(quick.circuit?.state, "open");
  await proxy.refuse(false);
  await sleep(20);
  await quick.enqueue("after", {}, { id: "after" });
  assert.is(quick.circuit?.state, "closed");
  assert.is((await own.getJob("after"))?.kind, "after");
  await store.close();
  await proxy.close();
  await database.close();
});

circuit("a wait for a result outlasts an outage", async () => {
  const database = await testDatabase();
  const proxy = await startProxy(database.url);
  const store = await PgStore.connect(proxy.url, { schema: database.schema, callTimeoutMs: 5000 });
  const own = new PgStore(database.pool, { schema: database.schema });
  const waiting = new Client(store).enqueueAndWait("slow", {}, { id: "slow", timeout: "1m" });
  while (!(await own.getJob("slow"))) await sleep(5);
  await proxy.refuse(true);
  await sleep(50);
  const [claim] = await own.admit({ worker: "w", queues: ["default"] });
  await own.ackSuccessWithResult(claim!, { bytes: Buffer.from("7") });
  await proxy.refuse(false);
  assert.equal(await waiting, { id: "slow", state: "completed", result: 7 });
  const soon = new Client(store).enqueueAndWait("slow", {}, { id: "soon", timeout: "3s" });
  while (!(await own.getJob("soon"))) await sleep(5);
  await proxy.refuse(true);
  assert.is((await thrownBy(() => soon)).code, "unavailable");
  await store.close();
  await proxy.close();
  await database.close();
});

circuit("without one, every call finds out for itself", async () => {
  const database = await testDatabase();
  const proxy = await startProxy(database.url);
  const store = await PgStore.connect(proxy.url, { schema: database.schema, callTimeoutMs: 5000 });
  const client = new Client(store);
  await proxy.refuse(true);
  for (let n = 0; n < 7; n++) {
    const error = await thrownBy(() => client.enqueue("lost"));
    assert.equal([error.code, error.message.includes("circuit")], ["unavailable", false]);
  }
  await store.close();
  await proxy.close();
  await database.close();
});

circuit.run();
