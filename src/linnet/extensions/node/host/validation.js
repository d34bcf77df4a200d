// Checks the arguments of a tool against its JSON schema; what only has the wrong type is converted, as pi does.

/** Return the arguments, converted where that makes them fit. Throws an Error that tells the model what is wrong. */
export function validated(tool, schema, args) {
  const problems = [];
  const fitting = fit(schema ?? {}, args, "", problems);
  if (!problems.length) return fitting;
  const lines = problems.map(([path, why]) => `  - ${path || "root"}: ${why}`).join("\n");
  const given = JSON.stringify(args, null, 2);
  throw new Error(`Validation failed for tool "${tool}":\n${lines}\n\nReceived arguments:\n${given}`);
}

function fit(schema, value, path, problems) {
  if (typeof schema !== "object" || schema === null) return value;
  const choices = schema.anyOf ?? schema.oneOf;
  if (choices) return fitOne(choices, value, path, problems);
  if ("const" in schema) {
    if (value !== schema.const) problems.push([path, `must be equal to ${JSON.stringify(schema.const)}`]);
    return value;
  }
  const type = Array.isArray(schema.type) ? undefined : schema.type;
  const converted = convert(type, value);
  if (type && !isA(type, converted)) {
    problems.push([path, `must be ${type}`]);
    return value;
  }
  if (Array.isArray(schema.type) && !schema.type.some((each) => isA(each, value))) {
    problems.push([path, `must be ${schema.type.join(" or ")}`]);
  }
  if (schema.enum && !schema.enum.includes(converted)) {
    problems.push([path, `must be one of ${schema.enum.map((each) => JSON.stringify(each)).join(", ")}`]);
  }
  measure(schema, converted, path, problems);
  if (isA("array", converted) && schema.items) {
    return converted.map((each, at) => fit(schema.items, each, `${path}[${at}]`, problems));
  }
  return isA("object", converted) ? fitObject(schema, converted, path, problems) : converted;
}

function fitOne(choices, value, path, problems) {
  for (const choice of choices) {
    const found = [];
    const fitting = fit(choice, value, path, found);
    if (!found.length) return fitting;
  }
  problems.push([path, "must match one of the allowed forms"]);
  return value;
}

function fitObject(schema, value, path, problems) {
  const at = (name) => (path ? `${path}.${name}` : name);
  const properties = schema.properties ?? {};
  for (const name of schema.required ?? []) {
    if (value[name] === undefined) problems.push([at(name), "missing"]);
  }
  const out = {};
  for (const [name, each] of Object.entries(value)) {
    if (name in properties) {
      if (each !== undefined) out[name] = fit(properties[name], each, at(name), problems);
    } else if (schema.additionalProperties === false) {
      problems.push([at(name), "must NOT have additional properties"]);
    } else if (typeof schema.additionalProperties === "object") {
      out[name] = fit(schema.additionalProperties, each, at(name), problems);
    } else {
      out[name] = each;
    }
  }
  return out;
}

function measure(schema, value, path, problems) {
  const limits = [
    ["minimum", (most) => typeof value === "number" && value < most, "must be >= "],
    ["maximum", (most) => typeof value === "number" && value > most, "must be <= "],
    ["minLength", (most) => typeof value === "string" && value.length < most, "must not have fewer characters than "],
    ["maxLength", (most) => typeof value === "string" && value.length > most, "must not have more characters than "],
    ["minItems", (most) => Array.isArray(value) && value.length < most, "must not have fewer items than "],
    ["maxItems", (most) => Array.isArray(value) && value.length > most, "must not have more items than "],
  ];
  for (const [name, broken, words] of limits) {
    if (typeof schema[name] === "number" && broken(schema[name])) problems.push([path, words + schema[name]]);
  }
  if (typeof schema.pattern === "string" && typeof value === "string" && !new RegExp(schema.pattern).test(value)) {
    problems.push([path, `must match pattern ${schema.pattern}`]);
  }
}

function convert(type, value) {
  if (type === "string" && ["number", "boolean"].includes(typeof value)) return String(value);
  if (["number", "integer"].includes(type) && typeof value === "string" && value.trim()) {
    const number = Number(value);
    return Number.isNaN(number) ? value : number;
  }
  if (type === "boolean" && (value === "true" || value === "false")) return value === "true";
  return value;
}

function isA(type, value) {
  switch (type) {
    case "object":
      return typeof value === "object" && value !== null && !Array.isArray(value);
    case "array":
      return Array.isArray(value);
    case "integer":
      return Number.isInteger(value);
    case "null":
      return value === null;
    default:
      return typeof value === type;
  }
}
