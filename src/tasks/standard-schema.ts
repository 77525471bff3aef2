/**
 * The part of the Standard Schema interface (standardschema.dev) that Headrace uses; Zod, Valibot, ArkType and others
 * bring it.
 */
export interface StandardSchema<Input = unknown, Output = Input> {
  readonly "~standard": {
    readonly version: 1;
    readonly vendor: string;
    readonly validate: (value: unknown) => SchemaResult<Output> | Promise<SchemaResult<Output>>;
    readonly types?: { readonly input: Input; readonly output: Output } | undefined;
  };
}

export type SchemaResult<Output> =
  { readonly value: Output; readonly issues?: undefined } | { readonly issues: readonly SchemaIssue[] };

export interface SchemaIssue {
  readonly message: string;
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined;
}

/** A value that its schema refuses. */
export class ValidationError extends Error {
  override readonly name = "ValidationError";
  readonly issues: readonly SchemaIssue[];

  constructor(kind: string, issues: readonly SchemaIssue[]) {
    super(`the payload of ${kind} is invalid: ${issues.slice(0, 5).map(describeIssue).join("; ")}`);
    this.issues = issues;
  }
}

function describeIssue({ path = [], message }: SchemaIssue): string {
  const at = path.map((part) => String(typeof part === "object" ? part.key : part)).join(".");
  return at ? `${at}: ${message}` : message;
}

/** The value as the schema reads it. @throws ValidationError */
export async function validated<Output>(
  kind: string,
  schema: StandardSchema<unknown, Output>,
  value: unknown,
): Promise<Output> {
  const result = await schema["~standard"].validate(value);
  if (result.issues) throw new ValidationError(kind, result.issues);
  return result.value;
}
