import { AssertionError } from "node:assert";
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { task, type Codec } from "../../../src/index.js";
import { dropTestSchemas, testQueue } from "../../../src/testing/index.js";
import { testDatabase } from "../support/database.js";
import { failure } from "./support.js";

const assertions = suite("assertions");
const database = await testDatabase({ installed: false });
const { url } = database;

const reversed: Codec = {
  encode: (value) => Buffer.from([...JSON.stringify(value)].reverse().join("")),
  decode: (bytes) => JSON.parse([...Buffer.from(bytes).toString()].reverse().join("")) as unknown,
};
const tasks = {
  mail: task<{ to: string; copies?: string[]; from?: { name: string; age: number } }>(() => undefined),
  coded: task<{ n: number }>({ codec: reversed, handler: () => undefined }),
};
const open = () => testQueue({ url, tasks });

/** The message of an assertion that must fail. */
async function fails(call: Promise<unknown>): Promise<string> {
  const error = await failure(call);
  assert.instance(error, AssertionError);
  return error.message;
}

assertions("a job of an open transaction is seen in that transaction only", async () => {
  await using queue = await open();
  const tx = await queue.store.begin();
  const { id } = await queue.client.enqueue("mail", { to: "ada" }, { tx });
  await queue.refuteEnqueued({ kind: "mail" });
  assert.match(await fails(queue.assertEnqueued({ kind: "mail" })), /only with \{ tx \}/);
  const match = { kind: "mail", payload: { to: "ada" } } as const;
  for (const where of [tx, tx.client]) {
    assert.is((await queue.assertEnqueued(match, { tx: where })).id, id);
    assert.is((await queue.enqueued({}, { tx: where })).length, 1);
    assert.match(await fails(queue.refuteEnqueued(match, { tx: where })), /expected no job to match/);
    const other = { ...match, payload: { to: "bob" } };
    assert.match(await fails(queue.assertEnqueued(other, { tx: where })), /payload.to is "ada", not "bob"/);
  }
  await tx.rollback();
  await queue.refuteEnqueued({ kind: "mail" });
});

assertions("a job that matches is found, by any part of it", async () => {
  await using queue = await open();
  const { id } = await queue.client.enqueue(
    "mail",
    { to: "ada", copies: ["bob", "eve"], from: { name: "zoe", age: 3 } },
    {
      queue: "q",
      partitionKey: "p",
      priority: 3,
      tags: ["x", "y"],
      headers: { a: "1", b: "2" },
      rateClass: "smtp",
    },
  );
  for (const match of [
    {},
    { kind: "mail" },
    { id },
    { queue: "q", partitionKey: "p", priority: 3, state: "available" },
    { tags: ["y"] },
    { tags: [] },
    { rateClass: "smtp" },
    { headers: { b: "2" } },
    { payload: {} },
    { payload: { to: "ada" } },
    { payload: { from: { age: 3 } } },
    { payload: { copies: ["bob", "eve"] } },
    {
      where: ({ maxAttempts, payload }: { maxAttempts: number; payload: unknown }) =>
        maxAttempts === 25 && !!payload,
    },
  ] as const) {
    const job = await queue.assertEnqueued(match);
    assert.is(job.id, id, JSON.stringify(match));
    assert.is(job.payload.to, "ada");
    await fails(queue.refuteEnqueued(match));
  }
});

assertions("one that does not match is not, and the message says what is different", async () => {
  await using queue = await open();
  const { id } = await queue.client.enqueue(
    "mail",
    { to: "ada", copies: ["bob"], from: { name: "zoe", age: 3 } },
    { queue: "q", tags: ["x"], headers: { a: "1" }, rateClass: "smtp" },
  );
  const cases: [Parameters<typeof queue.assertEnqueued<"mail">>[0] & object, string][] = [
    [{ kind: "coded" as "mail" }, 'kind is "mail", not "coded"'],
    [{ id: "other" }, `id is "${id}", not "other"`],
    [{ queue: "default" }, 'queue is "q", not "default"'],
    [{ partitionKey: "p" }, 'partitionKey is "", not "p"'],
    [{ priority: 1 }, "priority is 0, not 1"],
    [{ tags: ["x", "y"] }, 'tags are ["x"], without ["y"]'],
    [{ rateClass: "api" }, 'rate classes are ["smtp"], without "api"'],
    [{ headers: { a: "2" } }, 'headers.a is "1", not "2"'],
    [{ payload: { to: "bob" } }, 'payload.to is "ada", not "bob"'],
    [{ payload: { from: { age: 4 } } }, "payload.from.age is 3, not 4"],
    [{ payload: { copies: ["bob", "eve"] } }, "payload.copies has 1 entries, not 2"],
    [{ payload: { copies: ["eve"] } }, 'payload.copies[0] is "bob", not "eve"'],
    [{ where: () => false }, "where() says no"],
  ];
  for (const [match, why] of cases) {
    const message = await fails(queue.assertEnqueued(match));
    assert.ok(message.includes(why), `${JSON.stringify(match)}: ${message}`);
    await queue.refuteEnqueued(match);
    assert.equal(await queue.enqueued(match), []);
  }
});

assertions("the whole message, nearest jobs first", async () => {
  await using queue = await open();
  await queue.client.enqueue("coded", { n: 1 });
  await queue.client.enqueue("mail", { to: "ada" }, { delay: "1h" });
  assert.is(
    await fails(queue.assertEnqueued({ kind: "mail", payload: { to: "bob" } })),
    [
      'no job matches { kind: "mail", payload: {"to":"bob"} }',
      "2 others:",
      '  j0000000000000002 mail, scheduled in default, payload {"to":"ada"}',
      '    payload.to is "ada", not "bob"',
      '  j0000000000000001 coded, available in default, payload {"n":1}',
      '    kind is "coded", not "mail"',
    ].join("\n"),
  );
  assert.is(
    await fails(queue.refuteEnqueued({ kind: "mail" })),
    [
      'expected no job to match { kind: "mail" }, but 1 do:',
      '  j0000000000000002 mail, scheduled in default, payload {"to":"ada"}',
    ].join("\n"),
  );
});

assertions("runners get something to show the difference with", async () => {
  await using queue = await open();
  await queue.client.enqueue("mail", { to: "ada" });
  const error = await failure(queue.assertEnqueued({ payload: { to: "bob" } }));
  assert.equal(error["expected"], { payload: { to: "bob" } });
  assert.is((error["actual"] as { payload: unknown }[])[0]?.payload && true, true);
});

assertions("none at all, and many", async () => {
  await using queue = await open();
  assert.is(
    await fails(queue.assertEnqueued()),
    "no job matches {}\nno job at all is to be done (in a transaction that is open it is seen only with { tx })",
  );
  await queue.client.enqueueMany(
    Array.from({ length: 230 }, (_, n) => ({ kind: "mail", payload: { to: `n${n}` } }) as const),
  );
  const all = await queue.enqueued({ kind: "mail" });
  assert.is(all.length, 230);
  assert.equal([all[0]?.payload.to, all.at(-1)?.payload.to], ["n0", "n229"], "oldest first");
  assert.match(await fails(queue.assertEnqueued({ kind: "coded" })), /230 others:[^]*and 220 more$/);
});

assertions("what has ended counts only where its state is asked for", async () => {
  await using queue = await open();
  await queue.runJob({ kind: "mail", payload: { to: "ada" }, options: { retention: "1h" } });
  await queue.refuteEnqueued();
  assert.is((await queue.assertEnqueued({ kind: "mail", state: "completed" })).payload.to, "ada");
  assert.match(
    await fails(queue.assertEnqueued({ state: "cancelled" })),
    /^no job matches .*\n1 other:\n.*completed in default.*\n.*state is "completed", not "cancelled"$/,
  );
});

assertions("payloads are read by their task's codec", async () => {
  await using queue = await open();
  await queue.client.enqueue("coded", { n: 5 });
  assert.equal((await queue.assertEnqueued({ kind: "coded", payload: { n: 5 } })).payload, { n: 5 });
});

assertions("a match with a misspelt field is refused, and so is none", async () => {
  await using queue = await open();
  const misspelt = await failure(queue.refuteEnqueued({ paylod: { to: "ada" } } as never));
  assert.match(misspelt.message, /no field paylod; there are kind, id, queue/);
  assert.match((await failure(queue.enqueued("mail" as never))).message, /not "mail"/);
  assert.match((await failure(queue.enqueued({ state: "done" as never }))).message, /state is unknown: done/);
});

assertions.after(async () => {
  await dropTestSchemas({ url });
  await database.close();
});
assertions.run();
