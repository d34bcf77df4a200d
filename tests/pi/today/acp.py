"""npm's pi-acp on a pair of pipes: an editor's side of the Agent Client Protocol, with `pi` in its PATH."""

import json
import os
import signal
import subprocess
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from queue import Empty, Queue
from types import TracebackType
from typing import Any, Self

from tests.suite.real_pi import CLIENTS, needed, node

Message = dict[str, Any]
PATIENCE = 20.0


class AcpError(Exception):
    """What pi-acp refused, in its words."""


class Editor:
    """Speaks to one pi-acp. It is killed, with the pi that it started, when the context is left."""

    def __init__(self, pi: Path, env: dict[str, str], cwd: Path) -> None:
        """`pi` is the folder that has a program of that name."""
        adapter = needed(CLIENTS / "pi-acp" / "dist" / "index.js")
        self.process = subprocess.Popen(
            [node(), str(adapter)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd=cwd,
            env={**env, "PATH": f"{pi}{os.pathsep}{os.environ['PATH']}"},
            start_new_session=True,
        )
        self.updates: list[Message] = []
        """All `session/update` that came, in order, each with its `sessionId` and `update`."""
        self._changed = threading.Condition()
        self._answers: dict[int, Queue[Message]] = {}
        self._next = 0
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """End it, and the pi that it started. Closing twice is no error."""
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        self._reader.join()
        for pipe in (self.process.stdin, self.process.stdout):
            assert pipe
            pipe.close()

    def begin(self, method: str, **params: Any) -> Callable[[], Any]:
        """Send a request, and return what waits for its result."""
        self._next += 1
        number = self._next
        queue = self._answers[number] = Queue()
        self._write({"jsonrpc": "2.0", "id": number, "method": method, "params": params})

        def result() -> Any:
            try:
                answer = queue.get(timeout=PATIENCE)
            except Empty:
                raise TimeoutError(f"{method} was not answered; the last updates were {self.updates[-5:]}") from None
            if "error" in answer:
                raise AcpError(json.dumps(answer["error"]))
            return answer["result"]

        return result

    def ask(self, method: str, **params: Any) -> Any:
        """Return the result of a request. Raises AcpError and TimeoutError."""
        return self.begin(method, **params)()

    def tell(self, method: str, **params: Any) -> None:
        """Send what has no answer."""
        self._write({"jsonrpc": "2.0", "method": method, "params": params})

    def prompt(self, session: str, text: str) -> Callable[[], Any]:
        """Send a prompt, and return what waits for its end."""
        return self.begin("session/prompt", sessionId=session, prompt=[{"type": "text", "text": text}])

    def wait_for(self, fits: Callable[[Message], bool], since: int = 0) -> Message:
        """Return the first update that fits. Raises TimeoutError."""
        with self._changed:
            found = self._changed.wait_for(
                lambda: next((each for each in self.updates[since:] if fits(each["update"])), None), PATIENCE
            )
        if found is None:
            raise TimeoutError(f"it did not come; the last updates were {self.updates[-5:]}")
        update: Message = found["update"]
        return update

    def said(self, since: int = 0, kind: str = "agent_message_chunk") -> str:
        """Return the text of all chunks of one kind."""
        chunks = [each["update"] for each in self.updates[since:] if each["update"]["sessionUpdate"] == kind]
        return "".join(chunk["content"].get("text", "") for chunk in chunks)

    def _write(self, message: Message) -> None:
        assert self.process.stdin
        self.process.stdin.write(json.dumps(message).encode() + b"\n")
        self.process.stdin.flush()

    def _read(self) -> None:
        assert self.process.stdout
        for line in self.process.stdout:
            message = json.loads(line)
            if "method" not in message:
                self._answers[message["id"]].put(message)
                continue
            with self._changed:
                if message["method"] == "session/update":
                    self.updates.append(message["params"])
                self._changed.notify_all()
