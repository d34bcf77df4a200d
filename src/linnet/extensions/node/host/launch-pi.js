// What `process.argv[1]` names in an extension: run by `process.execPath`, it is an agent that stands in for pi.
import { spawn } from "node:child_process";

const [program, ...first] = JSON.parse(process.env.LINNET_PI_COMMAND ?? '["linnet-pi"]');
const words = [...first, ...process.argv.slice(2)];
if (typeof process.execve === "function" && program.includes("/")) {
  process.execve(program, [program, ...words], process.env);
}
const child = spawn(program, words, { stdio: "inherit" });
for (const name of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(name, () => child.kill(name));
child.on("error", (fault) => {
  console.error(`linnet-pi cannot be started: ${fault.message}`);
  process.exit(1);
});
child.on("exit", (code, signal) => (signal ? process.kill(process.pid, signal) : process.exit(code ?? 1)));
