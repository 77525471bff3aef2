import js from "@eslint/js";
import tseslint from "typescript-eslint";

// TypeScript knows these by itself.
const nodeGlobals = Object.fromEntries(
  [
    "process",
    "console",
    "Buffer",
    "URL",
    "setTimeout",
    "clearTimeout",
    "setInterval",
    "clearInterval",
    "performance",
  ].map((name) => [name, "readonly"]),
);

export default tseslint.config(
  { ignores: ["dist/", ".cache/", "node_modules/"] },
  js.configs.recommended,
  ...tseslint.configs.recommendedTypeChecked,
  {
    languageOptions: {
      parserOptions: { projectService: { allowDefaultProject: ["eslint.config.js"] } },
    },
    rules: {
      // A forgotten await in a queue loses work silently.
      "@typescript-eslint/no-floating-promises": "error",
      "@typescript-eslint/consistent-type-imports": "error",
      "@typescript-eslint/no-unused-vars": ["error", { argsIgnorePattern: "^_", varsIgnorePattern: "^_" }],
      eqeqeq: ["error", "always", { null: "ignore" }],
      "no-console": "error",
    },
  },
  {
    // These talk to a person.
    files: [
      "src/cli/**",
      "scripts/**",
      "bench/**",
      "examples/**",
      "test/run.ts",
      "test/runner/**",
      "test/soak/main.ts",
    ],
    rules: { "no-console": "off" },
  },
  {
    // uvu's test() returns nothing, its handlers may be async; rows from the database are untyped here.
    files: ["test/**", "bench/**", "scripts/**", "examples/**"],
    rules: {
      "@typescript-eslint/no-unsafe-assignment": "off",
      "@typescript-eslint/no-unsafe-member-access": "off",
      "@typescript-eslint/no-unsafe-argument": "off",
      "@typescript-eslint/no-unsafe-return": "off",
      "@typescript-eslint/no-unsafe-call": "off",
      "@typescript-eslint/require-await": "off",
      "@typescript-eslint/unbound-method": "off",
    },
  },
  {
    files: ["**/*.js", "**/*.mjs"],
    extends: [tseslint.configs.disableTypeChecked],
    languageOptions: { globals: nodeGlobals },
  },
);
