import { Caller } from "./caller.js";
import { visibleText } from "./text.js";
import type { WorkerCommand, WorkerInfo, WorkerMeta } from "./types.js";

/** What an operator does to single jobs, and what workers and operators tell each other. */
export abstract class ControlRoom extends Caller {
  /** archived, cancelled, undecodable -> available; its attempts stay counted. */
  async operatorRetry(id: string): Promise<void> {
    await this.call("operator_retry", { id });
  }

  /** Whatever has not ended -> cancelled; a worker that runs it notices when it renews. */
  async operatorCancel(id: string): Promise<void> {
    await this.call("operator_cancel", { id });
  }

  /** pending -> available. */
  async promoteJob(id: string): Promise<void> {
    await this.call("promote_job", { id });
  }

  /** Deletes a job that is not running. */
  async deleteJob(id: string): Promise<void> {
    await this.call("delete_job", { id });
  }

  /** Moves the time at which a scheduled or retryable job runs. */
  async rescheduleJob(id: string, atMs: number): Promise<void> {
    await this.call("reschedule_job", { id, at_ms: atMs });
  }

  /** Gives a job that is not running another payload; the fingerprint is derived unless it is given. */
  async editPayload(
    id: string,
    payload: Uint8Array,
    options: { readonly schemaVersion?: number; readonly fingerprint?: string } = {},
  ): Promise<void> {
    await this.call("edit_payload", {
      id,
      payload,
      schema_version: options.schemaVersion,
      fingerprint: options.fingerprint,
    });
  }

  /** Says that a worker lives, and answers with the command that waits for it: each is handed out once. */
  async heartbeatWorker(worker: WorkerMeta): Promise<WorkerCommand | null> {
    return this.value("heartbeat_worker", {
      worker_id: worker.workerId,
      incarnation: worker.incarnation,
      // The name of a machine must never be why a worker counts as dead.
      host: worker.host === undefined ? undefined : visibleText(worker.host, 63),
      pid: worker.pid,
      queues: worker.queues,
      concurrency: worker.concurrency,
      inflight: worker.inflight,
      polls: worker.polls,
      empty_polls: worker.emptyPolls,
      status: worker.status,
      duties_active: worker.dutiesActive,
    });
  }

  /** Leaves a command for a worker, or withdraws it with null. */
  async signalWorker(workerId: string, command: WorkerCommand | null): Promise<void> {
    await this.call("signal_worker", { worker_id: workerId, command });
  }

  /** Workers whose last heartbeat is at most this old, the freshest first. */
  async listWorkers(staleAfterMs?: number): Promise<WorkerInfo[]> {
    return this.call("list_workers", { stale_after_ms: staleAfterMs });
  }

  /** Asks to be notified of new work for a while: declare, admit once more, then sleep. No queues: of any. */
  async declareSleep(worker: string, queues: readonly string[], forMs: number): Promise<void> {
    await this.call("declare_sleep", { worker, queues, for_ms: forMs });
  }
}
