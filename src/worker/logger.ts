/** Where a worker or client logs to. pino, winston and console wrapped in three lines fit. */
export interface Logger {
  debug(message: string, fields?: LogFields): void;
  info(message: string, fields?: LogFields): void;
  warn(message: string, fields?: LogFields): void;
  error(message: string, fields?: LogFields): void;
}

export type LogFields = Readonly<Record<string, unknown>>;
export type LogLevel = "debug" | "info" | "warn" | "error" | "silent";

const levels: readonly LogLevel[] = ["debug", "info", "warn", "error", "silent"];

/**
 * One line of JSON an entry.
 *
 * @param level what is below it is dropped. @defaultValue "warn"
 * @param write where the line goes, without line feed. @defaultValue stderr
 */
export function jsonLogger(
  level: LogLevel = "warn",
  write: (line: string) => void = (line) => void process.stderr.write(`${line}\n`),
): Logger {
  const at =
    (name: Exclude<LogLevel, "silent">) =>
    (message: string, fields?: LogFields): void => {
      if (levels.indexOf(name) < levels.indexOf(level)) return;
      const head = { time: new Date().toISOString(), level: name, message };
      write(line({ ...head, ...fields, ...head }));
    };
  return { debug: at("debug"), info: at("info"), warn: at("warn"), error: at("error") };
}

/** A field without a JSON form (a circle, a getter that throws) must not cost the line. */
function line(fields: LogFields): string {
  try {
    return JSON.stringify(fields, plain);
  } catch {
    const kept = Object.entries(fields).map(([name, value]) => {
      try {
        return [name, JSON.parse(JSON.stringify(value, plain) ?? "null")] as const;
      } catch {
        return [name, "(no JSON form)"] as const;
      }
    });
    return JSON.stringify(Object.fromEntries(kept));
  }
}

function plain(_key: string, value: unknown): unknown {
  if (typeof value === "bigint") return value.toString();
  if (value instanceof Error) return { name: value.name, message: value.message };
  return value;
}

/** A logger whose every line has these fields; no call overrides them. */
export function withFields(logger: Logger, own: LogFields): Logger {
  const at =
    (name: "debug" | "info" | "warn" | "error") =>
    (message: string, fields?: LogFields): void =>
      logger[name](message, { ...own, ...fields, ...own });
  return { debug: at("debug"), info: at("info"), warn: at("warn"), error: at("error") };
}

/** A logger that can't break its caller. */
export function guarded(logger: Logger): Logger {
  const at =
    (name: "debug" | "info" | "warn" | "error") =>
    (message: string, fields?: LogFields): void => {
      try {
        logger[name](message, fields);
      } catch {
        // There is nobody left to tell.
      }
    };
  return { debug: at("debug"), info: at("info"), warn: at("warn"), error: at("error") };
}
