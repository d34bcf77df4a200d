// Stands where pi's clients expect pi's cli.js: runs linnet-pi on the same pipes, passes signals on, ends as it ends.
import { spawn } from "node:child_process";
import { constants } from "node:os";

const agent = spawn(process.env.AGENT_UNDER_TEST, process.argv.slice(2), { stdio: "inherit" });
for (const signal of ["SIGTERM", "SIGINT", "SIGHUP"]) process.on(signal, () => agent.kill(signal));
agent.on("exit", (code, signal) => process.exit(code ?? 128 + constants.signals[signal]));
