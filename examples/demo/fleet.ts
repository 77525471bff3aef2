import { fork, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";

/** Worker processes, each started again when it dies. */
export class Fleet {
  readonly #workers = new Set<ChildProcess>();
  readonly #environment: NodeJS.ProcessEnv;
  #stopping = false;
  /** How many have died, by signal or otherwise. */
  deaths = 0;

  constructor(size: number, environment: NodeJS.ProcessEnv) {
    this.#environment = environment;
    for (let n = 0; n < size; n++) this.#start();
  }

  #start(): void {
    const worker = fork(fileURLToPath(new URL("worker.ts", import.meta.url)), {
      execArgv: ["--import", "tsx"],
      env: this.#environment,
      stdio: ["ignore", "ignore", "inherit", "ipc"],
    });
    this.#workers.add(worker);
    worker.once("exit", () => {
      this.#workers.delete(worker);
      if (this.#stopping) return;
      this.deaths++;
      setTimeout(() => {
        if (!this.#stopping) this.#start();
      }, 100);
    });
  }

  /** SIGKILL, as the kernel sends it when memory runs out. */
  killOne(): number | undefined {
    const [worker] = this.#workers;
    worker?.kill("SIGKILL");
    return worker?.pid;
  }

  async stop(): Promise<void> {
    this.#stopping = true;
    await Promise.all(
      [...this.#workers].map(async (worker) => {
        const gone = once(worker, "exit");
        worker.kill("SIGTERM");
        const deadline = setTimeout(() => worker.kill("SIGKILL"), 10_000);
        await gone;
        clearTimeout(deadline);
      }),
    );
  }
}
