"""An editor as far as tests need one: it asks, answers what it is asked, and holds every line that it is sent against
the schemas of both official kits.
"""

import json
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from acp import schema
from jsonschema import Draft202012Validator
from pydantic import BaseModel

from linnet.testing.agent import Agent, Frame

OTHERS = Path(__file__).parents[2] / ".venv" / "acp" / "node_modules" / "@agentclientprotocol" / "sdk" / "schema" / "v1"
RESULTS = {
    "initialize": "InitializeResponse",
    "authenticate": "AuthenticateResponse",
    "session/new": "NewSessionResponse",
    "session/load": "LoadSessionResponse",
    "session/resume": "ResumeSessionResponse",
    "session/fork": "ForkSessionResponse",
    "session/list": "ListSessionsResponse",
    "session/close": "CloseSessionResponse",
    "session/delete": "DeleteSessionResponse",
    "session/prompt": "PromptResponse",
    "session/set_mode": "SetSessionModeResponse",
    "session/set_config_option": "SetSessionConfigOptionResponse",
}
ASKED = {
    "session/update": "SessionNotification",
    "session/request_permission": "RequestPermissionRequest",
    "fs/read_text_file": "ReadTextFileRequest",
    "fs/write_text_file": "WriteTextFileRequest",
    "terminal/create": "CreateTerminalRequest",
    "terminal/output": "TerminalOutputRequest",
    "terminal/wait_for_exit": "WaitForTerminalExitRequest",
    "terminal/kill": "KillTerminalRequest",
    "terminal/release": "ReleaseTerminalRequest",
    "elicitation/create": "CreateElicitationRequest",
    "$/cancel_request": "CancelRequestNotification",
}
NEWER = ("notice", "compaction_update")  # Kinds of updates that the one in Python does not know.


@cache
def theirs(name: str) -> Draft202012Validator | None:
    """The type of that name in the schema of the kit in TypeScript, if that is installed."""
    for file in (OTHERS / "schema.json", OTHERS / "schema.unstable.json"):
        if file.exists():
            whole = json.loads(file.read_text())
            if name in whole["$defs"]:
                return Draft202012Validator({"$defs": whole["$defs"], "$ref": f"#/$defs/{name}"})
    return None


def check(name: str, value: Any) -> None:
    """Fail unless the value is of that type, in both kits, and the one in Python keeps all of it."""
    update = value.get("update", {}) if isinstance(value, dict) else {}
    kind: Any = getattr(schema, name, None)
    if isinstance(kind, type) and issubclass(kind, BaseModel) and update.get("sessionUpdate") not in NEWER:
        kept = kind.model_validate(value).model_dump(mode="json", by_alias=True, exclude_unset=True)
        assert kept == value, (name, kept, value)
    if (validator := theirs(name)) is not None:
        validator.validate(value)


class Editor:
    """One connection. `does` answers what the agent asks, by method; what is not in it stays open. A LookupError of it
    is the answer that there is no such file.
    """

    def __init__(self, agent: Agent, does: Mapping[str, Callable[[Frame], Any]] | None = None) -> None:
        self.agent = agent
        self.does = dict(does or {})
        self.updates: list[Frame] = []
        self.asked: list[Frame] = []
        """Requests of the agent's."""
        self.withdrawn: list[int] = []
        self._sent: dict[int, str] = {}
        self._answered: set[int] = set()

    def send(self, method: str, **params: Any) -> int:
        """Send a request, and return its id."""
        id = len(self._sent)
        self._sent[id] = method
        self.agent.send({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
        return id

    def note(self, method: str, **params: Any) -> None:
        self.agent.send({"jsonrpc": "2.0", "method": method, "params": params})

    def reply(self, id: Any, result: Any) -> None:
        self.agent.send({"jsonrpc": "2.0", "id": id, "result": result})

    def refuse(self, id: Any, why: str) -> None:
        self.agent.send({"jsonrpc": "2.0", "id": id, "error": {"code": -32002, "message": why}})

    def read(self) -> Frame | None:
        """Return the next line, checked, after doing what it asks for."""
        frame = self.agent.read()
        if frame is None:
            return None
        assert frame["jsonrpc"] == "2.0"
        method = frame.get("method")
        if method is None:
            id = frame["id"]
            if id in self._sent:
                assert id not in self._answered, f"answered twice: {frame}"
                self._answered.add(id)
                if "result" in frame:
                    check(RESULTS[self._sent[id]], frame["result"])
            if "error" in frame:
                check("Error", frame["error"])
            return frame
        check(ASKED[method], frame["params"])
        if method == "session/update":
            self.updates.append(frame["params"]["update"])
        elif method == "$/cancel_request":
            self.withdrawn.append(frame["params"]["requestId"])
        else:
            self.asked.append(frame)
            if method in self.does:
                try:
                    self.reply(frame["id"], self.does[method](frame["params"]))
                except LookupError:
                    self.refuse(frame["id"], "there is no such file")
        return frame

    def until(self, wanted: Callable[[Frame], bool]) -> Frame:
        while (frame := self.read()) is not None:
            if wanted(frame):
                return frame
        raise EOFError(self.agent.stderr)

    def answer(self, id: int) -> Frame:
        """Return the response to one request."""
        return self.until(lambda frame: "method" not in frame and frame["id"] == id)

    def ask(self, method: str, **params: Any) -> Any:
        """Send a request, and return its result."""
        answer = self.answer(self.send(method, **params))
        assert "result" in answer, answer
        return answer["result"]

    def fails(self, method: str, **params: Any) -> Frame:
        """Send a request, and return its error."""
        answer = self.answer(self.send(method, **params))
        assert "error" in answer, answer
        error: Frame = answer["error"]
        return error

    def until_asked(self, method: str) -> Frame:
        """Wait until the agent asks for this, and return the request."""
        return self.until(lambda frame: frame.get("method") == method)

    def said(self, kind: str = "agent_message_chunk") -> str:
        """Return all text of chunks of that kind."""
        return "".join(each["content"]["text"] for each in self.updates if each["sessionUpdate"] == kind)

    def calls(self) -> dict[str, Frame]:
        """Return the calls as they were told by now, with all changes, by id."""
        found: dict[str, Frame] = {}
        for each in self.updates:
            if each["sessionUpdate"] == "tool_call":
                assert each["toolCallId"] not in found
                found[each["toolCallId"]] = dict(each)
            elif each["sessionUpdate"] == "tool_call_update":
                found[each["toolCallId"]] |= each
        return found


def chosen(option: str) -> Callable[[Frame], Frame]:
    """Return what answers every question for permission with this option."""
    return lambda params: {"outcome": {"outcome": "selected", "optionId": option}}


def text(words: str) -> list[Frame]:
    return [{"type": "text", "text": words}]
