"""Agents that can be measured: how each is started, asked, stopped, and how its answers are told apart."""

import json
import os
import sys
from dataclasses import dataclass, field, replace
from pathlib import Path


@dataclass(frozen=True)
class Peer:
    """`first` is the cheapest command; `terminator` ends a turn; `delta` marks a piece of text on the wire."""

    name: str
    command: list[str]
    first: bytes
    terminator: bytes
    delta: bytes
    progress: bytes
    env: dict[str, str] = field(default_factory=dict)

    def prompt(self, text: str) -> bytes:
        return json.dumps({"id": "p", "type": "prompt", "message": text}).encode() + b"\n"


def linnet(url: str) -> Peer:
    return _zot_like("linnet", [_executable(), "rpc"], url)


def linnet_pi(url: str, stream: str, home: Path) -> Peer:
    """With its session in a file, as anybody would have it who gives no flag."""
    name = "linnet, pi" if stream == "full" else "linnet, pi, deltas"
    flags = ["--mode", "rpc", "--provider", "anthropic", "--base-url", url, "--api-key", "x", "--stream", stream]
    return _pi_like(name, [_executable(), *flags], {"LINNET_HOME": str(home / "linnet")})


def _executable() -> str:
    return str(Path(sys.executable).with_name("linnet"))


def zot(path: str, url: str) -> Peer:
    return _zot_like("zot", [path, "rpc"], url)


def _zot_like(name: str, command: list[str], url: str) -> Peer:
    return Peer(
        name=name,
        command=[*command, "--provider", "anthropic", "--base-url", url, "--api-key", "x"],
        first=b'{"id":"1","type":"ping"}\n',
        terminator=b'"type":"done"',
        delta=b'"type":"text_delta"',
        progress=b'"tool_progress"',
    )


def linnet_today(url: str, home: Path) -> Peer:
    """linnet-pi in the protocol of today's pi."""
    flags = ["--mode", "rpc", "--no-session", "--provider", "anthropic", "--base-url", url, "--api-key", "x"]
    command = [str(Path(sys.executable).with_name("linnet-pi")), *flags, "--dialect", "pi-1"]
    return _settling("linnet-pi", command, {"LINNET_HOME": str(home / "linnet"), "HOME": str(home)})


def pi_today(name: str, node: str, path: str, url: str, home: Path) -> Peer:
    """pi in a version that says when it has settled."""
    like = pi(path, url, home / name)
    return _settling(name, [node, *like.command[1:]], like.env)


def _settling(name: str, command: list[str], env: dict[str, str]) -> Peer:
    return replace(_pi_like(name, command, env), terminator=b'"type":"agent_settled"')


def pi(path: str, url: str, home: Path) -> Peer:
    """Its settings live in a folder of its own, which names the model server."""
    folder = home / ".pi" / "agent"
    folder.mkdir(parents=True, exist_ok=True)
    model = {
        "id": "scripted",
        "name": "scripted",
        "reasoning": False,
        "input": ["text"],
        "cost": {"input": 3, "output": 15, "cacheRead": 0, "cacheWrite": 0},
        "contextWindow": 200_000,
        "maxTokens": 8_192,
    }
    provider = {"baseUrl": url, "apiKey": "x", "api": "anthropic-messages", "models": [model]}
    (folder / "models.json").write_text(json.dumps({"providers": {"bench": provider}}))
    command = ["node", path, "--mode", "rpc", "--no-session", "--provider", "bench", "--model", "scripted"]
    return _pi_like("pi", command, {"HOME": str(home), "PI_OFFLINE": "1"})


def _pi_like(name: str, command: list[str], env: dict[str, str]) -> Peer:
    return Peer(
        name=name,
        command=command,
        first=b'{"id":"1","type":"get_state"}\n',
        terminator=b'{"type":"agent_end"',
        delta=b'"type":"text_delta"',
        progress=b'"tool_execution_update"',
        env=env,
    )


def zot_like(url: str) -> list[Peer]:
    """linnet, and zot where ZOT names its executable."""
    path = os.environ.get("ZOT")
    return [linnet(url), *([zot(path, url)] if path else [])]


def pi_like(url: str, home: Path) -> list[Peer]:
    """linnet in both of its ways, and pi where PI names its cli.js."""
    path = os.environ.get("PI")
    return [linnet_pi(url, "full", home), linnet_pi(url, "deltas", home), *([pi(path, url, home)] if path else [])]
