import pg from "pg";
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { PgStore, StoreError } from "../../../src/index.js";
import { leavesConnectionUsable, toCheckoutError, toStoreError } from "../../../src/store/errors.js";
import { testDatabase } from "../support/database.js";
import { storeError } from "../support/store-error.js";

const errors = suite("store errors");
const database = await testDatabase();
const store = new PgStore(database.pool, { schema: database.schema });

errors.after(() => database.close());

function databaseError(code: string, detail?: string): pg.DatabaseError {
  const error = new pg.DatabaseError("what the server said", 1, "error");
  return Object.assign(error, { code, severity: "ERROR", detail });
}

const expected: Record<string, string> = {
  HR001: "duplicate",
  HR002: "id_conflict",
  HR003: "quarantined",
  HR004: "backpressure",
  HR005: "lease_rejected",
  HR006: "not_found",
  HR007: "invalid",
  HR008: "rate_limited",
  HR009: "illegal_transition",
  "08000": "unavailable",
  "08006": "unavailable",
  "57P01": "unavailable",
  "57P02": "unavailable",
  "57P03": "unavailable",
  "53300": "unavailable",
  "25006": "unavailable",
  "22021": "invalid",
  "22P05": "invalid",
  "40001": "backend",
  "40P01": "backend",
  "23505": "backend",
  "42501": "backend",
  HR999: "backend",
};

errors("each SQLSTATE has its code, and what the server said is kept", () => {
  for (const [sqlstate, code] of Object.entries(expected)) {
    const cause = databaseError(sqlstate, '{"job_id":"j1"}');
    const error = toStoreError(cause);
    assert.is(error.code, code, sqlstate);
    assert.is(error.sqlstate, sqlstate);
    assert.is(error.cause, cause);
    assert.is(error.name, "StoreError");
    if (sqlstate.startsWith("HR00")) assert.equal(error.fields, { job_id: "j1" });
  }
});

errors("retryable: what may go away by itself", () => {
  const retryable = (sqlstate: string): boolean => toStoreError(databaseError(sqlstate)).retryable;
  for (const state of ["08006", "57P01", "25006", "40001", "40P01", "55P03", "53200", "HR004", "HR008"]) {
    assert.ok(retryable(state), state);
  }
  for (const state of ["HR001", "HR005", "HR007", "23505", "42501", "22021"])
    assert.not(retryable(state), state);
});

errors("what sockets and node-postgres say is unavailable", () => {
  for (const code of ["ECONNREFUSED", "ECONNRESET", "EPIPE", "ETIMEDOUT", "EHOSTUNREACH", "EAI_AGAIN"]) {
    assert.is(toStoreError(Object.assign(new Error("x"), { code })).code, "unavailable", code);
  }
  const lookup = Object.assign(new Error("getaddrinfo ENOTFOUND x"), {
    code: "ENOTFOUND",
    syscall: "getaddrinfo",
  });
  assert.is(toStoreError(lookup).code, "unavailable");
  for (const message of [
    "Connection terminated unexpectedly",
    "Connection terminated",
    "timeout exceeded when trying to connect",
    "Query read timeout",
    "Client has encountered a connection error and is not queryable",
    "Client was closed and is not queryable",
    "Cannot use a pool after calling end on the pool",
  ]) {
    assert.is(toStoreError(new Error(message)).code, "unavailable", message);
  }
  assert.is(toStoreError(new TypeError("x is not a function")).code, "backend");
  assert.is(toStoreError("thrown text").message, "thrown text");
  assert.is(toStoreError(null).code, "backend");
});

errors("a broken detail does not break the error", () => {
  assert.equal(toStoreError(databaseError("HR005", "not json")).fields, {});
  assert.equal(toStoreError(databaseError("HR005")).fields, {});
});

errors("no checkout, no call: unavailable, and retryable unless the login is wrong", () => {
  assert.is(toCheckoutError(databaseError("42501")).code, "unavailable");
  assert.ok(toCheckoutError(databaseError("42501")).retryable);
  assert.not(toCheckoutError(databaseError("28P01")).retryable);
  assert.not(toCheckoutError(databaseError("3D000")).retryable);
});

errors("a connection is kept after an error that leaves it whole", () => {
  for (const state of ["HR005", "23505", "40001", "22021"]) {
    assert.ok(leavesConnectionUsable(databaseError(state)), state);
  }
  for (const state of ["57P01", "25006", "08006", "XX000", "0A000"]) {
    assert.not(leavesConnectionUsable(databaseError(state)), state);
  }
  assert.not(leavesConnectionUsable(new Error("Connection terminated")));
  assert.not(leavesConnectionUsable(new StoreError("unavailable", "no answer within 5 ms")));
});

errors("no server, a wrong password, a missing database, a bad address", async () => {
  const url = new URL(database.url);
  url.port = "1";
  const refused = await storeError(PgStore.connect(url.href));
  assert.is(refused.code, "unavailable");
  assert.ok(refused.retryable);

  const stranger = new URL(database.url);
  stranger.password = "wrong";
  const denied = await storeError(PgStore.connect(stranger.href));
  assert.is(denied.code, "unavailable");
  assert.is(denied.sqlstate, "28P01");

  const missing = new URL(database.url);
  missing.pathname = "/no_such_database";
  assert.is((await storeError(PgStore.connect(missing.href))).sqlstate, "3D000");

  assert.is((await storeError(PgStore.connect("postgresql://[bad"))).code, "invalid");
});

errors("a pool that has ended is unavailable", async () => {
  const pool = new pg.Pool({ connectionString: database.url });
  const own = new PgStore(pool, { schema: database.schema });
  await pool.end();
  assert.is((await storeError(own.counts())).code, "unavailable");
});

errors("a schema without Headrace says what to do", async () => {
  const error = await storeError(PgStore.connect(database.url, { schema: "nowhere" }));
  assert.is(error.code, "not_found");
  assert.match(error.message, /nowhere.*version 0.*needs 1\.\.99.*headrace migrate/);
  assert.match(
    (await storeError(new PgStore(database.pool, { schema: "nowhere" }).counts())).message,
    /migrate/,
  );
});

errors("versions that don't fit are both named", async () => {
  await database.pool.query("create schema newer; create schema older");
  for (const [schema, version] of [
    ["newer", 1000],
    ["older", 0],
  ]) {
    await database.pool.query(
      `create function ${schema}.schema_version() returns integer language sql as 'select ${version}'`,
    );
    const error = await storeError(PgStore.connect(database.url, { schema: String(schema) }));
    assert.is(error.code, "invalid");
    assert.match(error.message, new RegExp(`version ${version}, this driver needs 1\\.\\.99`));
  }
  assert.is(await store.checkSchema(), await store.schemaVersion());
});

errors("schema names that can't be are refused at once", () => {
  for (const schema of ["", "x".repeat(64), "é".repeat(32), "a\0b", "a\nb", "pg_mine", "\ud83d"]) {
    try {
      new PgStore(database.pool, { schema });
      assert.unreachable(`${JSON.stringify(schema)} was accepted`);
    } catch (error) {
      assert.instance(error, StoreError, schema);
      assert.is((error as StoreError).code, "invalid");
      assert.is((error as StoreError).fields["field"], "schema");
    }
  }
  assert.is(new PgStore(database.pool, { schema: "é".repeat(31) }).schema, "é".repeat(31));
  assert.is(new PgStore(database.pool).schema, "headrace");
});

errors(
  "serialization failures and deadlocks are tried again, but not in a caller's transaction",
  async () => {
    await database.pool.query(
      database.sql(`
    create sequence :SCHEMA.tries;
    create function :SCHEMA.flaky(failures integer, state text) returns bigint language plpgsql as $$
    declare
      n bigint := nextval('${database.identifier}.tries');
    begin
      if n <= failures then raise exception using errcode = state, message = 'flaky'; end if;
      return n;
    end $$`),
    );
    const again = async (failures: number, state: string): Promise<unknown> => {
      await database.query("alter sequence :SCHEMA.tries restart");
      return (await store.call<{ flaky: number }>("flaky", { failures, state }))[0]?.flaky;
    };
    assert.is(await again(0, "40001"), 1);
    assert.is(await again(3, "40001"), 4);
    assert.is(await again(3, "40P01"), 4);
    assert.is((await storeError(again(1, "23505"))).sqlstate, "23505");
    const given = await storeError(again(1000, "40001"));
    assert.is(given.sqlstate, "40001");
    assert.ok(given.retryable);

    await database.query("alter sequence :SCHEMA.tries restart");
    const tx = await store.begin();
    assert.is(
      (await storeError(store.call("flaky", { failures: 1, state: "40001" }, { on: tx }))).sqlstate,
      "40001",
    );
    await tx.rollback();
    assert.is((await store.call<{ flaky: number }>("flaky", { failures: 1, state: "x" }))[0]?.flaky, 2);
  },
);

errors("a prepared statement whose function was replaced is tried once more without its plan", async () => {
  const pool = new pg.Pool({ connectionString: database.url, max: 1 });
  const prepared = new PgStore(pool, { schema: database.schema, prepared: true });
  const define = async (columns: string, body: string): Promise<void> => {
    await database.query("drop function if exists :SCHEMA.shape()");
    await database.query(
      `create function :SCHEMA.shape() returns table (${columns}) language sql as '${body}'`,
    );
  };
  await define("a integer", "select 1");
  assert.equal(await prepared.call("shape", {}, { hot: true }), [{ a: 1 }]);
  const names = await pool.query("select name from pg_prepared_statements where name like 'headrace%'");
  assert.is(names.rowCount, 1);
  await define("a integer, b integer", "select 1, 2");
  assert.equal(await prepared.call("shape", {}, { hot: true }), [{ a: 1, b: 2 }]);
  assert.equal(await prepared.call("shape", {}, { hot: true }), [{ a: 1, b: 2 }]);
  await pool.end();
});

errors("by default no statement is named", async () => {
  const pool = new pg.Pool({ connectionString: database.url, max: 1 });
  const plain = new PgStore(pool, { schema: database.schema });
  await plain.enqueue([{ kind: "task" }]);
  await plain.admit({ worker: "w", queues: ["default"] });
  const { rowCount } = await pool.query("select from pg_prepared_statements");
  assert.is(rowCount, 0);
  await pool.end();
});

errors.run();
