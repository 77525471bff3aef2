import { Caller } from "./caller.js";
import type { AccessDuty, HistoryPolicy } from "./types.js";

/** What an operator sets for queues, and who may do what. */
export abstract class PolicyRoom extends Caller {
  /** Pauses a queue or lets it go on; once it has returned, no claim of a paused queue commits any more. */
  async setQueuePaused(queue: string, paused: boolean): Promise<void> {
    await this.call("set_queue_paused", { queue, paused });
  }

  /** The queue's part of a capacity that several queues share, in proportion to the others. At least 1. */
  async setQueueWeight(queue: string, weight: number): Promise<void> {
    await this.call("set_queue_weight", { queue, weight });
  }

  /** How many unfinished jobs the queue takes; 0 closes it, null removes the limit. */
  async setEnqueueLimit(queue: string, maxUnfinishedJobs: number | null): Promise<void> {
    await this.call("set_enqueue_limit", { queue, max_unfinished_jobs: maxUnfinishedJobs });
  }

  /** Which attempts the history of the queue's jobs keeps from now on. */
  async setHistoryPolicy(queue: string, keep: HistoryPolicy): Promise<void> {
    await this.call("set_history_policy", { queue, keep });
  }

  /** How long jobs without a retention of their own stay after they ended badly. */
  async setFailedRetention(queue: string, retentionMs: number): Promise<void> {
    await this.call("set_failed_retention", { queue, retention_ms: retentionMs });
  }

  /** Has evicted jobs of the queue kept in the archive for so long. */
  async setArchivePolicy(queue: string, retentionMs: number): Promise<void> {
    await this.call("set_archive_policy", { queue, retention_ms: retentionMs });
  }

  /** No more copies; what is in the archive stays its time. */
  async clearArchivePolicy(queue: string): Promise<void> {
    await this.call("clear_archive_policy", { queue });
  }

  /** Lets an existing role do one duty, also after later migrations. For the owner of the install. */
  async grantAccess(role: string, duty: AccessDuty): Promise<void> {
    await this.call("grant_access", { role, duty });
  }

  /** Takes a duty from a role. For the owner of the install. */
  async revokeAccess(role: string, duty: AccessDuty): Promise<void> {
    await this.call("revoke_access", { role, duty });
  }

  /** Switches the check of every move of a job against the table of moves: on in tests, off by default. */
  async setTransitionGuard(enabled: boolean): Promise<void> {
    await this.call("set_transition_guard", { enabled });
  }
}
