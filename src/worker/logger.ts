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
      write(JSON.stringify({ time: new Date().toISOString(), level: name, message, ...fields }, plain));
    };
  return { debug: at("debug"), info: at("info"), warn: at("warn"), error: at("error") };
}

function plain(_key: string, value: unknown): unknown {
  if (typeof value === "bigint") return value.toString();
  if (value instanceof Error) return { name: value.name, message: value.message };
  return value;
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
