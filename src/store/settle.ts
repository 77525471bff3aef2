import { Json, Ready, TextCaller, type Arguments } from "./caller.js";
import { invalid } from "./errors.js";
import { checkText, checkWhole, textArray, visibleJson, visibleText } from "./text.js";
import type {
  Ack,
  AckDetail,
  AckOutcome,
  AckResult,
  Checkpoint,
  CompleteDetail,
  JobOutput,
  JobProgress,
  JobResult,
  JobState,
  LeaseRef,
} from "./types.js";

/** Somewhat more than what SQL keeps, so that its cut, on a whole character, is the one that counts. */
const maxErrorCharacters = 8192;
const maxLogEntries = 100;
const maxLogCharacters = 4096;
/** What fits into a text here and a message there. */
const maxAcksCharacters = 256 * 1024 * 1024;
const maxResultBytes = 32 * 1024 * 1024;

/** What the holder of a lease may do. Each throws `lease_rejected` where the lease or the fence no longer holds the job. */
export abstract class SettleRoom extends TextCaller {
  /** Ends an attempt and answers with the state that the job has reached, `deleted` where it is gone. */
  async ack(lease: LeaseRef, outcome: AckOutcome, detail: AckDetail = {}): Promise<JobState | "deleted"> {
    const { error, logs } = detail;
    return this.value(
      "ack",
      {
        ...holder(lease),
        outcome,
        error: error === undefined ? undefined : visibleText(error, maxErrorCharacters),
        delay_ms: detail.delayMs,
        logs: logs === undefined ? undefined : new Json(logsJson(logs)),
        actual_weight: detail.actualWeight,
      },
      { hot: true },
    );
  }

  /** The same as `ack`; the name that other stores give to an ack with logs. */
  async ackAttempt(lease: LeaseRef, outcome: AckOutcome, detail?: AckDetail): Promise<JobState | "deleted"> {
    return this.ack(lease, outcome, detail);
  }

  /** The same as `ack`; the name that other stores give to an ack with an actual weight. */
  async ackAttemptWithActualWeight(
    lease: LeaseRef,
    outcome: AckOutcome,
    detail?: AckDetail,
  ): Promise<JobState | "deleted"> {
    return this.ack(lease, outcome, detail);
  }

  /**
   * Ends many attempts in one statement and answers with a row each, in order. One that is no longer held is reported, not
   * thrown, and disturbs no other.
   */
  async ackMany(acks: readonly Ack[]): Promise<AckResult[]> {
    if (acks.length === 0) return [];
    const texts: string[] = [];
    const jobs: string[] = [];
    const leases: string[] = [];
    const fences: bigint[] = [];
    /** Where the acks of each kind stand in the list. */
    const [others, plain]: [number[], number[]] = [[], []];
    acks.forEach((ack, place) => {
      if (isPlain(ack)) {
        plain.push(place);
        jobs.push(ack.jobId);
        leases.push(ack.leaseId);
        fences.push(ack.fence);
      } else {
        others.push(place);
        texts.push(ackJson(ack));
      }
    });
    if (texts.reduce((sum, text) => sum + text.length, 0) > maxAcksCharacters) {
      throw invalid("acks", "are too long together", `at most ${maxAcksCharacters} characters`);
    }
    const { at, rows } = await this.callForText<"ord" | "rejected" | "state">(
      "ack_batch",
      {
        job_ids: new Ready(textArray("job_id", jobs)),
        lease_ids: new Ready(textArray("lease_id", leases)),
        fences: new Ready(`{${fences.join(",")}}`),
        others: texts.length === 0 ? undefined : new Json(`[${texts.join(",")}]`),
        // So that an error names an ack by its place in the caller's list.
        places:
          texts.length === 0 || plain.length === 0
            ? undefined
            : new Ready(`{${others.map((place) => place + 1).join(",")}}`),
      },
      { hot: true },
    );
    const results: AckResult[] = acks.map(({ jobId }) => ({ jobId, rejected: false, state: "deleted" }));
    for (const row of rows) {
      const ord = Number(row[at.ord]) - 1;
      const place = (ord < others.length ? others[ord] : plain[ord - others.length])!;
      results[place] = {
        jobId: acks[place]!.jobId,
        rejected: row[at.rejected] === "t",
        state: row[at.state] as AckResult["state"],
      };
    }
    return results;
  }

  /** Ends an attempt with success and stores its result, which is kept as long as the job is. */
  async ackSuccessWithResult(
    lease: LeaseRef,
    result: JobResult,
    detail: Pick<AckDetail, "logs" | "actualWeight"> = {},
  ): Promise<JobState | "deleted"> {
    return this.value("ack_success_with_result", resultArguments(lease, result, detail));
  }

  /**
   * Extends leases to `leaseMs` from now and answers with the ids of the jobs that are lost; it never fails because of
   * those. It waits no longer than half of the lease, so that there is time to try again.
   */
  async renew(leases: readonly LeaseRef[], leaseMs: number): Promise<string[]> {
    const list = leases.map((lease) => `{${holderJson(lease)}}`).join(",");
    return this.values(
      "renew",
      { leases: new Json(`[${list}]`), lease_ms: leaseMs },
      // A lease that is none is for SQL to refuse.
      { hot: true, timeoutMs: leaseMs >= 1 ? Math.min(this.callTimeoutMs, leaseMs / 2) : undefined },
    );
  }

  /** Hands a job back now, in its old place, with no attempt spent. */
  async release(lease: LeaseRef): Promise<void> {
    await this.call("release", holder(lease));
  }

  /** Stores how far the job has come, before the side effect that it announces. */
  async checkpoint(lease: LeaseRef, checkpoint: Checkpoint): Promise<void> {
    await this.call("checkpoint", checkpointArguments(lease, checkpoint), { hot: true });
  }

  /** Says how far the work has come, for people: 0 <= current <= total. Answers with it as it was stored. */
  async writeJobProgress(
    lease: LeaseRef,
    progress: { readonly current: number; readonly total: number; readonly message?: string },
  ): Promise<JobProgress> {
    const { current, total, message = null } = progress;
    const stored = await this.first<Stamp>("write_job_progress", {
      ...holder(lease),
      current,
      total,
      message: message ?? undefined,
    });
    return { current, total, message, fence: stored?.writtenFence ?? lease.fence, atMs: stored?.atMs ?? 0 };
  }

  /** Stores something to be read while the job still runs; each call replaces the last. */
  async writeJobOutput(lease: LeaseRef, output: JobResult): Promise<JobOutput> {
    const { schemaVersion = 1, bytes } = output;
    const stored = await this.first<Stamp>("write_job_output", {
      ...holder(lease),
      schema_version: schemaVersion,
      bytes,
    });
    return { schemaVersion, bytes, fence: stored?.writtenFence ?? lease.fence, atMs: stored?.atMs ?? 0 };
  }

  /** Pauses a rate class in the whole fleet for `ms`, as when a service says "not now"; answers until when. */
  async deferRateClass(name: string, ms: number): Promise<number> {
    return this.value("defer_rate_class", { name, ms });
  }

  /** Ends an attempt with success; in a transaction of the caller's it is `completeTx`. */
  async complete(lease: LeaseRef, actualWeight?: number): Promise<void> {
    await this.call("complete", { ...holder(lease), actual_weight: actualWeight });
  }
}

/** The function that ends an attempt with success, and its arguments; it answers with the state reached. */
export function completion(lease: LeaseRef, detail: CompleteDetail): [name: string, parameters: Arguments] {
  const { result, logs = [], actualWeight: actual_weight } = detail;
  if (result) return ["ack_success_with_result", resultArguments(lease, result, detail)];
  const kept = logs.length === 0 ? undefined : new Json(logsJson(logs));
  return ["ack", { ...holder(lease), outcome: "success", logs: kept, actual_weight }];
}

function resultArguments(
  lease: LeaseRef,
  { schemaVersion = 1, bytes }: JobResult,
  { logs, actualWeight }: CompleteDetail,
): Arguments {
  return {
    ...holder(lease),
    logs: logs === undefined ? null : new Json(logsJson(logs)),
    actual_weight: actualWeight ?? null,
    schema_version: schemaVersion,
    bytes,
  };
}

/** What the store adds to what a holder writes. */
interface Stamp {
  readonly writtenFence: bigint;
  readonly atMs: number;
}

function holder({ jobId, leaseId, fence }: LeaseRef): { job_id: string; lease_id: string; fence: bigint } {
  return { job_id: jobId, lease_id: leaseId, fence };
}

/** The members of an object of JSON. */
function holderJson({ jobId, leaseId, fence }: LeaseRef): string {
  checkText("job_id", jobId);
  checkText("lease_id", leaseId);
  // As text: a fence may exceed what a JSON number keeps.
  const fenceText = JSON.stringify(String(fence));
  return `"job_id":${JSON.stringify(jobId)},"lease_id":${JSON.stringify(leaseId)},"fence":${fenceText}`;
}

export function checkpointArguments(lease: LeaseRef, checkpoint: Checkpoint): Arguments {
  const { cursor, inProgress, ...rest } = checkpoint;
  let text: string;
  try {
    text = JSON.stringify(inProgress === undefined ? rest : { ...rest, in_progress: inProgress });
  } catch (error) {
    throw invalid(
      "checkpoint",
      error instanceof Error ? error.message : String(error),
      "what JSON can say",
      error,
    );
  }
  if (/\\u(?:0000|d[89a-f])/i.test(text)) {
    throw invalid(
      "checkpoint",
      "holds U+0000 or half of a surrogate pair",
      "well-formed Unicode without U+0000",
    );
  }
  return { ...holder(lease), checkpoint: new Json(text), cursor: cursor ?? undefined };
}

const maxFence = 2n ** 63n - 1n;

/** A success with nothing beside it, as most are: it travels lighter. What is wrong with another is said where it is read. */
function isPlain(ack: Ack): boolean {
  const { jobId, leaseId, fence, logs } = ack;
  return (
    ack.outcome === "success" &&
    ack.result === undefined &&
    ack.resultSchemaVersion === undefined &&
    ack.error === undefined &&
    ack.delayMs === undefined &&
    ack.actualWeight === undefined &&
    (logs === undefined || logs.length === 0) &&
    typeof jobId === "string" &&
    typeof leaseId === "string" &&
    typeof fence === "bigint" &&
    fence >= 0n &&
    fence <= maxFence
  );
}

function ackJson(ack: Ack): string {
  const { outcome, error, logs, result } = ack;
  checkText("outcome", outcome);
  let members = `${holderJson(ack)},"outcome":${JSON.stringify(outcome)}`;
  if (error !== undefined) members += `,"error":${JSON.stringify(visibleText(error, maxErrorCharacters))}`;
  if (logs !== undefined && logs.length > 0) members += `,"logs":${logsJson(logs)}`;
  members += wholeJson("delay_ms", ack.delayMs);
  members += wholeJson("actual_weight", ack.actualWeight);
  members += wholeJson("result_schema_version", ack.resultSchemaVersion);
  if (result !== undefined) {
    if (result.byteLength > maxResultBytes) {
      throw invalid("result", `is too long: ${result.byteLength} bytes`, `at most ${maxResultBytes} bytes`);
    }
    members += `,"result_base64":"${Buffer.from(result).toString("base64")}"`;
  }
  return `{${members}}`;
}

function wholeJson(name: string, value: number | undefined): string {
  if (value === undefined) return "";
  checkWhole(name, value);
  return `,"${name}":${value}`;
}

/** The last entries, none so long that it would be a burden to send. A log never makes an ack fail. */
function logsJson(logs: readonly unknown[]): string {
  const entries = logs.slice(-maxLogEntries).map((entry) => {
    if (typeof entry === "string") return JSON.stringify(visibleText(entry, maxLogCharacters));
    try {
      const text = visibleJson(entry);
      if (text.length <= maxLogCharacters) return text;
      return JSON.stringify(visibleText(text, maxLogCharacters));
    } catch (error) {
      return JSON.stringify(
        visibleText(`a log entry without a JSON form: ${String(error)}`, maxLogCharacters),
      );
    }
  });
  return `[${entries.join(",")}]`;
}
