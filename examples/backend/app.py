"""A backend for a chat with coding agents: FastAPI, and server-sent events. Each chat is a process of its own.

python app.py [PORT] [FLAGS]     FLAGS are linnet's, such as --provider anthropic. Without any, the scripted model.

POST   /chats                    {"id": …}: a new agent, in a scratch folder of its own
POST   /chats/ID/prompt          {"message": …} → text/event-stream, one event of the protocol each
POST   /chats/ID/abort
DELETE /chats/ID
"""

import asyncio
import itertools
import json
import socket
import sys
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing, asynccontextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from uuid import uuid4

import uvicorn
from fastapi import FastAPI, HTTPException
from fastapi.responses import StreamingResponse
from pydantic import BaseModel

Frame = dict[str, Any]
LONGEST_LINE = 256 << 20  # A line may carry a whole message, with its images.


class AgentGone(Exception):
    """The process has ended; what it printed to stderr is in the server's own."""


class Agent:
    """`linnet --mode rpc`, spoken to in JSON lines. Nothing here knows of the web.

    Invariant: each command gets its response, and each event goes to the prompt that is being followed.
    """

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process
        self._numbers = map(str, itertools.count(1))
        self._answers: dict[str, asyncio.Future[Frame]] = {}
        self._events: asyncio.Queue[Frame | None] = asyncio.Queue()
        self._prompting = asyncio.Lock()
        self._aborting: asyncio.Task[None] | None = None
        self._reading = asyncio.create_task(self._read())

    @classmethod
    async def start(cls, folder: Path, *flags: str) -> "Agent":
        command = ("linnet", "--mode", "rpc", "--stream", "deltas", "--settled", "--no-session", *flags)
        pipe = asyncio.subprocess.PIPE
        return cls(
            await asyncio.create_subprocess_exec(*command, cwd=folder, stdin=pipe, stdout=pipe, limit=LONGEST_LINE)
        )

    async def ask(self, type: str, **fields: Any) -> Frame:
        """Send a command and wait for its response."""
        if self._reading.done():
            raise AgentGone
        number = next(self._numbers)
        answer: asyncio.Future[Frame] = asyncio.get_running_loop().create_future()
        self._answers[number] = answer
        assert self._process.stdin
        self._process.stdin.write(json.dumps({"id": number, "type": type, **fields}).encode() + b"\n")
        return await answer

    async def prompt(self, message: str) -> AsyncGenerator[Frame, None]:
        """Every event until all of it is over. Whoever leaves early aborts the run. One prompt follows the other."""
        await self._prompting.acquire()
        asking = asyncio.create_task(self.ask("prompt", message=message))
        over = False
        try:
            response = await asyncio.shield(asking)
            if not response["success"]:
                over = True
                yield response
            while not over:
                event = await self._events.get()
                if event is None:
                    raise AgentGone
                over = event["type"] == "agent_settled"  # Retries, compactions and all that was queued are over, too.
                yield event
        finally:
            if over or self._reading.done():
                self._prompting.release()
            else:  # Not awaited: a web framework cancels whoever is left behind again and again.
                self._aborting = asyncio.create_task(self._abort(asking))

    async def close(self) -> None:
        """The end of its stdin ends it, and all that its tools started."""
        assert self._process.stdin
        self._process.stdin.close()
        await self._process.wait()
        await self._reading

    async def _abort(self, asking: "asyncio.Task[Frame]") -> None:
        """To the end of what runs; only then the next prompt begins."""
        try:
            if (await asking)["success"]:
                await self.ask("abort")
                while (event := await self._events.get()) is not None and event["type"] != "agent_settled":
                    pass
        except AgentGone:
            pass  # Whoever asks it next is told.
        finally:
            self._prompting.release()

    async def _read(self) -> None:
        assert self._process.stdout
        async for line in self._process.stdout:
            frame = json.loads(line)
            if frame["type"] != "response":
                self._events.put_nowait(frame)
            elif (answer := self._answers.pop(frame.get("id", ""), None)) is not None and not answer.done():
                answer.set_result(frame)
        for answer in self._answers.values():
            if not answer.done():
                answer.set_exception(AgentGone())
        self._events.put_nowait(None)


class Created(BaseModel):
    id: str


class Prompt(BaseModel):
    message: str


def backend(*flags: str) -> FastAPI:
    """An application whose agents are started with these flags."""
    chats: dict[str, Agent] = {}

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        yield
        for agent in chats.values():
            await agent.close()

    app = FastAPI(lifespan=lifespan)
    scratch = TemporaryDirectory()

    def chat(id: str) -> Agent:
        if id not in chats:
            raise HTTPException(404, f"There is no chat {id}.")
        return chats[id]

    @app.post("/chats")
    async def create() -> Created:
        id = uuid4().hex
        folder = Path(scratch.name, id)  # Your user's project goes here.
        folder.mkdir()
        chats[id] = await Agent.start(folder, *flags)
        return Created(id=id)

    @app.post("/chats/{id}/prompt")
    async def prompt(id: str, prompt: Prompt) -> StreamingResponse:
        agent = chat(id)

        async def lines() -> AsyncIterator[str]:
            """When the browser goes away this is closed, and that aborts the run."""
            try:
                async with aclosing(agent.prompt(prompt.message)) as events:
                    async for event in events:
                        yield f"data: {json.dumps(event)}\n\n"
            except AgentGone:
                yield 'data: {"type":"gone"}\n\n'

        return StreamingResponse(lines(), media_type="text/event-stream")

    @app.post("/chats/{id}/abort", status_code=204)
    async def abort(id: str) -> None:
        await chat(id).ask("abort")

    @app.delete("/chats/{id}", status_code=204)
    async def delete(id: str) -> None:
        agent = chat(id)
        del chats[id]
        await agent.close()

    return app


def main() -> None:
    port, *flags = [*sys.argv[1:], *(["8000"] if len(sys.argv) < 2 else [])]
    listening = socket.create_server(("127.0.0.1", int(port)))
    print(f"listening on http://127.0.0.1:{listening.getsockname()[1]}", flush=True)
    app = backend(*(flags or ["--provider", "scripted"]))
    with suppress(KeyboardInterrupt):
        uvicorn.Server(uvicorn.Config(app, log_level="warning", timeout_graceful_shutdown=5)).run([listening])


if __name__ == "__main__":
    main()
