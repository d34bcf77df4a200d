// In place of typebox: builders of JSON schemas. What an extension makes with them is plain JSON.
const optional = Symbol("optional");

const made = (schema, options) => ({ ...schema, ...(options ?? {}) });

function object(properties = {}, options) {
  const required = Object.keys(properties).filter((name) => !properties[name]?.[optional]);
  const plain = Object.fromEntries(Object.entries(properties).map(([name, each]) => [name, each]));
  return made({ type: "object", ...(required.length ? { required } : {}), properties: plain }, options);
}

/** Mark a schema without a trace in its JSON. */
function marked(schema) {
  const copy = { ...schema };
  Object.defineProperty(copy, optional, { value: true, enumerable: false });
  return copy;
}

function without(schema) {
  return { ...schema };
}

function picked(schema, keep, options) {
  const kept = Object.fromEntries(Object.entries(schema.properties ?? {}).filter(([name]) => keep(name)));
  return object(kept, options);
}

function names(keys) {
  if (Array.isArray(keys)) return keys;
  return keys?.enum ?? keys?.anyOf?.map((each) => each.const) ?? [keys?.const];
}

export const Type = Object.freeze({
  Any: (options) => made({}, options),
  Unknown: (options) => made({}, options),
  String: (options) => made({ type: "string" }, options),
  Number: (options) => made({ type: "number" }, options),
  Integer: (options) => made({ type: "integer" }, options),
  Boolean: (options) => made({ type: "boolean" }, options),
  Null: (options) => made({ type: "null" }, options),
  Literal: (value, options) => made({ const: value, type: value === null ? "null" : typeof value }, options),
  Array: (items, options) => made({ type: "array", items }, options),
  Tuple: (items, options) =>
    made({ type: "array", items, additionalItems: false, minItems: items.length, maxItems: items.length }, options),
  Object: object,
  Record: (key, value, options) =>
    made({ type: "object", patternProperties: { "^.*$": value }, additionalProperties: value }, options),
  Union: (choices, options) => made({ anyOf: choices }, options),
  Intersect: (parts, options) => made({ allOf: parts }, options),
  Enum: (values, options) =>
    made({ anyOf: Object.values(values).map((value) => ({ const: value, type: typeof value })) }, options),
  Optional: (schema) => marked(schema),
  Required: (schema) => object(Object.fromEntries(Object.entries(schema.properties).map(([n, s]) => [n, without(s)]))),
  Partial: (schema, options) =>
    object(Object.fromEntries(Object.entries(schema.properties).map(([n, s]) => [n, marked(s)])), options),
  Pick: (schema, keys, options) => picked(schema, (name) => names(keys).includes(name), options),
  Omit: (schema, keys, options) => picked(schema, (name) => !names(keys).includes(name), options),
  Composite: (parts, options) => object(Object.assign({}, ...parts.map((part) => part.properties)), options),
  Readonly: (schema) => schema,
  Unsafe: (schema = {}) => ({ ...schema }),
  Ref: (name, options) => made({ $ref: typeof name === "string" ? name : name.$id }, options),
  Never: (options) => made({ not: {} }, options),
});

export default Type;
