"""linnet-pi reads and writes where pi does: sessions, models, keys, settings, trust; linnet itself does not."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from linnet.core.json.checked import checked
from linnet.core.json.without_comments import without_comments
from linnet.errors import ConfigError
from linnet.files.pi_files import understood
from linnet.testing.model_server import ModelServer
from tests.suite import forked

GET_STATE = '{"id":"s","type":"get_state"}\n'
HELLO = "Hello from the scripted model."
Done = subprocess.CompletedProcess[str]
Run = Callable[..., Done]


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Run a program to its end. No provider has a key in the environment."""
    (tmp_path / "work").mkdir()

    def run(*flags: str, say: str = "", name: str = "linnet-pi", cwd: str = "work", **env: str) -> Done:
        return forked.run(
            [Path(sys.executable).with_name(name), *flags],
            input=say,
            capture_output=True,
            text=True,
            cwd=tmp_path / cwd,
            timeout=30,
            env={"PATH": "/usr/bin:/bin", "HOME": str(tmp_path), **env},
        )

    return run


@pytest.fixture
def agent(tmp_path: Path, server: ModelServer) -> Path:
    """pi's folder, with a provider in its models.json, written as pi's users write it."""
    folder = tmp_path / ".pi" / "agent"
    folder.mkdir(parents=True)
    models = [{"id": "scripted", "name": "Scripted A", "reasoning": True, "samplingParams": {"seed": 1}}]
    provider = {"baseUrl": server.url, "api": "anthropic-messages", "apiKey": "k", "oauth": "radius", "models": models}
    said = json.dumps({"$schema": "x", "providers": {"fake": provider}}, indent=1)
    (folder / "models.json").write_text(f"// mine, with a comma too many\n{said[:-1].rstrip()},\n}}\n")
    return folder


def frames(done: Done) -> list[dict[str, Any]]:
    return [json.loads(line) for line in done.stdout.splitlines()]


def state(run: Run, *flags: str, **options: str) -> dict[str, Any]:
    *_, last = frames(run("--mode", "rpc", "--pi-version", "0.35", *flags, say=GET_STATE, **options))
    data: dict[str, Any] = last["data"]
    return data


def header(run: Run, *flags: str, **options: str) -> dict[str, Any]:
    """The first line of json mode, in which something is said."""
    done = run("--mode", "json", "hi", *flags, **options)
    assert done.returncode == 0, done.stderr
    return frames(done)[0]


def files(folder: Path) -> list[Path]:
    return sorted(folder.rglob("*.jsonl"))


def write_session(folder: Path, id: str, cwd: Path, prompt: str = "earlier") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    said = [
        {"role": "user", "content": [{"type": "text", "text": prompt}], "timestamp": 1},
        {"role": "assistant", "content": [], "provider": "fake", "model": "scripted", "timestamp": 2},
    ]
    lines = [{"type": "session", "version": 3, "id": id, "timestamp": "2026-01-01T00:00:00.000Z", "cwd": str(cwd)}]
    ids = [None, "00000000", "00000001"]
    lines += [
        {"type": "message", "id": ids[at + 1], "parentId": ids[at], "timestamp": "", "message": each}
        for at, each in enumerate(said)
    ]
    path = folder / f"2026-01-01T00-00-00-000Z_{id}.jsonl"
    path.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    return path


def place(cwd: Path) -> str:
    return f"--{str(cwd)[1:].replace('/', '-')}--"


def test_a_session_is_begun_where_pi_begins_its_own(run: Run, agent: Path, tmp_path: Path) -> None:
    begun = header(run)
    [file] = files(tmp_path)
    assert file.parent == agent / "sessions" / place(tmp_path / "work")
    assert file.name == f"{begun['timestamp'].replace(':', '-').replace('.', '-')}_{begun['id']}.jsonl"
    assert header(run, "--continue")["id"] == begun["id"]
    elsewhere = tmp_path / "elsewhere"
    moved = elsewhere / "models.json"
    elsewhere.mkdir()
    moved.write_bytes((agent / "models.json").read_bytes())
    header(run, PI_CODING_AGENT_DIR=str(elsewhere))
    assert len(files(elsewhere / "sessions")) == 1


def test_a_session_of_pis_is_gone_on_with(run: Run, agent: Path, tmp_path: Path) -> None:
    work = tmp_path / "work"
    file = write_session(agent / "sessions" / place(work), "aaaa-1", work)
    assert header(run, "-c")["id"] == header(run, "--session", "aaaa")["id"] == "aaaa-1"
    assert state(run, "--session-id", "aaaa-1")["sessionFile"] == str(file)
    assert state(run, "--fork", "aaaa")["messageCount"] == 6


def test_a_folder_that_is_chosen_is_flat_and_the_flag_comes_before_variable_and_settings(
    run: Run, agent: Path, tmp_path: Path
) -> None:
    (agent / "settings.json").write_text('{"sessionDir": "by settings"}')
    assert Path(state(run)["sessionFile"]).parent == tmp_path / "work" / "by settings"
    variable = {"PI_CODING_AGENT_SESSION_DIR": "~/by variable"}
    assert Path(state(run, **variable)["sessionFile"]).parent == tmp_path / "by variable"
    flagged = state(run, "--session-dir", str(tmp_path / "by flag"), **variable)
    assert Path(flagged["sessionFile"]).parent == tmp_path / "by flag"


def test_in_a_folder_for_many_projects_each_goes_on_with_its_own(run: Run, agent: Path, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    shared = {"PI_CODING_AGENT_SESSION_DIR": str(tmp_path / "shared")}
    mine = header(run, **shared)["id"]
    theirs = header(run, cwd="other", **shared)["id"]
    assert header(run, "-c", **shared)["id"] == mine
    assert header(run, "-c", cwd="other", **shared)["id"] == theirs


def test_what_was_kept_under_linnets_home_before_is_found_listed_and_gone_on_with(
    run: Run, agent: Path, tmp_path: Path
) -> None:
    work = tmp_path / "work"
    old = write_session(tmp_path / ".linnet" / "sessions" / place(work), "bbbb-1", work)
    assert state(run, "-c")["sessionFile"] == state(run, "--session", "bbbb")["sessionFile"] == str(old)
    assert state(run, "--session-id", "bbbb-1")["sessionFile"] == str(old)
    newer = header(run)["id"]
    assert header(run, "-c")["id"] == newer
    listing = run("--mode", "rpc", "--pi-version", "0.35", say='{"id":"l","type":"list_sessions"}\n')
    assert {each["id"] for each in frames(listing)[0]["data"]["sessions"]} >= {"bbbb-1", newer}
    os.utime(old)
    assert header(run, "-c")["id"] == "bbbb-1"
    assert [path for path in (agent / "sessions").rglob("*") if path.is_symlink()] == []


def test_linnet_itself_neither_sees_nor_touches_what_is_pis(run: Run, agent: Path, tmp_path: Path) -> None:
    header(run)
    assert run("sessions", "--all", name="linnet").stdout == ""
    [found] = frames(run("sessions", "--pi", "--json", name="linnet"))
    assert run("export", found["id"], name="linnet").returncode == 1
    assert run("export", found["id"], "--pi", "-o", "page.html", name="linnet").returncode == 0
    assert "fake" not in run("models", "--all", name="linnet").stdout


def test_models_of_pis_file_can_be_used_and_what_cannot_be_understood_of_it_is_left_out(
    run: Run, agent: Path, server: ModelServer
) -> None:
    told = state(run, "--model", "fake/scripted:high")
    assert (told["model"]["name"], told["thinkingLevel"]) == ("Scripted A", "high")
    assert run("-p", "hi", "--model", "Scripted").stdout == f"{HELLO}\n"
    assert server.requests[-1].headers["x-api-key"] == "k"
    said = json.loads(without_comments((agent / "models.json").read_bytes()))
    said["providers"]["odd"] = {"baseUrl": "http://x", "api": "nobody-knows", "models": [{"id": "m"}]}
    said["providers"]["fake"]["modelOverrides"] = {"gone": {"name": "Gone"}}
    (agent / "models.json").write_text(json.dumps(said))
    done = run("-p", "hi")
    assert done.stdout == f"{HELLO}\n"
    assert done.stderr.startswith(f"Warning: {agent / 'models.json'}: providers.odd.api: no API is called")
    assert done.stderr.endswith("; the provider odd is left out\n")
    (agent / "models.json").write_text("{")
    done = run("--mode", "rpc", say=GET_STATE)
    assert frames(done)[0]["success"]
    assert "; nothing of this file is used\n" in done.stderr
    assert (agent / "models.json").read_text() == "{"


def test_linnets_own_models_come_before_pis(run: Run, agent: Path, tmp_path: Path, server: ModelServer) -> None:
    own = {"baseUrl": server.url, "api": "anthropic-messages", "apiKey": "mine", "models": [{"id": "scripted"}]}
    (tmp_path / ".linnet").mkdir()
    (tmp_path / ".linnet" / "models.json").write_text(json.dumps({"providers": {"fake": own}}))
    run("-p", "hi", "--model", "fake/scripted")
    assert server.requests[-1].headers["x-api-key"] == "mine"


@pytest.mark.parametrize(
    ("entry", "env", "sent"),
    [
        ({"type": "api_key", "key": "literal"}, {}, "literal"),
        ({"type": "api_key", "key": "$MY_KEY"}, {"MY_KEY": "of a variable"}, "of a variable"),
        ({"type": "api_key", "key": "a-${MY_KEY}"}, {"MY_KEY": "b"}, "a-b"),
        ({"type": "api_key", "key": "$MY_KEY", "env": {"MY_KEY": "of the entry"}}, {"MY_KEY": "x"}, "of the entry"),
        ({"type": "api_key", "key": "$$literal"}, {}, "$literal"),
        ({"type": "api_key", "key": "!echo printed"}, {}, "printed"),
        ({"type": "api_key", "key": "first"}, {"ANTHROPIC_API_KEY": "second"}, "first"),
        ({"type": "oauth", "access": "a", "refresh": "r", "expires": 1}, {"ANTHROPIC_API_KEY": "other"}, "other"),
        ({"type": "api_key", "key": "$NOT_SET"}, {"ANTHROPIC_API_KEY": "other"}, "other"),
    ],
)
def test_keys_of_pis_file_are_used_as_pi_uses_them(
    run: Run, tmp_path: Path, server: ModelServer, entry: dict[str, Any], env: dict[str, str], sent: str
) -> None:
    agent = tmp_path / ".pi" / "agent"
    agent.mkdir(parents=True)
    (agent / "auth.json").write_text(json.dumps({"anthropic": entry}))
    before = os.stat(agent / "auth.json"), (agent / "auth.json").read_bytes()
    done = run("-p", "hi", "--provider", "anthropic", ANTHROPIC_BASE_URL=server.url, **env)
    assert (done.stdout, done.stderr) == (f"{HELLO}\n", "")
    assert server.requests[-1].headers["x-api-key"] == sent
    after = os.stat(agent / "auth.json"), (agent / "auth.json").read_bytes()
    assert (before[0].st_mtime_ns, before[1]) == (after[0].st_mtime_ns, after[1])


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ('{"anthropic": {"type": "oauth", "access": "secret", "refresh": "r"}}', "is the login of a subscription"),
        ('{"anthropic": {"type": "api_key", "key": "$NOT_SET"}}', "names NOT_SET, which is not set"),
        ('{"anthropic": {"type": "new kind", "key": "secret"}}', "is no key"),
        ("{", "auth.json:1:"),
    ],
)
def test_a_login_that_only_pi_can_use_is_said_and_left_alone(run: Run, tmp_path: Path, text: str, why: str) -> None:
    agent = tmp_path / ".pi" / "agent"
    agent.mkdir(parents=True)
    (agent / "auth.json").write_text(text)
    done = run("-p", "hi", "--provider", "anthropic")
    assert (done.stdout, done.returncode) == ("", 1)
    assert done.stderr.startswith("Error: no credential for anthropic (")
    assert why in done.stderr
    assert "secret" not in done.stderr
    assert (agent / "auth.json").read_text() == text


def test_pis_settings_choose_models_tools_templates_and_trust(run: Run, agent: Path, server: ModelServer) -> None:
    (agent / "mine").mkdir()
    (agent / "mine" / "t.md").write_text("Do it.")
    said: dict[str, Any] = {"defaultProvider": "fake", "defaultModel": "scripted", "defaultThinkingLevel": "low"}
    said |= {"enabledModels": ["fake/*"], "defaultTools": ["+grep", "-bash"], "prompts": ["mine", "!gone"]}
    (agent / "settings.json").write_text(json.dumps(said))
    told = state(run)
    assert (told["model"]["id"], told["thinkingLevel"]) == ("scripted", "low")
    done = run("-p", "/t")
    assert (done.stdout, done.stderr) == (f"{HELLO}\n", "")
    body = server.requests[-1].body
    assert body["messages"][-1]["content"][0]["text"] == "Do it."
    assert [tool["name"] for tool in body["tools"]] == ["edit", "grep", "read", "write"]


def test_a_model_of_pis_settings_that_is_gone_costs_nothing_else(run: Run, agent: Path) -> None:
    (agent / "settings.json").write_text('{"defaultProvider": "gone", "defaultModel": "m", "steeringMode": "all"}')
    done = run("--mode", "rpc", "--pi-version", "0.35", say=GET_STATE)
    assert frames(done)[0]["data"]["steeringMode"] == "all"
    assert done.stderr.startswith("Warning: the model of pi's settings is not used: ")


SAVING: dict[str, dict[str, Any]] = {
    "set_steering_mode": {"mode": "all"},
    "set_auto_compaction": {"enabled": False},
    "set_thinking_level": {"level": "high"},
    "set_model": {"provider": "fake", "modelId": "scripted"},
}


def lines(**more: Any) -> str:
    return "".join(f"{json.dumps({'type': name, **fields, **more})}\n" for name, fields in SAVING.items())


def test_settings_are_saved_in_pis_file_where_that_is_asked_for_and_never_otherwise(run: Run, agent: Path) -> None:
    file = agent / "settings.json"
    run("--mode", "rpc", say=lines())
    assert not file.exists()
    file.write_text('{\n  "theme": "dark",\n  "compaction": {"reserveTokens": 5}\n}\n')
    done = run("--mode", "rpc", say=lines(save=True))
    assert [frame["success"] for frame in frames(done) if frame["type"] == "response"] == [True] * 4
    said = json.loads(file.read_text())
    assert said == {
        "theme": "dark",
        "compaction": {"reserveTokens": 5, "enabled": False},
        "steeringMode": "all",
        "defaultThinkingLevel": "high",
        "defaultProvider": "fake",
        "defaultModel": "scripted",
    }
    assert file.read_text().startswith('{\n  "theme": "dark",\n')
    assert sorted(each.name for each in agent.iterdir()) == ["models.json", "sessions", "settings.json"]


def test_what_linnets_own_settings_say_is_saved_there(run: Run, agent: Path, tmp_path: Path) -> None:
    own = tmp_path / ".linnet" / "settings.json"
    own.parent.mkdir()
    own.write_text('{"steering_mode": "one-at-a-time"}')
    run("--mode", "rpc", say='{"type":"set_steering_mode","mode":"all","save":true}\n')
    assert json.loads(own.read_text()) == {"steering_mode": "all"}
    assert not (agent / "settings.json").exists()


def test_settings_that_cannot_be_understood_are_left_as_they_are(run: Run, agent: Path) -> None:
    (agent / "settings.json").write_text("{ broken")
    done = run("--mode", "rpc", say='{"type":"set_steering_mode","mode":"all","save":true}\n')
    assert frames(done)[0]["success"] is False
    assert (agent / "settings.json").read_text() == "{ broken"
    assert "; nothing of this file is used" in done.stderr


def test_a_file_that_pi_is_writing_is_read_when_it_is_whole(agent: Path) -> None:
    """pi makes a folder as a lock, empties the file, fills it, and removes the folder."""
    file, lock = agent / "settings.json", agent / "settings.json.lock"
    lock.mkdir()
    file.write_text('{"steeringMode": "al')
    read: list[bytes] = []

    def understand(text: bytes) -> dict[str, Any]:
        read.append(text)
        if len(read) == 2:
            file.write_text('{"steeringMode": "all"}')
            lock.rmdir()
        return checked(text, dict[str, Any], str(file))

    assert understood(str(file), understand) == {"steeringMode": "all"}
    assert read[0] == read[1] != read[2]
    file.write_text("{")
    with pytest.raises(ConfigError):
        understood(str(file), lambda text: checked(text, dict[str, Any], str(file)))


def test_pis_trust_counts_for_what_is_pis_and_the_flags_come_first(
    run: Run, agent: Path, tmp_path: Path, server: ModelServer
) -> None:
    (tmp_path / "work" / ".pi").mkdir()
    (tmp_path / "work" / ".pi" / "APPEND_SYSTEM.md").write_text("Of the project.")

    def used(*flags: str) -> bool:
        assert run("-p", "hi", *flags).returncode == 0
        return "Of the project." in str(server.requests[-1].body["system"])

    trust = agent / "trust.json"
    assert (used(), used("-a"), used("-na")) == (False, True, False)
    trust.write_text(json.dumps({str(tmp_path / "work"): True}))
    assert (used(), used("-na")) == (True, False)
    trust.write_text(json.dumps({str(tmp_path): True}))
    assert not used()  # It is the folder above.
    trust.write_text(json.dumps({str(tmp_path): False}))
    assert (used(), used("-a")) == (False, True)
    (agent / "settings.json").write_text('{"defaultProjectTrust": "always"}')
    assert not used()
    trust.unlink()
    assert used()
    trust.write_text("[]")
    done = run("-p", "hi")
    assert f"Warning: {trust}" in done.stderr
