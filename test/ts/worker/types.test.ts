/** Types are tested by the compiler: a line marked @ts-expect-error that compiles is an error. */
import { suite } from "uvu";
import { Client, task, type PgStore, type StandardSchema } from "../../../src/index.js";

const types = suite("types");

interface Jobs {
  "email:welcome": { to: string };
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
};

export async function compiled(store: PgStore): Promise<void> {
  const byType = new Client<Jobs>(store);
  await byType.enqueue("email:welcome", { to: "ada@example.org" });
  // @ts-expect-error wrong payload
  await byType.enqueue("email:welcome", { from: "ada@example.org" });
  // @ts-expect-error unknown kind
  await byType.enqueue("email:goodbye", { to: "ada@example.org" });

  const byTasks = new Client(store, { tasks });
  await byTasks.enqueue("crawl", { url: "https://example.org" });
  await byTasks.enqueue("upper", { text: "a" });
  await byTasks.enqueue("plain", { n: 1 });
  // @ts-expect-error wrong payload
  await byTasks.enqueue("crawl", { url: 1 });
  // @ts-expect-error what the schema reads, not what it makes of it
  await byTasks.enqueue("upper", { length: 1 });
  // @ts-expect-error wrong payload of a plain handler
  await byTasks.enqueue("plain", "one");

  const anything = new Client(store);
  await anything.enqueue("whatever", [1, "two"]);
}

types("wrong payloads do not compile", () => undefined);
types.run();
