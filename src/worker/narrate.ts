import { describeError } from "./describe-error.js";
import { jobFields, type WorkerEmitter } from "./events.js";
import type { Logger } from "./logger.js";

/** Logs what people want to know of a worker: one line an event, with the fields of its job. */
export function narrate(events: WorkerEmitter, logger: Logger): void {
  events.on("store:available", ({ available, error }) => {
    if (available) logger.info("the store can be reached again");
    else logger.warn("the store can't be reached", { error: describeError(error) });
  });
  events.on("worker:command", ({ command }) => logger.info("a command came", { command }));
  events.on("worker:unhandled", ({ kinds }) =>
    logger.warn("jobs wait that no task of this worker handles; they are put off for other workers", {
      kinds,
    }),
  );
  events.on("job:settled", ({ job, outcome, state, error, durationMs }) => {
    const dead = state === "archived" || state === "undecodable";
    if (!dead && outcome !== "retry") return;
    const about = { ...jobFields(job), outcome, state, durationMs: Math.round(durationMs), error };
    if (dead) logger.warn("a job will not run again", about);
    else logger.info("an attempt failed", about);
  });
  events.on("job:lost", ({ job, error }) => {
    if (error === undefined)
      logger.warn("a lease is lost; what the handler still does does not count", jobFields(job));
    else logger.warn("an end could not be told before the lease ran out", { ...jobFields(job), error });
  });
  events.on("job:uncertain", ({ job }) =>
    logger.info("the answer to an end was lost; it may have counted", jobFields(job)),
  );
  events.on("job:stuck", ({ job, runningMs, reason }) =>
    logger.warn("a handler does not stop", { ...jobFields(job), runningMs, reason }),
  );
  events.on("duty:failed", ({ duty, error }) =>
    logger.warn("a duty failed and will be tried again", { duty, error }),
  );
}
