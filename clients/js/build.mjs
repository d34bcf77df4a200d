// Makes the browser's build of the sources: minified, and with short names for what only our own modules say to each other.
import { build } from "esbuild";

// Properties that are in no protocol, in no public type, and in nothing that a platform has: a test compares.
const OURS =
  "answers apart arrived asked asks answered begin begun connect drain drains drop ended frame gone heard idle inquiry " +
  "isAttached isDropped isFree hasEnded isReady isUnsure listen lost learned news onAnswer onBegin onChange onEnd " +
  "promise put reconnected reject resolve resumes said send sent settle take until weight whole";

await build({
  entryPoints: ["src/browser.ts"],
  outdir: "dist/browser",
  chunkNames: "[name]",
  bundle: true,
  splitting: true,
  minify: true,
  sourcemap: true,
  format: "esm",
  platform: "neutral",
  target: "es2022",
  mangleProps: new RegExp(`^(${OURS.replaceAll(" ", "|")})$`),
  logLevel: "warning",
});
