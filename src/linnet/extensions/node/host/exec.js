// Runs programs for extensions, as `pi.exec` promises: it never rejects.
import { spawn } from "node:child_process";

const MOST = 16 * 1024 * 1024; // Characters of each stream.

/** Run a program without a shell, and return what came of it. */
export function exec(command, args = [], options = {}) {
  return new Promise((resolve) => {
    const out = { stdout: "", stderr: "", truncated: false };
    let killed = false;
    let child;
    const end = (code) => {
      clearTimeout(timer);
      options.signal?.removeEventListener("abort", kill);
      resolve({ stdout: out.stdout, stderr: out.stderr, code, killed, truncated: out.truncated });
    };
    const kill = () => {
      killed = true;
      child?.kill("SIGTERM");
      setTimeout(() => child?.kill("SIGKILL"), 5000).unref();
    };
    let timer;
    try {
      child = spawn(command, args.map(String), { cwd: options.cwd, stdio: ["ignore", "pipe", "pipe"] });
    } catch (fault) {
      resolve({ stdout: "", stderr: String(fault.message ?? fault), code: 1, killed: false, truncated: false });
      return;
    }
    for (const name of ["stdout", "stderr"]) {
      child[name].setEncoding("utf8");
      child[name].on("data", (text) => {
        const room = MOST - out[name].length;
        out[name] += text.slice(0, room);
        out.truncated ||= text.length > room;
      });
    }
    child.on("error", (fault) => {
      out.stderr += fault.message;
      end(1);
    });
    child.on("close", (code) => end(killed ? 0 : (code ?? 1)));
    if (options.timeout > 0) timer = setTimeout(kill, options.timeout);
    if (options.signal?.aborted) kill();
    else options.signal?.addEventListener("abort", kill, { once: true });
  });
}
