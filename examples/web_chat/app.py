"""A chat with a coding agent for each user, in a browser: Starlette, `linnet.serve.App` and one page.

python app.py [PORT] [FLAGS]     FLAGS are linnet's, such as --model opus. Without any, the scripted model.
"""

import base64
import secrets
import socket
import sys
from pathlib import Path
from threading import Lock
from typing import Literal

import uvicorn
from starlette.applications import Starlette
from starlette.requests import HTTPConnection, Request
from starlette.responses import FileResponse, JSONResponse, Response
from starlette.routing import Mount, Route

from linnet.serve import App
from linnet.serve.agents.host import HostOptions, OpenRequest

PASSWORDS = {"ann": "sunshine", "bob": "moonlight"}  # Your users, wherever they are.
PORT, *FLAGS = sys.argv[1:] or ["8000"]
CHATS = Path("chats").resolve()
opening = Lock()


def user(connection: HTTPConnection) -> str | None:
    """Return who sent this: your own authentication."""
    said = connection.headers.get("authorization", "").removeprefix("Basic ").encode()
    known = {base64.b64encode(f"{name}:{word}".encode()): name for name, word in PASSWORDS.items()}
    return next((name for spelled, name in known.items() if secrets.compare_digest(spelled, said)), None)


def agent_of(name: str | None) -> str | None:
    """Return the id of a user's agent; after a restart it is there again."""
    return next((each.id for each in agents.host.summaries() if name and each.cwd == str(CHATS / name)), None)


def authenticate(connection: HTTPConnection) -> Literal["drive"] | None:
    """Let everybody drive the agent of their own, and know of no other."""
    mine = agent_of(user(connection))
    return "drive" if mine and connection.scope["path"].startswith(f"/agents/v1/agents/{mine}/") else None


def page(request: Request) -> Response:
    known = user(request) is not None
    return FileResponse(Path(__file__).with_name("index.html")) if known else Response(None, 401, LOG_IN)


def me(request: Request) -> Response:
    """Return the user's agent, which is opened when they first come."""
    if (name := user(request)) is None:
        return Response(None, 401, LOG_IN)
    with opening:
        if agent_of(name) is None:
            (CHATS / name).mkdir(parents=True, exist_ok=True)
            agents.host.open(OpenRequest(cwd=str(CHATS / name)))
    return JSONResponse({"agent": agent_of(name)})


LOG_IN = {"www-authenticate": "Basic"}
options = HostOptions(state=str(CHATS / ".state"), defaults=tuple(FLAGS or ["--provider", "scripted"]))
agents = App(options, authenticate=authenticate)
routes = [Route("/", page), Route("/me", me), Mount("/agents", agents)]
app = Starlette(routes=routes, lifespan=lambda app: agents.lifespan())

if __name__ == "__main__":
    listening = socket.create_server(("127.0.0.1", int(PORT)))
    print(f"listening on http://127.0.0.1:{listening.getsockname()[1]}", flush=True)
    uvicorn.Server(uvicorn.Config(app, log_level="warning", timeout_graceful_shutdown=3)).run([listening])
