/** How one file of tests went. */
export interface FileResult {
  readonly file: string;
  readonly passed: number;
  readonly failed: number;
  readonly milliseconds: number;
  /** What to show of it when something failed. */
  readonly output: string;
}
