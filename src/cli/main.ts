#!/usr/bin/env node
import { run } from "./run.js";

// `headrace … | head` closes the pipe early, and that is nobody's mistake.
process.stdout.on("error", (error: NodeJS.ErrnoException) => {
  if (error.code !== "EPIPE") throw error;
  process.exit(0);
});

const code = await run(process.argv.slice(2), {
  env: process.env,
  out: (text) => void process.stdout.write(text),
  err: (text) => void process.stderr.write(text),
});

// Once everything is written: a handler that heeds no signal would keep the process for as long as it likes.
process.stdout.write("", () => process.stderr.write("", () => process.exit(code)));
