/**
 * Commits the migration that is being written, or commits the last one again from the present files.
 *
 *   npm run db:recommit [-- --message <name>]
 *
 * graphile-migrate does the work, in a copy of sql/migrations on a server of its own, and the result comes back only
 * when all of it succeeded: a mistake in a function file leaves the tree as it was. In the middle of a merge it first
 * merges what was written by hand in the conflicting versions.
 */
import { parseArgs } from "node:util";
import { authoring } from "./lib/authoring.js";
import { exclusively } from "./lib/exclusively.js";
import { mergeCommitted } from "./lib/merge.js";
import { readSource } from "./lib/source.js";

const { values } = parseArgs({ options: { message: { type: "string", short: "m" } } });

await exclusively("authoring", async () => {
  const undecided = await mergeCommitted();
  if (undecided.length > 0)
    throw new Error(`resolve what is left in ${undecided.join(", ")}, then run this again`);
  const { unused, stale, edited, uncommitted } = await readSource();
  if (unused.length > 0) throw new Error(`no migration includes ${unused.join(", ")}`);
  if (!uncommitted && !edited && stale.length === 0) {
    console.log("the committed migrations are up to date");
    return;
  }
  await authoring(async ({ commit, uncommit }) => {
    if (!uncommitted) await uncommit();
    await commit(values.message);
  });
});
