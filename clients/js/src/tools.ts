import { jsonSchema, validated, type Described, type JsonSchema, type Schema } from "./schema.js";

/** A text or an image for the model. */
export type ToolContent = { type: "text"; text: string } | { type: "image"; data: string; mimeType: string };

/** What a tool came to: a text, blocks, or either with more about it. */
export type ToolResult =
  | string
  | ToolContent[]
  | { content: string | ToolContent[]; isError?: boolean; details?: Record<string, unknown> };

/** What a tool is told about its call. */
export interface ToolCall {
  /** The id of the model's call. */
  id: string;
  /** Aborted when nobody wants the result any more. */
  signal: AbortSignal;
  /** Show what the tool has printed since. */
  progress(text: string): void;
}

/** A tool that your program runs for the model. */
export interface Tool {
  name: string;
  description: string;
  /** What it takes: a schema of Zod or another Standard Schema, or a JSON Schema. */
  parameters: Schema;
  /** The JSON Schema, where a Standard Schema cannot say itself as one. */
  jsonSchema?: JsonSchema;
  run(args: any, call: ToolCall): ToolResult | Promise<ToolResult>;
}

/** Return a tool as it is, with the type of its arguments taken from its schema. */
export function tool<S extends Schema>(
  tool: Omit<Tool, "parameters" | "run"> & {
    parameters: S;
    run(args: S extends { "~standard": unknown } ? Described<S> : Record<string, any>, call: ToolCall): ToolResult | Promise<ToolResult>;
  },
): Tool {
  return tool;
}

/** Return a tool as it is declared to the agent. */
export function declared({ name, description, parameters, jsonSchema: given }: Tool): Record<string, unknown> {
  return { name, description, parameters: given ?? jsonSchema(parameters) };
}

/** Run a tool; return the fields of its answer. Whatever it throws is for the model to read. */
export async function carriedOut(tool: Tool, args: unknown, call: ToolCall): Promise<Record<string, unknown>> {
  try {
    const [value, problem] = await validated(tool.parameters, args);
    if (problem) return { content: `these arguments do not fit: ${problem}`, isError: true };
    const result = await tool.run(value, call);
    return { isError: false, ...(typeof result === "object" && "content" in result ? result : { content: result }) };
  } catch (error) {
    return { content: error instanceof Error ? error.message : String(error), isError: true };
  }
}
