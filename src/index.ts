export * from "./migrate/index.js";
export * from "./store/index.js";
