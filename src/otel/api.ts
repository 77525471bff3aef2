import { createRequire } from "node:module";
import type * as Otel from "@opentelemetry/api";

export type Api = typeof Otel;

/** OpenTelemetry's API where the application has it: it is an optional peer, and all that this package needs of it. */
export const api: Api | undefined = find();

function find(): Api | undefined {
  try {
    return createRequire(import.meta.url)("@opentelemetry/api") as Api;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "MODULE_NOT_FOUND") return undefined;
    throw error;
  }
}
