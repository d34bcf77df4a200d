"""The TypeScript client as a package: its types, its size, and a project that uses it."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.clients_js.conftest import CLIENT, ran, tool

pytestmark = pytest.mark.foreign

DIALECTS = ("zot", "pi", "pi-legacy", "pi-0.73", "pi-0.87", "pi-1")
CONSUMER = """
import { connect, PiDraft, spawn, tool, type Agent, type Event } from "linnet-agent";
import type { AssistantMessage } from "linnet-agent/types/pi-1";

export async function main(): Promise<string> {
  const agent: Agent = await spawn({ tools: [tool({ name: "a", description: "", parameters: {}, run: () => "" })] });
  const draft = new PiDraft();
  for await (const event of agent.prompt("hello")) {
    draft.add(event);
    switch (event.type) {
      case "message_update": {
        const update = event.assistantMessageEvent;
        if (update.type === "text_delta") { const delta: string = update.delta; delta.trim(); }
        break;
      }
      case "message_end":
        if (event.message.role === "assistant") {
          const said: AssistantMessage = event.message;
          said.usage.cost.total.toFixed();
        }
        break;
      case "unknown": { const object: Record<string, unknown> = event.event; void object; break; }
      case "bad_line": event.line.trim(); break;
      default: { const other: Event["type"] = event.type; void other; }
    }
  }
  const state = await agent.getState();
  const count: number = state.messageCount;
  await agent.setModel({ provider: "a", modelId: "b" });
  // @ts-expect-error A field is missing.
  await agent.setModel({ provider: "a" });
  // @ts-expect-error No command is called so.
  await agent.frobnicate();
  const zot = await spawn({ dialect: "zot" });
  const { busy } = await zot.getState();
  const summary: string = (await zot.compact()).summary;
  // @ts-expect-error zot does not know it.
  await zot.steer("now");
  const there = connect({ url: "http://localhost", token: "t" });
  const attached = await there.attach("0123456789abcdef", { from: 3, dialect: "pi-0.87" });
  const { disposition } = { disposition: "x", ...(await attached.followUp("and then?") as object | undefined) };
  return `${count}${busy}${summary}${disposition}`;
}
"""


@pytest.mark.parametrize("dialect", DIALECTS)
def test_the_types_are_those_that_linnet_prints(dialect: str) -> None:
    linnet = Path(sys.prefix) / "bin" / "linnet"
    command = [str(linnet), "schema", "--dialect", dialect, "--format", "typescript"]
    printed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    path = f"src/types/{dialect}.ts"
    assert (CLIENT / path).read_text() == printed, f"make clients/js/{path} anew: {' '.join(command[1:])}"


def test_the_core_needs_nothing_of_node(built: Path) -> None:
    """The browser's build compiles without Node's types, and imports none of its modules."""
    ran([tool("tsc"), "-p", "tsconfig.browser.json"], cwd=built)


# Bytes, minified: what is loaded at the start, and with what only zot's protocol and pi's first one need.
BUDGETS = {"browser/browser": (20_480, 22_000), "index": (27_500, 29_000)}


@pytest.mark.parametrize("entry", BUDGETS)
def test_the_client_is_small(built: Path, tmp_path: Path, entry: str) -> None:
    meta = tmp_path / "meta.json"
    flags = ["--bundle", "--splitting", "--minify", "--format=esm", "--platform=neutral", "--external:node:*"]
    flags += ["--log-level=error", f"--outdir={tmp_path / 'out'}", f"--metafile={meta}"]
    ran([tool("esbuild"), f"dist/{entry}.js", *flags], cwd=built)
    outputs = json.loads(meta.read_text())["outputs"]
    [start] = [path for path, output in outputs.items() if output.get("entryPoint") == f"dist/{entry}.js"]
    loaded = {start}
    for path in sorted(outputs):  # Chunks of chunks would be loaded, too: there are none.
        imports = [each for each in outputs[path]["imports"] if each["kind"] == "import-statement"]
        loaded |= {each["path"] for each in imports if not each.get("external")}
    sizes = {path: output["bytes"] for path, output in outputs.items()}
    first, whole = BUDGETS[entry]
    assert sum(sizes[path] for path in loaded) <= first
    assert sum(sizes.values()) <= whole
    assert entry == "index" or not any("node:" in path.read_text() for path in (tmp_path / "out").iterdir())


def test_the_short_names_of_the_browser_s_build_are_nobody_else_s(built: Path) -> None:
    """A name that a protocol or a public type has must stay what it is."""
    ours = set(" ".join(re.findall(r'^  "([\w ]+)"', (CLIENT / "build.mjs").read_text(), re.MULTILINE)).split())
    assert len(ours) > 40
    modules = re.findall(r'"\./([\w-]+)\.js"', (CLIENT / "src" / "shared.ts").read_text())
    public = [(built / "dist" / f"{module}.d.ts").read_text() for module in modules]
    public += [path.read_text() for path in (built / "dist" / "types").glob("*.d.ts")]
    assert len(public) > 15
    for text in public:
        declared = re.findall(r"""^ *(?:readonly )?["']?(\w+)["']?\??[:(<]""", text, re.MULTILINE)
        declared += re.findall(r"""[{;] (?:readonly )?["']?(\w+)["']?\??:""", text)
        assert not ours & set(declared)


def test_a_project_that_installs_the_package_is_typed_strictly(built: Path, tmp_path: Path) -> None:
    packed = json.loads(
        ran(["npm", "pack", "--json", "--ignore-scripts", f"--pack-destination={tmp_path}", "--silent"])
    )
    [package] = packed
    assert {"README.md", "dist/index.js", "dist/index.d.ts", "dist/browser/browser.js"} <= {
        each["path"] for each in package["files"]
    }
    assert not package.get("bundled")
    project = tmp_path / "project"
    where = project / "node_modules" / "linnet-agent"
    where.mkdir(parents=True)
    ran(["tar", "xzf", str(tmp_path / package["filename"]), "--strip-components=1", "-C", str(where)])
    assert json.loads((where / "package.json").read_text()).get("dependencies") is None
    (project / "node_modules" / "@types").symlink_to((built / "node_modules" / "@types").resolve())
    (project / "package.json").write_text('{"type":"module"}')
    (project / "main.ts").write_text(CONSUMER)
    for lib, types in (("es2022", "node"), ("es2022,dom", "")):
        flags = ["--strict", "--noEmit", "--target", "es2022", "--module", "nodenext", "--lib", lib, "--types", types]
        ran([tool("tsc"), *flags, "--skipLibCheck", "false", "main.ts"], cwd=project)
