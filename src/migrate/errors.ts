/** A migration that can't be applied: a broken chain of files, or a schema that disagrees with them. */
export class MigrationError extends Error {
  /** Each disagreement, in a sentence. */
  readonly differences: readonly string[];

  constructor(message: string, options: { differences?: readonly string[]; cause?: unknown } = {}) {
    const differences = options.differences ?? [];
    const list = differences.map((difference) => `\n  - ${difference}`).join("");
    super(message + list, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = "MigrationError";
    this.differences = differences;
  }
}
