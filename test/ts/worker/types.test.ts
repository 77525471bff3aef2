/** Types are tested by the compiler: a line marked @ts-expect-error that compiles is an error. */
import { suite } from "uvu";
import {
  Client,
  task,
  Worker,
  type JobContext,
  type PgStore,
  type StandardSchema,
} from "../../../src/index.js";

const types = suite("types");

interface Jobs {
  "email:welcome": { to: string };
  /** Its properties have the names of a task's options. */
  "report:make": { timeout: string; version: number };
  nightly: undefined;
}

const upper: StandardSchema<{ text: string }, { text: string; length: number }> = {
  "~standard": {
    version: 1,
    vendor: "test",
    validate: (value) => ({ value: { text: String(value), length: 1 } }),
  },
};

const tasks = {
  crawl: task<{ url: string }>(async ({ url }) => url),
  upper: task({ schema: upper, handler: ({ text, length }) => text.length + length }),
  plain: (payload: { n: number }) => payload.n,
  bare: { handler: async (payload: { to: string }, job: JobContext) => (payload.to ? job.skip() : 1) },
  square: task<number, number>({ batchHandler: (batch) => batch.map(({ payload }) => payload * payload) }),
  nothing: () => "done",
};

const exactly = <Expected>(value: Expected): Expected => value;

export async function compiled(store: PgStore): Promise<void> {
  const byType = new Client<Jobs>(store);
  await byType.enqueue("email:welcome", { to: "ada@example.org" });
  await byType.enqueue("report:make", { timeout: "a word", version: 1 });
  await byType.enqueue("nightly");
  await byType.enqueue("nightly", undefined, { priority: 1 });
  // @ts-expect-error wrong payload
  await byType.enqueue("email:welcome", { from: "ada@example.org" });
  // @ts-expect-error no payload
  await byType.enqueue("email:welcome");
  // @ts-expect-error unknown kind
  await byType.enqueue("email:goodbye", { to: "ada@example.org" });
  // @ts-expect-error wrong payload whose properties have the names of a task's options
  await byType.enqueue("report:make", { timeout: 1, version: 1 });
  // @ts-expect-error a payload where there is none
  await byType.enqueue("nightly", { at: 3 });

  const byTasks = new Client(store, { tasks });
  await byTasks.enqueue("crawl", { url: "https://example.org" });
  await byTasks.enqueue("upper", { text: "a" });
  await byTasks.enqueue("plain", { n: 1 });
  await byTasks.enqueue("bare", { to: "a" });
  await byTasks.enqueue("square", 2);
  await byTasks.enqueue("nothing");
  // @ts-expect-error wrong payload
  await byTasks.enqueue("crawl", { url: 1 });
  // @ts-expect-error no payload
  await byTasks.enqueue("crawl");
  // @ts-expect-error what the schema reads, not what it makes of it
  await byTasks.enqueue("upper", { length: 1 });
  // @ts-expect-error wrong payload of a plain handler
  await byTasks.enqueue("plain", "one");
  // @ts-expect-error wrong payload of a definition without task()
  await byTasks.enqueue("bare", { to: 1 });
  // @ts-expect-error wrong payload of a batch task
  await byTasks.enqueue("square", "two");
  // @ts-expect-error unknown kind
  await byTasks.enqueue("crawled", { url: "https://example.org" });
  // @ts-expect-error unknown option
  await byTasks.enqueue("plain", { n: 1 }, { prio: 1 });
  // @ts-expect-error an option of the wrong type
  await byTasks.enqueue("plain", { n: 1 }, { delay: new Date() });

  await byTasks.enqueueMany([
    { kind: "crawl", payload: { url: "https://example.org" }, options: { priority: 1 } },
    { kind: "square", payload: 2 },
    { kind: "nothing" },
  ]);
  // @ts-expect-error the payload of another kind
  await byTasks.enqueueMany([{ kind: "crawl", payload: { n: 1 } }]);
  // @ts-expect-error no payload
  await byTasks.enqueueMany([{ kind: "crawl" }]);
  // @ts-expect-error unknown kind
  await byTasks.enqueueMany([{ kind: "crawled", payload: { url: "https://example.org" } }]);

  exactly<number | undefined>((await byTasks.enqueueAndWait("square", 2)).result);
  exactly<number | undefined>((await byTasks.enqueueAndWait("plain", { n: 1 })).result);
  exactly<number | undefined>((await byTasks.enqueueAndWait("bare", { to: "a" })).result);
  exactly<string | undefined>((await byTasks.enqueueAndWait("nothing", undefined, { timeout: "1s" })).result);
  // @ts-expect-error the result of another kind
  exactly<string | undefined>((await byTasks.enqueueAndWait("square", 2)).result);
  // @ts-expect-error wrong payload
  await byTasks.enqueueAndWait("square", "two");

  const anything = new Client(store);
  await anything.enqueue("whatever", [1, "two"]);
  await anything.enqueue("whatever");
  await anything.enqueueMany([{ kind: "a", payload: 1 }, { kind: "b" }]);

  new Worker(store, { tasks });
  // @ts-expect-error a task that is none
  new Worker(store, { tasks: { a: 5 } });
  // @ts-expect-error a worker without tasks
  new Worker(store, {});

  // @ts-expect-error a handler of another payload
  task<{ url: string }>((payload: { n: number }) => payload.n);
  // @ts-expect-error a handler of what the schema reads, not of what it makes of it
  task({ schema: upper, handler: ({ size }) => size as number });
  task<number, number>({
    // @ts-expect-error a batch handler answers with a list
    batchHandler: (batch) => batch.length,
  });
  task<number, number>({
    // @ts-expect-error results of another type
    batchHandler: (batch) => batch.map(({ payload }) => String(payload)),
  });
  task<number, number>({
    batchHandler: (batch) =>
      batch.map(({ payload, job }) => (payload < 0 ? new Error("no") : job.snooze("1s"))),
  });
  task<number, number>({
    // @ts-expect-error the result of another type
    handler: (payload) => String(payload),
  });
  task<number>({
    handler: async (payload, job) => {
      exactly<number>(payload);
      exactly<string>(await job.step("name", () => "text"));
      // @ts-expect-error the result of the step
      exactly<number>(await job.step("name", () => "text"));
      await job.forEach(
        (cursor: number | undefined) => [cursor ?? 0],
        (item) => item,
        (item) => void exactly<number>(item),
      );
      // @ts-expect-error a duration that is none
      return job.snooze(new Date());
    },
  });
}

types("wrong payloads do not compile", () => undefined);
types.run();
