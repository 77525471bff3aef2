/** Takes the last migration back into current.sql, to be edited and committed again. Only before it is released. */
import { authoring } from "./lib/authoring.js";
import { exclusively } from "./lib/exclusively.js";

await exclusively("authoring", () => authoring(({ uncommit }) => uncommit()));
