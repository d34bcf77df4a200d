// How an extension is imported: types are stripped, and the modules that pi provides are found, or stand-ins for them.
import { existsSync, readFileSync, realpathSync, statSync } from "node:fs";
import { createRequire, registerHooks, stripTypeScriptTypes } from "node:module";
import { delimiter, dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

const require = createRequire(import.meta.url);
const SCOPES = /^@(?:earendil-works|mariozechner)\/(pi-coding-agent|pi-tui|pi-ai|pi-agent-core)(\/.+)?$/;
const STAND_INS = {
  "pi-coding-agent": "coding-agent.js",
  "pi-tui": "tui.js",
  "pi-ai": "ai.js",
  "pi-ai/compat": "ai.js",
  "pi-agent-core": "agent-core.js",
  typebox: "typebox.js",
  "@sinclair/typebox": "typebox.js",
};
const TYPESCRIPT = /\.[cm]?ts$/;
const wanted = new Map(); // The names that each file imports from each module.

/** Import the file of an extension, and return its factory. Throws an Error in words for people. */
export async function factoryOf(path) {
  let found;
  try {
    found = await import(pathToFileURL(path).href);
  } catch (fault) {
    throw new Error(explained(fault));
  }
  const factory = [found.default?.default, found.default, found["module.exports"]].find((it) => typeof it === "function");
  return factory;
}

registerHooks({ resolve, load });

function resolve(specifier, context, next) {
  const standIn = standInFor(specifier);
  if (standIn) return resolvePi(specifier, standIn, context, next);
  try {
    return next(specifier, context);
  } catch (fault) {
    const path = besides(specifier, context.parentURL);
    if (!path) throw fault;
    return { url: pathToFileURL(path).href, shortCircuit: true };
  }
}

/** Return the file of the stand-in; "" for a part of pi that has none; undefined for any other module. */
function standInFor(specifier) {
  const match = SCOPES.exec(specifier);
  const file = STAND_INS[match ? match[1] + (match[2] ?? "") : specifier];
  return file ? fileURLToPath(new URL(`./standins/${file}`, import.meta.url)) : match ? "" : undefined;
}

/** A stand-in that has all that is imported is used; or else an installed pi, if there is one. */
function resolvePi(specifier, standIn, context, next) {
  const names = wanted.get(context.parentURL)?.get(specifier) ?? [];
  const suffices = standIn && [...names].every((name) => name in require(standIn));
  if (!suffices) {
    for (const place of [context.parentURL, ...installed()]) {
      try {
        return next(specifier, { ...context, parentURL: place });
      } catch {
        // Not there.
      }
    }
  }
  if (!standIn) return next(specifier, context);
  return { url: pathToFileURL(standIn).href, format: "module", shortCircuit: true };
}

let places;

/** Return the places where an installed pi may be: those of NODE_PATH, and the one whose `pi` is in PATH. */
function installed() {
  if (places) return places;
  places = [];
  for (const folder of (process.env.NODE_PATH ?? "").split(delimiter)) {
    if (folder) places.push(pathToFileURL(join(dirname(folder), "beside.js")).href);
  }
  for (const folder of (process.env.PATH ?? "").split(delimiter)) {
    const program = join(folder, "pi");
    if (folder && existsSync(program)) {
      places.push(pathToFileURL(realpathSync(program)).href);
      break;
    }
  }
  return places;
}

/** Return the file that a relative name means to other loaders: without its ending, or a `.js` that is a `.ts`. */
function besides(specifier, parent) {
  if (!parent?.startsWith("file:") || !/^\.{0,2}\//.test(specifier)) return undefined;
  const base = specifier.startsWith("/") ? specifier : join(dirname(fileURLToPath(parent)), specifier);
  const bare = base.replace(/\.[cm]?js$/, "");
  const tries = [`${base}.ts`, `${base}.js`, `${base}.mjs`, `${bare}.ts`, `${bare}.mts`, join(base, "index.ts"), join(base, "index.js")];
  return tries.find((path) => existsSync(path) && statSync(path).isFile());
}

function load(url, context, next) {
  if (!url.startsWith("file:") || !TYPESCRIPT.test(url.replace(/[?#].*$/, ""))) {
    return url.startsWith("file:") && !url.includes("/node_modules/") ? loadScript(url, context, next) : next(url, context);
  }
  const source = readFileSync(fileURLToPath(url), "utf8");
  return formatted(url, stripped(source));
}

function loadScript(url, context, next) {
  const path = fileURLToPath(url);
  if (dirname(path).startsWith(import.meta.dirname) || !/\.[cm]?js$/.test(path)) return next(url, context);
  return formatted(url, readFileSync(path, "utf8"));
}

function stripped(source) {
  try {
    return stripTypeScriptTypes(source, { mode: "strip" });
  } catch (fault) {
    if (fault.code !== "ERR_UNSUPPORTED_TYPESCRIPT_SYNTAX") throw fault;
    return stripTypeScriptTypes(source, { mode: "transform" }); // Enums and the like.
  }
}

function formatted(url, code) {
  const path = fileURLToPath(url);
  const isModule = /\.m[jt]s$/.test(path) || (!/\.c[jt]s$/.test(path) && /^\s*(?:import|export)\b/m.test(code));
  if (!isModule) return { format: "commonjs", source: code, shortCircuit: true };
  return { format: "module", source: withGlobals(imported(url, code)), shortCircuit: true };
}

/** Note what a module imports, and leave out what it does not use: those are types, which nobody exports. */
function imported(url, code) {
  const names = new Map();
  const clause = /((?:^|;)[ \t]*import\s+)((?:[\w$]+\s*,\s*)?)\{([^}]*)\}(\s*from\s*)(["'])([^"'\n]+)\5/gm;
  const without = code.replace(clause, "");
  const result = code.replace(clause, (whole, start, first, list, from, quote, module) => {
    const kept = list.split(",").filter((each) => {
      const [name, local = name] = each.trim().split(/\s+as\s+/);
      if (!name || !new RegExp(`(?<![\\w$])${local.replace(/\$/g, "\\$")}(?![\\w$])`).test(without)) return false;
      names.set(module, (names.get(module) ?? new Set()).add(name));
      return true;
    });
    const lines = "\n".repeat(whole.split("\n").length - 1 - kept.join(",").split("\n").length + 1);
    return `${start}${first}{${kept.join(",")}}${from.replace(/\n/g, " ")}${quote}${module}${quote}${lines}`;
  });
  wanted.set(url, names);
  return result;
}

/** Define `require` and the like, which extensions may use although they are modules. */
function withGlobals(code) {
  const uses = (name) =>
    new RegExp(`(?<![\\w$.])${name}(?![\\w$])`).test(code) &&
    !new RegExp(`(?:const|let|var|function)\\s+${name}(?![\\w$])|[{,]\\s*${name}\\s*[},]`).test(code);
  const made = [];
  if (uses("require")) made.push('import{createRequire as __linnetRequire}from"node:module";const require=__linnetRequire(import.meta.url);');
  if (uses("__dirname")) made.push("const __dirname=import.meta.dirname;");
  if (uses("__filename")) made.push("const __filename=import.meta.filename;");
  return made.join("") + code;
}

function explained(fault) {
  const text = fault instanceof Error ? fault.message : String(fault);
  const missing = /^Cannot find (?:package|module) '([^']+)' imported from (.+?)(?:\n|$)/.exec(text);
  if (missing) return `Cannot find module '${missing[1]}'\nRequire stack:\n- ${missing[2]}`;
  const absent = /The requested module '([^']+)' does not provide an export named '([^']+)'/.exec(text);
  if (absent && standInFor(absent[1])) {
    return `${absent[2]} of ${absent[1]} is not among what linnet has in place of pi's modules; it is found where pi is installed`;
  }
  return text;
}
