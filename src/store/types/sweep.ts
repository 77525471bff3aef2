export interface Reclaimed {
  readonly id: string;
  readonly crashAttempt: number;
  /** It has crashed once too often. */
  readonly quarantined: boolean;
}

export interface DutyRun {
  readonly duty: string;
  /** How many rows it handled. */
  readonly did: number;
  /** Why it failed; the others ran all the same, and it is tried again later. */
  readonly error: string | null;
}

export interface DutyOptions {
  /** @defaultValue all */
  readonly duties?: readonly string[];
  /** Of each duty. @defaultValue 1000 */
  readonly maxRows?: number;
  /** @defaultValue 10000 */
  readonly leaseMs?: number;
}
