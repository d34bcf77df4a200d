"""What the page makes of events: everything that linnet prints in its golden conversations, in two protocols."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.serve.page.conftest import Open
from tests.serve.page.fake_server import FakeServer

GOLDEN = Path(__file__).parents[2] / "golden"

pytestmark = [pytest.mark.foreign, pytest.mark.xdist_group("browser")]  # One browser for all.

FOLD = """async ([lines, own]) => {
    const { blank, fold } = await import("/page/fold.js");
    const zot = await import("/page/zot.js");
    const words = (message) => (message?.content || []).filter(Boolean)
        .map((part) => part.text ?? part.thinking ?? "").filter(Boolean);
    const wrong = [];
    let state = blank(), reader = zot.start(), before = JSON.stringify(state);
    for (const line of lines) {
        let events = [line];
        if (own === "zot") [reader, events] = zot.translated(reader, line);
        for (const event of events) {
            const draft = state.draft;
            const next = fold(state, event, 7);
            if (JSON.stringify(state) !== before) wrong.push(["changed", event]);
            const { message } = event;
            if (event.type === "message_end" && message.role === "assistant" && draft) {
                // zot does not say where a block of text ends.
                const [so, truly] = [words(draft).join(""), words(message).join("")];
                if (so !== truly) wrong.push([so, truly]);
            }
            state = next;
            before = JSON.stringify(state);
        }
    }
    const said = state.messages.filter((message) => ["user", "assistant"].includes(message.role))
        .map((message) => [message.role, ...words(message)]).filter(([, ...some]) => some.length);
    return { wrong, said, draft: state.draft, tools: state.tools, status: state.status };
}"""


def lines(folder: Path, dialect: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / f"stdout.{dialect}.jsonl").read_text("utf-8").split("\n") if line]


def delta(line: dict[str, Any]) -> dict[str, Any]:
    """An update as pi-1 has it: without the message so far."""
    if line["type"] != "message_update":
        return line
    event = {name: value for name, value in line["assistantMessageEvent"].items() if name not in ("partial", "message")}
    return {"type": "message_update", "assistantMessageEvent": event}


def test_golden_conversations_are_read_to_their_end(open_page: Open, server: FakeServer) -> None:
    page = open_page()
    read = 0
    for folder in sorted(GOLDEN.iterdir()):
        if not (folder / "stdout.pi.jsonl").exists() or not (folder / "stdout.zot.jsonl").exists():
            continue
        pi = lines(folder, "pi")
        whole = page.evaluate(FOLD, [pi, "pi"])
        small = page.evaluate(FOLD, [[delta(line) for line in pi], "pi-1"])
        zot = page.evaluate(FOLD, [lines(folder, "zot"), "zot"])
        for told in (whole, small, zot):
            assert (folder.name, told["wrong"], told["draft"], told["status"]) == (folder.name, [], None, "idle")
            assert told["tools"] == {}, folder.name
        assert whole["said"] == small["said"]
        read += len(whole["said"]) + len(zot["said"])
    assert read > 80


@pytest.mark.parametrize(
    ("written", "known"),
    [
        ("", {}),
        ('{"command":"make t', {"command": "make t"}),
        ('{"a":"x\\', {"a": "x"}),
        ('{"a":"x\\u00', {"a": "x"}),
        ('{"a":1,"b', {"a": 1}),
        ('{"a":1,"b":', {"a": 1}),
        ('{"edits":[{"old":"a', {"edits": [{"old": "a"}]}),
        ("nonsense", {}),
    ],
)
def test_arguments_can_be_read_while_they_are_written(
    open_page: Open, server: FakeServer, written: str, known: Any
) -> None:
    page = open_page()
    ask = 'async (written) => (await import("/page/fold.js")).lenient(written)'
    assert page.evaluate(ask, written) == known


@pytest.mark.parametrize("sign", ["*", "`", "[", "<http", "_", "> ", "- ", "|", "#", "~", "\\", "1. ", "```\n"])
def test_markdown_takes_no_time_whatever_it_is(open_page: Open, server: FakeServer, sign: str) -> None:
    page = open_page()
    took: float = page.evaluate(
        """async (sign) => {
            const { Prose } = await import("/page/message/markdown.js");
            const { h, render } = await import("/page/dom.js");
            let least = Infinity; // A busy machine stops for seconds, but not every time.
            for (let n = 0; n < 3 && least >= 3000; n++) {
                const start = performance.now();
                for (const text of [sign.repeat(20000), (sign + "a").repeat(10000), (sign + "\\n").repeat(5000)]) {
                    render(h(Prose, { text }), document.createElement("div"));
                }
                least = Math.min(least, performance.now() - start);
            }
            return least;
        }""",
        sign,
    )
    assert took < 3_000
