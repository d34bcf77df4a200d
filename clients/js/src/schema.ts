/** A schema of Zod, Valibot, ArkType or whoever else keeps to Standard Schema. */
export interface StandardSchema<Input = unknown, Output = Input> {
  readonly "~standard": {
    readonly version: number;
    readonly vendor: string;
    readonly validate: (value: unknown) => StandardResult<Output> | Promise<StandardResult<Output>>;
    readonly types?: { readonly input: Input; readonly output: Output } | undefined;
    readonly jsonSchema?: { readonly input: (options: { target: string }) => Record<string, unknown> } | undefined;
  };
}

type StandardResult<Output> =
  | { readonly value: Output; readonly issues?: undefined }
  | { readonly issues: readonly { readonly message: string; readonly path?: readonly unknown[] | undefined }[] };

/** A JSON Schema, as an object. */
export type JsonSchema = { readonly [keyword: string]: unknown };

/** What describes a value: a Standard Schema, or a plain JSON Schema. */
export type Schema = StandardSchema | JsonSchema;

/** The type of values that a schema describes. */
export type Described<S> = S extends { readonly "~standard": { readonly types?: infer T } }
  ? NonNullable<T> extends { readonly output: infer Output }
    ? Output
    : unknown
  : unknown;

const isStandard = (schema: Schema): schema is StandardSchema => "~standard" in schema;

/** Return a schema as a JSON Schema. Throws TypeError if it cannot say itself as one. */
export function jsonSchema(schema: Schema): JsonSchema {
  if (!isStandard(schema)) return schema;
  const { jsonSchema: standard, vendor } = schema["~standard"];
  const own = schema as { toJSONSchema?: () => JsonSchema; toJsonSchema?: () => JsonSchema };
  const made = standard?.input({ target: "draft-2020-12" }) ?? own.toJSONSchema?.() ?? own.toJsonSchema?.();
  if (made) return made;
  throw new TypeError(`a schema of ${vendor} does not say itself as JSON Schema: give that as jsonSchema`);
}

/** Return a value as its schema reads it, and what is wrong with it. A plain JSON Schema was checked by the agent. */
export async function validated(schema: Schema | undefined, value: unknown): Promise<[value: unknown, problem?: string]> {
  if (!schema || !isStandard(schema)) return [value];
  const result = await schema["~standard"].validate(value);
  if (!result.issues) return [result.value];
  const issues = result.issues.map(({ message, path = [] }) => {
    const at = path.map((part) => String((part as { key?: unknown } | null)?.key ?? part)).join(".");
    return at ? `${at}: ${message}` : message;
  });
  return [undefined, issues.join("; ")];
}
