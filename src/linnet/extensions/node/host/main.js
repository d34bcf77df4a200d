// Begins the host, if this Node is new enough; or else says only which one it is.
import { writeSync } from "node:fs";

const [major, minor] = process.versions.node.split(".").map(Number);
const OUTPUT = 3;
writeSync(OUTPUT, `${JSON.stringify({ type: "hello", version: process.versions.node })}\n`);
if (major > 22 || (major === 22 && minor >= 18)) await import("./host.js");
