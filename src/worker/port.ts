/** What the runtime needs of a store. */
export interface Holder {
  readonly jobId: string;
  readonly leaseId: string;
  readonly fence: bigint;
}
export interface Claim {
  readonly id: string;
  readonly kind: string;
  readonly queue: string;
  readonly partitionKey: string;
  readonly priority: number;
  readonly attempt: number;
  readonly crashAttempt: number;
  readonly maxAttempts: number;
  readonly payload: Buffer;
  readonly schemaVersion: number;
  readonly headers: Readonly<Record<string, string>> | null;
  readonly leaseId: string;
  readonly fence: bigint;
  readonly expiresAtMs: number;
  readonly checkpoint: Readonly<Record<string, unknown>> | null;
  readonly cursor: Buffer | null;
  readonly weight: number;
  readonly rateClasses: readonly string[] | null;
  readonly timeoutMs: number | null;
  readonly deadlineMs: number | null;
  readonly enqueuedAtMs: number;
  readonly scheduledAtMs: number;
}
export interface Ack extends Holder {
  readonly outcome: string;
  readonly error?: string;
  readonly delayMs?: number;
  readonly logs?: readonly string[];
  readonly actualWeight?: number;
  readonly result?: Buffer;
  readonly resultSchemaVersion?: number;
}
export interface AckResult {
  readonly rejected: boolean;
  readonly state: string | null;
}
export interface Admission {
  readonly claims: readonly Claim[];
  readonly nextDueMs: number | null;
}
export interface Transaction {
  commit(): Promise<void>;
  rollback(): Promise<void>;
}
export interface WorkerStore {
  checkpoint(holder: Holder, checkpoint: Readonly<Record<string, unknown>>, cursor: Buffer | null): Promise<void>;
  begin(): Promise<Transaction>;
  completeTx(tx: Transaction, holder: Holder, actualWeight?: number): Promise<void>;
  checkpointTx(
    tx: Transaction,
    holder: Holder,
    checkpoint: Readonly<Record<string, unknown>>,
    cursor: Buffer | null,
  ): Promise<void>;
  claimEffect(tx: Transaction, key: string): Promise<boolean>;
  writeJobProgress(holder: Holder, progress: { current: number; total: number; message: string }): Promise<unknown>;
  writeJobOutput(holder: Holder, output: { schemaVersion: number; bytes: Buffer }): Promise<unknown>;
  deferRateClass(name: string, ms: number): Promise<unknown>;
  renew(leases: readonly Holder[], leaseMs: number): Promise<readonly string[]>;
}
