import type { Attempt } from "./attempt.js";
import { jobFields } from "./events.js";
import { withFields, type LogFields, type Logger } from "./logger.js";

/** A logger for one attempt: each line goes to `logger`, with the fields of the job, and into the attempt's history. */
export function historyLogger(attempt: Attempt, logger: Logger): Logger {
  const bound = withFields(logger, jobFields(attempt.job));
  const at =
    (level: "debug" | "info" | "warn" | "error") =>
    (message: string, fields?: LogFields): void => {
      attempt.log(`${level}: ${message}${fields ? ` ${safeJson(fields)}` : ""}`);
      bound[level](message, fields);
    };
  return { debug: at("debug"), info: at("info"), warn: at("warn"), error: at("error") };
}

function safeJson(fields: LogFields): string {
  try {
    return JSON.stringify(fields, (_key, value: unknown) =>
      typeof value === "bigint" ? value.toString() : value,
    );
  } catch {
    return "(fields without a JSON form)";
  }
}
