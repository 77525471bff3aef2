import { execFile, spawn, type ChildProcess } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { access, chmod, chown, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { createServer, type AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { binaries, serverUser, wantedMajor, type Major } from "./binaries.js";
import { folderPrefix, identify, ownerFile, removeLeftovers } from "./leftovers.js";

const run = promisify(execFile);

/** As pg_ctl knows them, and `kill`: the machine lost its power. */
export type StopMode = "smart" | "fast" | "immediate" | "kill";

export interface EmbeddedServer {
  /** For a database of this server; the default is `postgres`. The user is a superuser. */
  url(database?: string): string;
  readonly port: number;
  readonly major: Major;
  stop(mode?: StopMode): Promise<void>;
  start(): Promise<void>;
  restart(mode?: StopMode): Promise<void>;
  /** Stops the server and removes its folder. */
  close(): Promise<void>;
}

export interface EmbeddedOptions {
  readonly major?: Major;
  /** Another installation than the one from npm: the folder that holds its bin/. */
  readonly home?: string;
  /** Settings on top of `testSettings`. */
  readonly settings?: Readonly<Record<string, string>>;
}

/** No crash of the machine is survived: for tests of correctness, never for measurements. */
const testSettings: Readonly<Record<string, string>> = {
  fsync: "off",
  full_page_writes: "off",
  wal_level: "minimal",
  max_wal_senders: "0",
  max_connections: "200",
  listen_addresses: "127.0.0.1",
  unix_socket_directories: "",
  timezone: "UTC",
  log_min_messages: "warning",
};

/**
 * Stands between us and the server, and lives as long as the pipe to us: when we die, however that happens, it stops
 * the server and removes the folder. It takes one command a line.
 */
const supervisor = `
folder=$1; shift
start() {
  rm -f "$folder/exited" "$folder/pid"
  ( "$@" >>"$folder/log" 2>&1 & echo $! >"$folder/pid"; wait; : >"$folder/exited" ) & shell=$!
}
stop() {
  until [ -s "$folder/pid" ]; do sleep 0.05; done
  kill -"$1" "$(cat "$folder/pid")"; wait "$shell"
}
start "$@"
while read -r command signal; do
  case $command in
    stop) stop "$signal" ;;
    start) start "$@" ;;
  esac
done
stop QUIT
rm -rf "$folder"
`;

const signals: Record<StopMode, string> = { smart: "TERM", fast: "INT", immediate: "QUIT", kill: "KILL" };

/** Starts a PostgreSQL of its own on a free port, with its data in the temp folder. */
export async function startEmbedded(options: EmbeddedOptions = {}): Promise<EmbeddedServer> {
  await removeLeftovers();
  const major = options.major ?? wantedMajor();
  const native = options.home ?? (await binaries(major));
  const folder = await mkdtemp(join(tmpdir(), folderPrefix));
  await writeFile(join(folder, ownerFile), JSON.stringify(await identify(process.pid)));
  const password = randomBytes(12).toString("hex");
  await writeFile(join(folder, "password"), password);
  await chmod(folder, 0o700);
  if (serverUser) {
    await chown(folder, serverUser.uid, serverUser.gid);
    await chown(join(folder, "password"), serverUser.uid, serverUser.gid);
  }
  const data = join(folder, "data");
  const environment = { ...serverEnvironment(), LC_ALL: "C" };
  await run(
    join(native, "bin", "initdb"),
    // prettier-ignore
    ["-D", data, "-U", "postgres", "-A", "password", "--pwfile", join(folder, "password"), "--locale=C",
      "--encoding=UTF8", "--no-sync", "--no-instructions"],
    { ...serverUser, cwd: folder, env: environment },
  ).catch(async (error: unknown) => {
    await rm(folder, { recursive: true });
    throw error;
  });

  const settings = { ...testSettings, ...options.settings };
  const argumentsFor = (port: number): string[] => [
    ...["-D", data, "-p", String(port)],
    ...Object.entries(settings).flatMap(([name, value]) => ["-c", `${name}=${value}`]),
  ];
  const launch = (port: number): ChildProcess => {
    const command = [join(native, "bin", "postgres"), ...argumentsFor(port)];
    return spawn("/bin/sh", ["-c", supervisor, "sh", folder, ...command], {
      ...serverUser,
      cwd: folder,
      env: environment,
      // A group of its own: Ctrl-C in the terminal is for us to handle, not for the server.
      detached: true,
      stdio: ["pipe", "ignore", "ignore"],
    });
  };

  let port = 0;
  let child: ChildProcess | undefined;
  for (let attempt = 1; !child; attempt++) {
    port = await freePort();
    const candidate = launch(port);
    try {
      await ready(folder);
      child = candidate;
    } catch (error) {
      if (attempt < 5 && /could not bind|could not create any TCP/.test(await log(folder))) {
        // Somebody took the port in the meantime. Ending the pipe would remove the folder.
        candidate.kill("SIGKILL");
        continue;
      }
      candidate.stdin?.end();
      throw error;
    }
  }
  const supervised = child;
  supervised.unref();
  (supervised.stdin as unknown as { unref(): void }).unref();

  const tell = (line: string): void => void supervised.stdin?.write(`${line}\n`);
  const server: EmbeddedServer = {
    port,
    major,
    url: (database = "postgres") =>
      `postgresql://postgres:${password}@127.0.0.1:${port}/${encodeURIComponent(database)}`,
    async stop(mode = "fast") {
      tell(`stop ${signals[mode]}`);
      while (!(await exists(join(folder, "exited")))) await sleep(5);
    },
    async start() {
      for (let attempt = 1; ; attempt++) {
        // What is there is of the previous one.
        for (const name of ["exited", "pid"]) await rm(join(folder, name), { force: true });
        tell("start");
        try {
          return await ready(folder);
        } catch (error) {
          // After SIGKILL the shared memory is in use until the last backend has noticed.
          if (attempt >= 20) throw error;
          await sleep(100);
        }
      }
    },
    async restart(mode = "immediate") {
      await server.stop(mode);
      await server.start();
    },
    async close() {
      if (supervised.exitCode !== null) return;
      supervised.ref();
      const exited = once(supervised, "exit");
      supervised.stdin?.end();
      await exited;
    },
  };
  return server;
}

/** Our PG* variables are meant for somebody else. */
function serverEnvironment(): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith("PG")));
}

async function freePort(): Promise<number> {
  const probe = createServer().listen(0, "127.0.0.1");
  await once(probe, "listening");
  const { port } = probe.address() as AddressInfo;
  probe.close();
  await once(probe, "close");
  return port;
}

const read = (file: string): Promise<string> => readFile(file, "utf8").catch(() => "");
const log = (folder: string): Promise<string> => read(join(folder, "log"));

const exists = (file: string): Promise<boolean> =>
  access(file).then(
    () => true,
    () => false,
  );

/** The server writes its state into line 8; asking by connection would also be answered by a stranger on the port. */
async function ready(folder: string): Promise<void> {
  const deadline = Date.now() + 30_000;
  while (Date.now() < deadline) {
    if (await exists(join(folder, "exited"))) break;
    const [pid] = (await read(join(folder, "pid"))).split("\n");
    const lines = (await read(join(folder, "data", "postmaster.pid"))).split("\n");
    // A server that was killed left its file behind.
    if (pid !== "" && lines[0] === pid && lines[7]?.startsWith("ready")) return;
    await sleep(10);
  }
  throw new Error(`PostgreSQL did not start:\n${(await log(folder)).slice(-2000)}`);
}
