import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { suite } from "uvu";
import * as assert from "uvu/assert";

/** What the pages list is what there is. */
const docs = suite("docs of events, options and figures");
const root = fileURLToPath(new URL("../../../", import.meta.url));
const read = (path: string): Promise<string> => readFile(`${root}${path}`, "utf8");

/** First cells of the table under a heading that begins so, in backticks. */
function listed(page: string, header: string): string[] {
  const lines = page.split("\n");
  const at = lines.findIndex((line) => line.startsWith(header));
  assert.ok(at >= 0, header);
  const rows = lines.slice(at + 2);
  return rows
    .slice(
      0,
      rows.findIndex((line) => !line.startsWith("|")),
    )
    .flatMap((row) => [...row.split("|")[1]!.matchAll(/`([^`]+)`/g)].map(([, name]) => name!));
}

/** Members of an interface, in quotes or not. */
function members(source: string, name: string): string[] {
  const body = source.slice(source.indexOf(`interface ${name} `)).replace(/^[^{]*\{/, "");
  const end = body.indexOf("\n}");
  return [...body.slice(0, end).matchAll(/^ {2}(?:readonly )?"?([\w:]+)"?\??:/gm)].map(
    ([, member]) => member!,
  );
}

docs("the worker's events", async () => {
  const events = members(await read("src/worker/events.ts"), "WorkerEvents");
  assert.ok(events.length > 10);
  const table = listed(await read("docs/observability.md"), "| event |");
  assert.equal([...table].sort(), [...events].sort());
});

docs("the client's events", async () => {
  const events = members(await read("src/client/events.ts"), "ClientEvents");
  assert.is(events.length, 4);
  assert.equal(listed(await read("docs/client.md"), "| event |").sort(), events.sort());
});

docs("the options of an enqueue", async () => {
  const source = await read("src/client/options.ts");
  const picked = source.slice(source.indexOf("extends Pick<"), source.indexOf("> {"));
  const options = [
    ...[...picked.matchAll(/\| "(\w+)"/g)].map(([, name]) => name!),
    ...members(source, "EnqueueOptions"),
  ];
  assert.ok(options.length > 20);
  assert.equal(listed(await read("docs/client.md"), "| option |").sort(), options.sort());
});

docs("the metrics of OpenTelemetry, and attributes of its spans", async () => {
  const sources = (
    await Promise.all(["enqueue", "process", "figures"].map((name) => read(`src/otel/${name}.ts`)))
  ).join("\n");
  const page = await read("docs/observability.md");
  const named = [...sources.matchAll(/"(headrace\.(?:enqueue|job|admission)\.\w+|messaging\.[\w.]+)"/g)].map(
    ([, name]) => name!,
  );
  const table = listed(page, "| metric |");
  assert.ok(table.length > 10);
  for (const name of table) assert.ok(named.includes(name), `${name} is not there`);
  for (const name of named) assert.ok(page.includes(`\`${name}\``), `${name} is not told of`);
});

docs("the figures to alert on", async () => {
  const sql = await read("sql/functions/inspect/metrics.sql");
  for (const name of listed(await read("docs/observability.md"), "| series |")) {
    const bare = name.replace("headrace_", "").replace(/^schedule_(?=lag|failures|missed)/, "");
    assert.ok(sql.includes(`'${bare}'`), name);
  }
});

docs.run();
