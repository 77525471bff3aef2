import { Caller } from "./caller.js";
import { invalid, StoreError } from "./errors.js";

/** Versions of the schema whose functions this driver can call: the one that it was made with, and those to come. */
export const supportedSchema = { oldest: 1, newest: 99 } as const;

/** Whether the installed schema and this driver fit. Asking never changes anything. */
export abstract class VersionRoom extends Caller {
  /** The number of the newest migration that the schema has. */
  async schemaVersion(): Promise<number> {
    return this.value("schema_version");
  }

  /**
   * Answers with the installed version.
   *
   * @throws StoreError `not_found` where nothing is installed, `invalid` where the versions don't fit.
   */
  async checkSchema(): Promise<number> {
    const { oldest, newest } = supportedSchema;
    const needed = `this driver needs ${oldest}..${newest}`;
    let version: number;
    try {
      version = await this.schemaVersion();
    } catch (error) {
      if (!(error instanceof StoreError) || !["3F000", "42883"].includes(error.sqlstate ?? "")) throw error;
      throw new StoreError(
        "not_found",
        `schema ${this.schema} has no Headrace (version 0, ${needed}): run headrace migrate`,
        { fields: { what: "schema", id: this.schema }, sqlstate: error.sqlstate, cause: error },
      );
    }
    if (version < oldest) {
      throw invalid(
        "schema",
        `${this.schema} has version ${version}, ${needed}: run headrace migrate`,
        needed,
      );
    }
    if (version > newest) {
      throw invalid(
        "schema",
        `${this.schema} has version ${version}, ${needed}: a newer driver is needed`,
        needed,
      );
    }
    return version;
  }
}
