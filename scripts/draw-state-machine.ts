/** Draws the table `transition` into docs/state-machine.md. */
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { root, sourceText } from "./lib/source.js";
import { redraw, transitionsIn } from "./lib/transitions.js";

const page = join(root, "docs", "state-machine.md");
await writeFile(page, redraw(await readFile(page, "utf8"), transitionsIn(await sourceText())));
