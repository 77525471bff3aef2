import { AssertionError } from "node:assert";
import type { InputOf } from "../tasks/task.js";
import type { KindOf } from "../client/client.js";
import type { JobFilter, JobState, JobSummary, PgStore, Tx } from "../store/index.js";
import type { TaskRegistry } from "../tasks/registry.js";
import { jsonCodec } from "../tasks/codec.js";
import { difference, show, type Partially } from "./match.js";

/** A job as a test sees it: with its payload, as it was enqueued. */
export interface EnqueuedJob<Payload = unknown> extends Omit<JobSummary, "payload" | "cursor"> {
  readonly payload: Payload;
}

/** What a job must be like. Every field that is given must fit. */
export interface JobMatch<Payload = unknown> {
  readonly id?: string;
  readonly queue?: string;
  /** @defaultValue any in which the job is still to be done */
  readonly state?: JobState;
  readonly partitionKey?: string;
  readonly priority?: number;
  readonly rateClass?: string;
  /** The job must have all of these. */
  readonly tags?: readonly string[];
  readonly headers?: Readonly<Record<string, string>>;
  /** Any part of the payload: of objects some of the fields, of lists all entries. */
  readonly payload?: Partially<Payload>;
  /** For whatever else: times, weight, max attempts. */
  readonly where?: (job: EnqueuedJob<Payload>) => boolean;
}

/** A match that may name a kind, by the task map. */
export type KindMatch<Tasks, Kind extends KindOf<Tasks>> = JobMatch<InputOf<Tasks[Kind]>> & {
  readonly kind?: Kind;
};

export interface EnqueuedOptions {
  /** Looks in this transaction: a client of node-postgres, or what `store.begin()` gave. @defaultValue what is committed */
  readonly tx?: Tx;
}

/** Where to look. */
export interface Looking extends EnqueuedOptions {
  readonly store: PgStore;
  readonly registry: TaskRegistry;
}

const unfinished = new Set<JobState>(["pending", "scheduled", "available", "running", "retryable"]);
const fields = new Set(
  "kind id queue state partitionKey priority rateClass tags headers payload where".split(" "),
);
const shown = 10;
const hint = " (in a transaction that is open it is seen only with { tx })";

type AnyMatch = JobMatch & { readonly kind?: string };

/** The jobs that match, oldest first. */
export async function enqueued(looking: Looking, match: AnyMatch): Promise<EnqueuedJob[]> {
  checkMatch(match);
  const jobs = await readJobs(looking, filterOf(match), match.state);
  return jobs.filter((job) => mismatch(job, match) === undefined);
}

/** Answers with the newest job that matches. @throws AssertionError where there is none. */
export async function assertEnqueued(looking: Looking, match: AnyMatch): Promise<EnqueuedJob> {
  const found = (await enqueued(looking, match)).at(-1);
  if (found) return found;
  const others = await readJobs(looking, {}, match.state);
  // What comes closest first: jobs of the kind that was asked for.
  const near = others
    .toSorted((a, b) => Number(b.kind === match.kind) - Number(a.kind === match.kind))
    .slice(0, shown);
  const lines = near.map(
    (job) => `  ${describe(job)}\n    ${mismatch(job, match) ?? "has changed meanwhile"}`,
  );
  const rest = others.length > near.length ? [`  and ${others.length - near.length} more`] : [];
  const what = match.state === undefined ? "is to be done" : `is ${match.state}`;
  throw new AssertionError({
    message: [
      `no job matches ${showMatch(match)}`,
      others.length === 0
        ? `no job at all ${what}${looking.tx ? "" : hint}`
        : others.length === 1
          ? "1 other:"
          : `${others.length} others:`,
      ...lines,
      ...rest,
    ].join("\n"),
    actual: near.map(summary),
    expected: match,
    operator: "assertEnqueued",
  });
}

/** @throws AssertionError where a job matches. */
export async function refuteEnqueued(looking: Looking, match: AnyMatch): Promise<void> {
  const found = await enqueued(looking, match);
  if (found.length === 0) return;
  const lines = found.slice(0, shown).map((job) => `  ${describe(job)}`);
  throw new AssertionError({
    message: [`expected no job to match ${showMatch(match)}, but ${found.length} do:`, ...lines].join("\n"),
    actual: found.slice(0, shown).map(summary),
    expected: [],
    operator: "refuteEnqueued",
  });
}

function checkMatch(match: AnyMatch): void {
  if (typeof match !== "object" || match === null) {
    throw new TypeError(`a match is an object such as { kind: "email" }, not ${show(match)}`);
  }
  const unknown = Object.keys(match).filter((field) => !fields.has(field));
  if (unknown.length > 0) {
    throw new TypeError(`a match has no field ${unknown.join(", ")}; there are ${[...fields].join(", ")}`);
  }
}

/** What the store can look for; the rest is compared here. */
function filterOf({ kind, id, queue, state, partitionKey, priority, rateClass, tags }: AnyMatch): JobFilter {
  const tagsAll = tags && tags.length > 0 ? tags : undefined;
  return { kind, id, queue, state, partitionKey, priority, rateClass, tagsAll };
}

function mismatch(job: EnqueuedJob, match: AnyMatch): string | undefined {
  for (const field of ["kind", "id", "queue", "state", "partitionKey", "priority"] as const) {
    if (match[field] !== undefined && job[field] !== match[field]) {
      return `${field} is ${show(job[field])}, not ${show(match[field])}`;
    }
  }
  if (match.rateClass !== undefined && !job.rateClasses?.includes(match.rateClass)) {
    return `rate classes are ${show(job.rateClasses ?? [])}, without ${show(match.rateClass)}`;
  }
  const missing = match.tags?.filter((tag) => !job.tags?.includes(tag)) ?? [];
  if (missing.length > 0) return `tags are ${show(job.tags ?? [])}, without ${show(missing)}`;
  if (match.headers) {
    const found = difference("headers", job.headers ?? {}, match.headers);
    if (found) return found;
  }
  if (match.payload !== undefined) {
    const found = difference("payload", job.payload, match.payload);
    if (found) return found;
  }
  return match.where && !match.where(job) ? "where() says no" : undefined;
}

async function readJobs(
  { store, registry, tx }: Looking,
  filter: JobFilter,
  state: JobState | undefined,
): Promise<EnqueuedJob[]> {
  const jobs: EnqueuedJob[] = [];
  let cursor: string | null = null;
  do {
    const page = await store.listJobs(filter, cursor, 200, tx);
    for (const { id } of page.jobs.filter((job) => state !== undefined || unfinished.has(job.state))) {
      const job = await store.getJob(id, true, tx);
      if (job) jobs.push(withPayload(job, registry));
    }
    cursor = page.nextCursor;
  } while (cursor !== null);
  return jobs.reverse();
}

function withPayload({ cursor: _cursor, ...job }: JobSummary, registry: TaskRegistry): EnqueuedJob {
  const bytes = job.payload ?? Buffer.alloc(0);
  try {
    return { ...job, payload: (registry.find(job.kind)?.codec ?? jsonCodec).decode(bytes) };
  } catch {
    return { ...job, payload: bytes };
  }
}

const describe = (job: EnqueuedJob): string =>
  `${job.id} ${job.kind}, ${job.state} in ${job.queue}, payload ${show(job.payload)}`;

const summary = ({ id, kind, queue, state, payload }: EnqueuedJob): object => ({
  id,
  kind,
  queue,
  state,
  payload,
});

function showMatch(match: AnyMatch): string {
  const given = Object.entries(match).filter(([, value]) => value !== undefined);
  const parts = given.map(([key, value]) => `${key}: ${typeof value === "function" ? "…" : show(value)}`);
  return parts.length === 0 ? "{}" : `{ ${parts.join(", ")} }`;
}
