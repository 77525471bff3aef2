/** What goes into the store and comes out of it, by room. */
export type * from "./types/archive.js";
export type * from "./types/claim.js";
export type * from "./types/inspect.js";
export type * from "./types/job.js";
export type * from "./types/operation.js";
export type * from "./types/policy.js";
export type * from "./types/schedule.js";
export type * from "./types/settle.js";
export type * from "./types/statistics.js";
export type * from "./types/sweep.js";
export type * from "./types/worker.js";
