import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type pg from "pg";
import { Client, task, type PgStore } from "../../src/index.js";

export interface Welcome {
  readonly email: string;
  readonly name: string;
}

/** Shared by the server, which enqueues, and the worker, which sends. */
export const tasks = {
  "email:welcome": task<Welcome>(async ({ email, name }, job) => {
    await job.step("send", () => console.log(`to ${email}: welcome, ${name}`));
  }),
};

export async function createTables(pool: pg.Pool): Promise<void> {
  await pool.query("create table if not exists customer (email text primary key, name text not null)");
}

/**
 * POST /customers {"email", "name"}: the customer and the job of the welcome mail are written in one transaction, so there
 * is never one without the other: no mail to a customer that was rolled back, no customer whose mail was forgotten.
 */
export function createApp(pool: pg.Pool, store: PgStore): Server {
  const client = new Client(store, { tasks });

  async function signUp({ email, name }: Welcome): Promise<string> {
    const connection = await pool.connect();
    try {
      await connection.query("begin");
      const job = await client.enqueue(
        "email:welcome",
        { email, name },
        { tx: connection, partitionKey: email },
      );
      // The e-mail address may be taken, the name missing: then the job goes too.
      await connection.query("insert into customer (email, name) values ($1, $2)", [email, name]);
      await connection.query("commit");
      return job.id;
    } catch (error) {
      await connection.query("rollback").catch(() => undefined);
      throw error;
    } finally {
      connection.release();
    }
  }

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (request.method !== "POST" || request.url !== "/customers")
      return reply(response, 404, { error: "not found" });
    try {
      const job = await signUp(JSON.parse(await body(request)) as Welcome);
      reply(response, 201, { job });
    } catch (error) {
      const { code, message } = error as { code?: string; message: string };
      const status = code === "23505" ? 409 : code === "23502" || error instanceof SyntaxError ? 400 : 500;
      reply(response, status, { error: message });
    }
  }

  return createServer((request, response) => void answer(request, response));
}

async function body(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString("utf8");
}

function reply(response: ServerResponse, status: number, value: unknown): void {
  response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(value));
}
