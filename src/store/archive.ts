import { Deadline } from "./deadline.js";
import { StoreCore } from "./core.js";
import { toStoreError } from "./errors.js";
import type { ArchivedJob, ArchivePage, ArchiveFilter } from "./types.js";

/** Jobs that were evicted, and what keeps tables and indexes small. */
export abstract class ArchiveRoom extends StoreCore {
  /** A page of the archive, the last evicted first, 1..200; no payloads. */
  async listArchive(
    filter: ArchiveFilter = {},
    cursor: string | null = null,
    maxRows = 50,
  ): Promise<ArchivePage> {
    const jobs = await this.call<ArchivedJob & { queueName: string; nextCursor: string }>("list_archive", {
      queue: filter.queue,
      month: filter.month,
      cursor,
      max_rows: maxRows,
    });
    return {
      jobs: jobs.map(({ queueName, nextCursor: _, ...job }) => ({ ...job, queue: queueName })),
      nextCursor: jobs.length === maxRows ? (jobs.at(-1)?.nextCursor ?? null) : null,
    };
  }

  /** The jobs in the archive that had this id, the last evicted first, with their payloads. */
  async getArchivedJob(id: string): Promise<
    (Pick<ArchivedJob, "kind" | "queue" | "state" | "attempts" | "finalizedAtMs" | "evictedAtMs"> & {
      readonly jobId: string;
      readonly schemaVersion: number;
      readonly payload: Buffer;
      readonly headers: Readonly<Record<string, string>> | null;
    })[]
  > {
    return this.call("get_archived_job", { id });
  }

  /**
   * Empties the archive of a month that is over (YYYY-MM, UTC) and answers how many jobs that were.
   *
   * @throws StoreError `invalid` while a job in it is to be kept; retryable while somebody reads that month.
   */
  async pruneArchiveMonth(month: string): Promise<number> {
    return Number(await this.value("prune_archive_month", { month }));
  }

  /** Makes the archive's partitions for this month and the next two; a duty does it too. */
  async makeArchiveMonths(): Promise<number> {
    return Number(await this.value("make_archive_months"));
  }

  /**
   * Builds an index anew while everything goes on, after it has removed what a cancelled run left. Needs the owner of
   * the install; may take minutes.
   *
   * @param options.timeoutMs of each statement. @defaultValue one hour
   * @throws StoreError `invalid` for a name that indexHealth does not show.
   */
  async reindexConcurrently(name: string, options: { readonly timeoutMs?: number } = {}): Promise<void> {
    const timeoutMs = options.timeoutMs ?? 3_600_000;
    for (const statement of await this.values<string>("reindexable", { name })) {
      const loan = await this.lend(new Deadline(this.callTimeoutMs));
      try {
        // In a transaction it would be refused, and a connection that gave up has to be closed.
        await new Deadline(timeoutMs).race(loan.client.query(statement), "answer");
        loan.end(true);
      } catch (error) {
        loan.end(false);
        throw toStoreError(error);
      }
    }
  }
}
