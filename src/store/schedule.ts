import { Caller, Json, type Arguments } from "./caller.js";
import { headersText, payloadBytes } from "./job-json.js";
import { checkBoolean, checked, checkText, checkTexts, checkWhole } from "./text.js";
import type { DueSchedules, Schedule, ScheduleEvent, ScheduleEventInput, ScheduleSummary } from "./types.js";

/** Periodic work. When a tick comes is reckoned in SQL, by the clock of the store. */
export abstract class ScheduleRoom extends Caller {
  /**
   * Makes a schedule or changes it, and answers with its next tick. It fires nothing. With the same spec the next tick
   * stays as it is, also one that is due.
   *
   * @throws StoreError `invalid` for a spec that can't be read or never fires, and for a job outside its limits.
   */
  async upsertSchedule(schedule: Schedule): Promise<number> {
    return this.value("upsert_schedule", {
      ...checked(checkText, {
        id: schedule.id,
        spec: schedule.spec,
        kind: schedule.kind,
        queue: schedule.queue,
        partition_key: schedule.partitionKey,
        rate_class: schedule.rateClass,
        sticky_worker: schedule.stickyWorker,
        on_missed: schedule.onMissed,
      }),
      payload_bytes: schedule.payload === undefined ? undefined : payloadBytes(schedule.payload),
      headers: schedule.headers === undefined ? undefined : new Json(headersText(schedule.headers)),
      ...checked(checkTexts, { rate_classes: schedule.rateClasses, tags: schedule.tags }),
      ...checked(checkBoolean, { paused: schedule.paused }),
      ...whole({
        priority: schedule.priority,
        weight: schedule.weight,
        max_attempts: schedule.maxAttempts,
        timeout_ms: schedule.timeoutMs,
        retention_ms: schedule.retentionMs,
        schema_version: schedule.schemaVersion,
        backfill_limit: schedule.backfillLimit,
        grace_ms: schedule.graceMs,
      }),
    });
  }

  /** Deletes a schedule; its jobs stay, and its events for 30 days. @throws StoreError `not_found`. */
  async deleteSchedule(id: string): Promise<void> {
    await this.call("delete_schedule", { id });
  }

  /** Pauses a schedule or lets it go on; a pause is a gap, for which `onMissed` holds. @throws StoreError `not_found`. */
  async setSchedulePaused(id: string, paused: boolean): Promise<void> {
    await this.call("set_schedule_paused", { id, paused });
  }

  /** All schedules in order of id, at most 10,000. Payload and headers only with `includePayload`. */
  async listSchedules(includePayload = false): Promise<ScheduleSummary[]> {
    return this.call(includePayload ? "list_schedules_with_payload" : "list_schedules");
  }

  /** Schedules whose tick has come, the longest due first. For schedulers of one's own: `tickSchedules` does it all. */
  async dueSchedules(maxRows?: number): Promise<DueSchedules> {
    const schedules = await this.call<ScheduleSummary>("due_schedules", whole({ max_rows: maxRows }));
    return { schedules, nowMs: schedules[0]?.storeNowMs ?? 0 };
  }

  /** Moves the next tick, if it still is `fromMs`. False: somebody else has moved it. Enqueues nothing. */
  async advanceSchedule(id: string, fromMs: number, toMs: number): Promise<boolean> {
    return this.value("advance_schedule", { id, ...whole({ from_ms: fromMs, to_ms: toMs }) });
  }

  /** Appends to the history of a schedule, of which the newest 100 events are kept, and answers with the event's id. */
  async recordScheduleEvent(event: ScheduleEventInput): Promise<number> {
    return this.value("record_schedule_event", {
      schedule_id: event.scheduleId,
      outcome: event.outcome,
      job_id: event.jobId,
      reason: event.reason,
      ...whole({ tick_ms: event.tickMs }),
    });
  }

  /** What became of the ticks of a schedule, newest first, 1..100; `before` is the `eventId` to go on from. */
  async listScheduleEvents(
    id: string,
    before: number | null = null,
    maxRows?: number,
  ): Promise<ScheduleEvent[]> {
    return this.call("list_schedule_events", { id, ...whole({ before, max_rows: maxRows }) });
  }

  /** Enqueues the jobs of ticks that have come, each once whoever calls this, and answers how many. A duty does it too. */
  async tickSchedules(maxRows?: number): Promise<number> {
    return this.value("tick_schedules", whole({ max_rows: maxRows }));
  }

  /**
   * Enqueues the job of a schedule now, also of a paused one, and answers with its id. The same key within a day answers
   * with the same id and enqueues nothing.
   *
   * @throws StoreError `not_found`, `quarantined`, `backpressure`, `invalid`.
   */
  async runScheduleNow(id: string, idempotencyKey?: string): Promise<string> {
    return this.value("run_schedule_now", { id, idempotency_key: idempotencyKey });
  }

  /** The first tick of a spec after an instant; asked of the database, so there is one answer. @throws StoreError `invalid`. */
  async nextTick(spec: string, afterMs: number): Promise<number> {
    return this.value("next_tick", { spec, ...whole({ after_ms: afterMs }) });
  }
}

const whole = (numbers: Readonly<Record<string, number | null | undefined>>): Arguments =>
  checked(checkWhole, numbers);
