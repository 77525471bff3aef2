import { fork, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";

/** A process of the soak, started again under the same name whenever it ends, until it is to stay stopped. */
export class Member {
  readonly #name: string;
  readonly #file: string;
  readonly #environment: Readonly<Record<string, string>>;
  readonly #told: (event: string) => void;
  readonly #strange: (what: string) => void;
  #child: ChildProcess | undefined;
  #ready = false;
  #expected = false;
  #stopping = false;

  constructor(options: {
    readonly name: string;
    readonly file: string;
    readonly environment: Readonly<Record<string, string>>;
    readonly told: (event: string) => void;
    /** It has ended although nobody wanted that. */
    readonly strange: (what: string) => void;
  }) {
    this.#name = options.name;
    this.#file = options.file;
    this.#environment = options.environment;
    this.#told = options.told;
    this.#strange = options.strange;
    this.#start();
  }

  get name(): string {
    return this.#name;
  }

  /** A worker has claimed for the first time. */
  get ready(): boolean {
    return this.#ready;
  }

  #start(): void {
    this.#ready = false;
    this.#expected = false;
    let errors = "";
    const child = fork(fileURLToPath(new URL(this.#file, import.meta.url)), {
      execArgv: ["--import", "tsx"],
      env: { ...process.env, ...this.#environment },
      stdio: ["ignore", "ignore", "pipe", "ipc"],
    });
    this.#child = child;
    child.stderr?.on("data", (data: Buffer) => (errors = (errors + data.toString()).slice(-4_000)));
    child.on("message", (event: string) => {
      if (event === "ready") this.#ready = true;
      this.#told(event);
    });
    child.once("exit", (code, signal) => {
      if (!this.#expected) this.#strange(`${this.#name} ended with ${signal ?? code}: ${errors}`);
      if (this.#child === child && !this.#stopping) setTimeout(() => !this.#stopping && this.#start(), 100);
    });
  }

  /** Sends the signal and waits until the process has gone; answers with what it went by. */
  async end(signal: "SIGKILL" | "SIGTERM", patienceMs = 60_000): Promise<string> {
    const child = this.#child!;
    this.#expected = true;
    const gone = child.exitCode !== null || child.signalCode !== null ? undefined : once(child, "exit");
    child.kill(signal);
    const tooLate = setTimeout(() => {
      this.#strange(`${this.#name} has not ended ${patienceMs} ms after ${signal}`);
      child.kill("SIGKILL");
    }, patienceMs);
    await gone;
    clearTimeout(tooLate);
    return child.signalCode ?? String(child.exitCode);
  }

  /** As a debugger or a sleeping virtual machine would. */
  async freeze(ms: number): Promise<void> {
    const child = this.#child!;
    child.kill("SIGSTOP");
    try {
      await sleep(ms);
    } finally {
      child.kill("SIGCONT");
    }
  }

  /** For good. */
  async stop(): Promise<string> {
    this.#stopping = true;
    return this.end("SIGTERM");
  }

  /** Tells a producer to finish its batch, and waits for that. */
  async finish(): Promise<string> {
    this.#stopping = true;
    this.#expected = true;
    const child = this.#child!;
    if (child.exitCode === null && child.signalCode === null) {
      const gone = once(child, "exit");
      child.send("stop");
      await gone;
    }
    return child.signalCode ?? String(child.exitCode);
  }

  destroy(): void {
    this.#stopping = true;
    this.#expected = true;
    this.#child?.kill("SIGKILL");
  }
}
