export type OperationAction = "retry" | "cancel" | "promote" | "delete";

/** Something that is done to many jobs. */
export interface Operation {
  readonly id: string;
  readonly action: OperationAction | "delete_queue";
  /** As SQL has it: names in snake_case. */
  readonly selector: Readonly<Record<string, unknown>>;
  readonly status: "pending" | "running" | "completed" | "failed";
  readonly dryRun: boolean;
  /** How many jobs matched when it was created. */
  readonly estimated: number;
  /** There were more, or too many to look at. */
  readonly estimateCapped: boolean;
  readonly affected: number;
  /** Matched but could not be moved. */
  readonly skipped: number;
  /** Why, and how many each: `duplicate` where another job has the unique key. */
  readonly skippedFor: Readonly<Record<string, number>>;
  readonly error: string | null;
  readonly createdAtMs: number;
  readonly updatedAtMs: number;
  readonly finishedAtMs: number | null;
}
