import { Caller } from "./caller.js";
import type { DutyOptions, DutyRun, Reclaimed } from "./types.js";

/** What time does. Every sweep is bounded and may run anywhere, any number of times at once. */
export abstract class SweepRoom extends Caller {
  /** Takes jobs back whose lease has expired: each to be tried again, or quarantined after one crash too many. */
  async reclaimExpired(maxRows?: number): Promise<Reclaimed[]> {
    return this.call("reclaim_expired", { max_rows: maxRows });
  }

  /** Makes due jobs available and answers how many. */
  async promoteDue(maxRows?: number): Promise<number> {
    return Number(await this.value("promote_due", { max_rows: maxRows }));
  }

  /** Parks unfinished jobs whose content is quarantined, where they can be seen, and answers how many. */
  async quarantineSweep(maxRows?: number): Promise<number> {
    return Number(await this.value("quarantine_sweep", { max_rows: maxRows }));
  }

  /** Archives waiting jobs whose deadline has passed, and answers how many. */
  async expireDeadlines(maxRows?: number): Promise<number> {
    return Number(await this.value("expire_deadlines", { max_rows: maxRows }));
  }

  /** Deletes finished jobs whose time is over, into the archive where their queue has one, and answers how many. */
  async evictRetained(maxRows?: number): Promise<number> {
    return Number(await this.value("evict_retained", { max_rows: maxRows }));
  }

  /** Deletes what is past its horizon beside the jobs, and answers how many rows. */
  async janitor(maxRows?: number): Promise<number> {
    return Number(await this.value("janitor", { max_rows: maxRows }));
  }

  /** Adds up what writers noted of their queues, and answers how many notes. */
  async rollUpTallies(maxRows?: number): Promise<number> {
    return Number(await this.value("roll_up_tallies", { max_rows: maxRows }));
  }

  /** Claims a duty, or keeps it. False: somebody else has it. */
  async claimDuty(name: string, holder: string, leaseMs: number): Promise<boolean> {
    return this.value("claim_duty", { name, holder, lease_ms: leaseMs });
  }

  /** Gives a duty up at once; nothing happens where it is not held. */
  async releaseDuty(name: string, holder: string): Promise<void> {
    await this.call("release_duty", { name, holder });
  }

  /** Runs every duty that nobody else holds, and answers what each did; one that failed says so in its row. */
  async runDuties(holder: string, options: DutyOptions = {}): Promise<DutyRun[]> {
    return this.call("run_duties", {
      holder,
      duties: options.duties,
      max_rows: options.maxRows,
      lease_ms: options.leaseMs,
    });
  }

  /** What `runDuties` knows, in the order in which it runs it. */
  async dutyNames(): Promise<string[]> {
    return this.value("duty_names");
  }
}
