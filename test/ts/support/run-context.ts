import { randomBytes } from "node:crypto";
import { startServer, type TestServer } from "./server.js";
import { admin, makeTemplate } from "./template.js";

/** The server and the template that a run of tests shares. The runner hands it to each file in the environment. */
export interface RunContext {
  readonly adminUrl: string;
  readonly template: string;
  /** Test databases are called after it, so the runner finds what a file left behind. */
  readonly prefix: string;
  /** The runner checks and drops databases; a file that runs alone does so itself. */
  readonly managed: boolean;
}

const variable = "HEADRACE_TEST_RUN";

export const toEnvironment = (context: Omit<RunContext, "managed">): Record<string, string> => ({
  [variable]: JSON.stringify(context),
});

let shared: Promise<RunContext> | undefined;

/** The run that this process belongs to; outside the runner one is started for it. */
export function runContext(): Promise<RunContext> {
  shared ??= load();
  return shared;
}

async function load(): Promise<RunContext> {
  const given = process.env[variable];
  if (given) return { ...(JSON.parse(given) as Omit<RunContext, "managed">), managed: true };
  const server = await startServer();
  const context = await prepare(server, (text) => process.stderr.write(`${text}\n`));
  process.once("beforeExit", () => {
    void admin(server.adminUrl, `drop database if exists ${context.template}`)
      .catch(() => undefined)
      .then(() => server.close());
  });
  return { ...context, managed: false };
}

/** Makes the template of a run. */
export async function prepare(
  server: TestServer,
  notice: (text: string) => void,
): Promise<Omit<RunContext, "managed">> {
  const id = randomBytes(4).toString("hex");
  const template = `hr_${id}_template`;
  await makeTemplate(server.adminUrl, template, notice);
  return { adminUrl: server.adminUrl, template, prefix: `hr_${id}` };
}
