"""linnet-pi in the place of the pi that a client expects: versions, flags, words on stderr, json mode."""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from linnet import __version__
from linnet.flags.drop_in import PI
from linnet.flags.flags import parse
from linnet.testing.agent import Agent, types
from linnet.testing.model_server import ModelServer
from tests.suite import forked

GET_STATE = '{"id":"s","type":"get_state"}\n'
SAY_HI = '{"id":"p","type":"prompt","message":"hi"}\n'
HELLO = "Hello from the scripted model."
BAD_ID = (
    "Session id must be non-empty, contain only alphanumeric characters, '-', '_', and '.', and start and end with an "
    "alphanumeric character"
)
Done = subprocess.CompletedProcess[str]
Run = Callable[..., Done]


@pytest.fixture
def run(tmp_path: Path, server: ModelServer) -> Run:
    """Run a program to its end; Anthropic's key and address are in the environment."""
    folder = tmp_path / "work"
    folder.mkdir()

    def run(*flags: str, say: str = "", name: str = "linnet-pi", **env: str) -> Done:
        return forked.run(
            [Path(sys.executable).with_name(name), *flags],
            input=say,
            capture_output=True,
            text=True,
            cwd=folder,
            timeout=30,
            env={
                "PATH": "/usr/bin:/bin",
                "HOME": str(tmp_path),
                "ANTHROPIC_API_KEY": "x",
                "ANTHROPIC_BASE_URL": server.url,
                **env,
            },
        )

    return run


def frames(done: Done) -> list[dict[str, Any]]:
    return [json.loads(line) for line in done.stdout.splitlines()]


def told_by(run: Run, *flags: str, name: str = "linnet-pi", **env: str) -> list[str]:
    """The events of a prompt."""
    done = run("--mode", "rpc", "--no-session", *flags, say=SAY_HI, name=name, **env)
    assert done.returncode == 0
    return [frame["type"] for frame in frames(done)]


@pytest.mark.parametrize(
    ("flags", "env", "version"),
    [
        ([], {}, "1.5.0"),
        (["--pi-version", "0.73"], {}, "0.73.1"),
        (["--pi-version", "0.80.2"], {}, "0.80.2"),
        (["--pi-version", "v1.2.3"], {}, "1.2.3"),
        ([], {"LINNET_PI_VERSION": "0.87"}, "0.87.1"),
        (["--pi-version", "1"], {"LINNET_PI_VERSION": "0.35"}, "1.5.0"),
        (["--dialect", "pi-0.87"], {}, "0.87.1"),
    ],
)
def test_the_version_is_that_of_the_pi_it_stands_in_for(
    run: Run, flags: list[str], env: dict[str, str], version: str
) -> None:
    done = run("--version", *flags, **env)
    assert (done.stdout, done.stderr, done.returncode) == (f"{version}\n", "", 0)


def test_linnet_tells_its_own_version_and_the_newest_pi_it_speaks_as(run: Run) -> None:
    assert run("--version", name="linnet").stdout == f"linnet {__version__} (speaks as pi 1.5.0)\n"


def test_a_version_or_a_dialect_chooses_what_is_spoken(run: Run) -> None:
    assert told_by(run)[-1] == told_by(run, "--pi-version", "1.9.9")[-1] == "agent_settled"
    for flags in (["--pi-version", "0.73"], ["--dialect", "pi-0.73"], ["--pi-version", "0.35.2"]):
        assert told_by(run, *flags)[-1] == "agent_end"
    assert told_by(run, LINNET_PI_VERSION="0.74")[-1] == "agent_end"
    assert told_by(run, "--dialect", "pi-1", LINNET_PI_VERSION="0.74")[-1] == "agent_settled"


def test_linnet_stays_as_it_is_unless_a_flag_says_otherwise(run: Run) -> None:
    assert told_by(run, name="linnet")[-1] == told_by(run, name="linnet", LINNET_PI_VERSION="1.5")[-1] == "agent_end"
    assert told_by(run, "--pi-version", "1.5", name="linnet")[-1] == "agent_settled"
    assert told_by(run, "--dialect", "pi-1", name="linnet")[-1] == "agent_settled"


@pytest.mark.parametrize(
    ("flags", "env", "why"),
    [
        (["--pi-version", "new"], {}, "--pi-version must be a version of pi, such as 0.73 or 1.5.0, not 'new'"),
        ([], {"LINNET_PI_VERSION": "x"}, "LINNET_PI_VERSION must be a version of pi, such as 0.73 or 1.5.0, not 'x'"),
        (
            ["--pi-version", "0.73", "--dialect", "pi-1"],
            {},
            "--pi-version 0.73 speaks pi-0.73, and --dialect says pi-1; give one of them",
        ),
        # As the real pi says it.
        (["--nosuchflag"], {}, "Unknown option: --nosuchflag"),
        (["-Z"], {}, "Unknown option: -Z"),
        (["@x.txt", "hello"], {}, "@file arguments are not supported in RPC mode"),
        (["--fork", "a", "--no-session"], {}, "--fork cannot be combined with --no-session"),
        (["--fork", "a", "--continue"], {}, "--fork cannot be combined with --continue"),
        (["--session-id", "a", "--continue"], {}, "--session-id cannot be combined with --continue"),
        (["--session-id", "a", "--session", "b"], {}, "--session-id cannot be combined with --session"),
        (
            ["--session-id", "bad id!"],
            {},
            BAD_ID,
        ),
        (["--session", "ffffffff"], {}, "No session found matching 'ffffffff'"),
        (["--fork", "ffffffff"], {}, "No session found matching 'ffffffff'"),
        (["--name", " "], {}, "--name requires a non-empty value"),
        (["--name"], {}, "--name requires a value"),
        (["--mode", "bogus"], {}, 'Invalid mode "bogus". Valid values: text, json, rpc'),
        (["--mode"], {}, "--mode requires text, json, or rpc"),
        (["-e", "builtin:x"], {}, 'Failed to load extension "builtin:x": Unknown built-in extension: builtin:x'),
        (
            ["--provider", "nope", "--model", "x"],
            {},
            'Unknown provider "nope". Use --list-models to see available providers/models.',
        ),
        (
            ["--model", "nosuch"],
            {"ANTHROPIC_BASE_URL": ""},
            'Model "nosuch" not found. Use --list-models to see available models.',
        ),
        (["--tools", "read,+bash"], {}, "tool names cannot be mixed with +name or -name entries"),
    ],
)
def test_what_cannot_be_done_is_one_sentence_and_exit_code_1(
    run: Run, flags: list[str], env: dict[str, str], why: str
) -> None:
    done = run("--mode", "rpc", *flags, say=GET_STATE, **env)
    assert (done.stdout, done.stderr, done.returncode) == ("", f"Error: {why}\n", 1)


@pytest.mark.parametrize(
    ("flags", "warning"),
    [
        (
            ["--thinking", "huge"],
            'Invalid thinking level "huge". Valid values: off, minimal, low, medium, high, xhigh, max',
        ),
        (
            ["--provider", "anthropic", "--model", "nosuch"],
            'Model "nosuch" not found for provider "anthropic". Using custom model id.',
        ),
        (
            ["--model", "anthropic/nosuch"],
            'Model "nosuch" not found for provider "anthropic". Using custom model id.',
        ),
        (["--session-id", "mine"], "No project session found with id 'mine'; creating a new session with that id."),
        (["--use-theme", "dark"], "--use-theme is ignored: nothing is drawn here"),
        (["--session", "a.jsonl", "--continue"], "--continue is ignored: --session comes first"),
        (["--session", "nowhere", "--no-session"], "--session is ignored: --no-session comes first"),
        (["hello"], "rpc mode takes prompts on stdin, so this one is ignored: 'hello'"),
        (["--models", "claude-*,nosuch"], 'No models match pattern "nosuch"'),
        (["--skill", "/nowhere/x"], "--skill /nowhere/x is not there"),
        (["--prompt-template", "/nowhere/x"], "--prompt-template /nowhere/x is not there"),
        (
            ["-e", "builtin:codemode", "-e", "builtin:mcp"],
            "--extension builtin:codemode is ignored: it is a part of pi, and linnet has none of it",
        ),
    ],
)
def test_what_pi_only_warns_of_is_a_warning_and_the_start_goes_on(run: Run, flags: list[str], warning: str) -> None:
    done = run("--mode", "rpc", *flags, say=GET_STATE)
    assert (frames(done)[0]["success"], done.returncode) == (True, 0)
    assert done.stderr == f"Warning: {warning}\n"


MODELS = {
    "providers": {
        "ours": {
            "baseUrl": "http://127.0.0.1:9",
            "apiKey": "x",
            "api": "anthropic-messages",
            "models": [
                {"id": "scripted"},
                {"id": "thinker", "reasoning": True},
                {"id": "small", "name": "The little one"},
            ],
        }
    }
}
PIS_DEFAULT = {"defaultProvider": "ours", "defaultModel": "scripted"}


@pytest.mark.parametrize("settings", [{}, PIS_DEFAULT])
@pytest.mark.parametrize(
    ("flags", "model"),
    [
        (["--model", "little"], "ours/small:off"),
        (["--model", "thin"], "ours/thinker:medium"),
        (["--model", "ours/thin:high"], "ours/thinker:high"),
        (["--provider", "ours", "--model", "smal"], "ours/small:off"),
        (["--model", "claude-haiku-4-5:low"], "anthropic/claude-haiku-4-5:low"),
        (["--models", "thinker:high,small"], "ours/thinker:high"),
    ],
)
def test_a_name_is_looked_for_in_what_every_provider_lists_whatever_pis_settings_suggest(
    run: Run, tmp_path: Path, settings: dict[str, str], flags: list[str], model: str
) -> None:
    pis_files(tmp_path, settings)
    [answer] = frames(run("--mode", "rpc", "--no-session", *flags, say=GET_STATE))
    chosen, level = answer["data"]["model"], answer["data"]["thinkingLevel"]
    assert f"{chosen['provider']}/{chosen['id']}:{level}" == model


@pytest.mark.parametrize(
    ("words", "lines"),
    [
        (
            ["ours/"],
            [
                "provider  model     context  max-out  thinking  images",
                "ours      scripted  128K     16.4K    no        no    ",
                "ours      small     128K     16.4K    no        no    ",
                "ours      thinker   128K     16.4K    yes       no    ",
            ],
        ),
        (["nosuch"], ['No models matching "nosuch"']),
    ],
)
def test_models_are_listed_in_pis_table(run: Run, tmp_path: Path, words: list[str], lines: list[str]) -> None:
    pis_files(tmp_path, {})
    done = run("--list-models", *words)
    assert (done.stdout.splitlines(), done.stderr, done.returncode) == (lines, "", 0)


@pytest.mark.parametrize("command", ["install", "update", "auth", "mcp"])
def test_a_command_of_pis_is_no_prompt(run: Run, command: str) -> None:
    done = run(command, "something")
    why = f"Error: linnet-pi has no command {command}: the pi it stands in for has it\n"
    assert (done.stdout, done.stderr, done.returncode) == ("", why, 1)
    assert run("-p", command, "--no-session").stdout == f"{HELLO}\n"


def test_a_dialect_comes_before_the_variable(run: Run) -> None:
    assert run("--version", "--dialect", "pi-1", LINNET_PI_VERSION="0.73").stdout == "1.5.0\n"


def test_a_provider_of_pis_settings_that_is_not_there_is_not_blamed_for_a_key_that_is_missing(
    run: Run, tmp_path: Path
) -> None:
    pis_files(tmp_path, {"defaultProvider": "gone", "defaultModel": "x"})
    (tmp_path / ".pi" / "agent" / "models.json").unlink()
    done = run("-p", "hi", ANTHROPIC_API_KEY="", ANTHROPIC_BASE_URL="")
    assert done.stderr.startswith("Error: no credential"), done.stderr
    assert (done.stdout, done.returncode) == ("", 1)


@pytest.mark.parametrize("word", ["nosuch", "no/such", "thinker:bogus"])
def test_a_name_that_no_provider_lists_is_refused_though_pis_settings_suggest_a_provider(
    run: Run, tmp_path: Path, word: str
) -> None:
    pis_files(tmp_path, PIS_DEFAULT)
    done = run("--mode", "rpc", "--no-session", "--model", word, say=GET_STATE)
    why = f'Error: Model "{word}" not found. Use --list-models to see available models.\n'
    assert (done.stdout, done.stderr, done.returncode) == ("", why, 1)


def pis_files(home: Path, settings: dict[str, str]) -> None:
    (home / ".pi" / "agent").mkdir(parents=True)
    (home / ".pi" / "agent" / "models.json").write_text(json.dumps(MODELS))
    (home / ".pi" / "agent" / "settings.json").write_text(json.dumps(settings))


def test_a_model_that_nobody_lists_is_asked_for_by_the_id_that_was_given(run: Run, server: ModelServer) -> None:
    run("-p", "hi", "--model", "anthropic/claude-of-tomorrow")
    assert server.requests[-1].body["model"] == "claude-of-tomorrow"


def test_an_id_is_used_again_by_the_next_start_and_a_name_is_kept(run: Run) -> None:
    def state(*flags: str, say: str = "") -> dict[str, Any]:
        *_, last = frames(run("--mode", "rpc", "--pi-version", "0.35", *flags, say=say + GET_STATE))
        data: dict[str, Any] = last["data"]
        return data

    assert run("-p", "one", "--session-id", "my-id.1", "--name", " the plan ").stdout == f"{HELLO}\n"
    again = state("--session-id", "my-id.1")
    assert (again["sessionId"], again["sessionName"], again["messageCount"]) == ("my-id.1", "the plan", 2)
    assert Path(again["sessionFile"]).name.endswith("_my-id.1.jsonl")
    assert state("-n", "other", "-c")["sessionName"] == "other"
    copied = state("--fork", "my-id", "--session-id", "copy")
    assert (copied["sessionId"], copied["messageCount"]) == ("copy", 2)
    assert run("--mode", "rpc", "--fork", "my-id", "--session-id", "my-id.1").returncode == 1
    unsaved = state("--no-session", "--session-id", "passing")
    assert unsaved["sessionId"] == "passing"
    assert "sessionFile" not in unsaved


def test_linnet_itself_has_ids_and_names_too(run: Run) -> None:
    run("-p", "one", "--session-id", "mine", "--name", "plan", name="linnet")
    [found] = frames(run("sessions", "--json", name="linnet"))
    assert (found["id"], found["name"]) == ("mine", "plan")
    done = run("-p", "one", "--session-id", "../up", name="linnet")
    assert done.returncode == 1
    assert done.stderr.startswith("linnet: --session-id must be letters, digits, dots, dashes and underscores")


@pytest.mark.parametrize(
    ("flags", "names"),
    [
        ([], ["bash", "edit", "read", "write"]),
        (["-t", "read,grep"], ["grep", "read"]),
        (["-t", "r*,ls"], ["ls", "read"]),
        (["-t", "+grep,-bash"], ["edit", "grep", "read", "write"]),
        (["-xt", "bash,w*"], ["edit", "read"]),
        (["-t", "read,bash", "-xt", "bash"], ["read"]),
        (["-t", "read,of_an_extension"], ["read"]),
        (["-nt"], []),
        (["-nbt"], []),
    ],
)
def test_tools_are_chosen_as_pi_chooses_them(run: Run, server: ModelServer, flags: list[str], names: list[str]) -> None:
    done = run("-p", "hi", *flags)
    assert (done.stderr, done.returncode) == ("", 0)
    assert [tool["name"] for tool in server.requests[-1].body.get("tools", [])] == names


EXTENSION = """
def extend(linnet):
    for name in ("greet", "part"):
        @linnet.tool(name=name)
        def say(who: str) -> str:
            "Say something."
            return who
"""


@pytest.mark.parametrize(
    ("flags", "names"),
    [
        ([], {"bash", "edit", "greet", "part", "read", "write"}),
        (["-nbt"], {"greet", "part"}),
        (["-t", "read,gr*"], {"read", "greet", "grep"}),
        (["-t", "+grep,-part"], {"bash", "edit", "greet", "grep", "read", "write"}),
        (["-xt", "greet,bash"], {"edit", "part", "read", "write"}),
        (["-nt"], set()),
    ],
)
def test_a_list_of_tools_is_one_of_the_extensions_tools_too(
    run: Run, server: ModelServer, tmp_path: Path, flags: list[str], names: set[str]
) -> None:
    (tmp_path / "greets.py").write_text(EXTENSION)
    done = run("-p", "hi", "-e", str(tmp_path / "greets.py"), *flags)
    assert (done.stderr, done.returncode) == ("", 0)
    assert {tool["name"] for tool in server.requests[-1].body.get("tools", [])} == names


def test_a_tool_that_is_left_out_is_one_that_nobody_has(run: Run, tmp_path: Path) -> None:
    (tmp_path / "greets.py").write_text(EXTENSION)
    extension = ("-e", str(tmp_path / "greets.py"), "-xt", "greet")
    done = run("--mode", "json", '!tool greet {"who":"you"}', *extension)
    [ended] = [frame for frame in frames(done) if frame["type"] == "tool_execution_end"]
    assert ended["isError"]
    assert ended["result"]["content"][0]["text"] == "Tool greet not found"


def test_json_mode_prints_the_header_first_and_what_went_wrong_is_the_exit_code(run: Run) -> None:
    done = run("--mode", "json", "--no-session", "one", "two", say="piped\n")
    header, *events = frames(done)
    assert set(header) == {"type", "version", "id", "timestamp", "cwd"}
    assert (header["type"], header["version"]) == ("session", 3)
    assert [frame["type"] for frame in events].count("agent_settled") == 2
    users = [f["message"] for f in events if f["type"] == "message_end" and f["message"]["role"] == "user"]
    assert [message["content"][0]["text"] for message in users] == ["piped\n\none", "two"]
    assert (done.stderr, done.returncode) == ("", 0)
    done = run("--mode", "json", "!fail 401 1")
    assert types(frames(done))[-1] == "agent_settled"
    assert done.returncode == 1


@pytest.mark.parametrize("flags", [["-p"], ["--mode", "json"]])
def test_a_prompt_that_fails_is_told_of_as_every_other_error(run: Run, flags: list[str]) -> None:
    done = run(*flags, "!fail 400 1", "--no-session")
    assert done.stderr.startswith("Error: "), done.stderr
    assert (done.stderr.count("\n"), done.returncode) == (1, 1)


def test_an_extension_that_fails_once_it_is_started_is_told_of_as_every_other_error(tmp_path: Path) -> None:
    broken = tmp_path / "broken.py"
    broken.write_text("raise RuntimeError('not today')")
    flags = ["--mode", "rpc", "--no-session", "--provider", "scripted", "-e", str(broken)]
    with Agent(*flags, cwd=tmp_path, program="linnet-pi") as agent:
        assert agent.wait() == 1  # While its stdin is open.
        assert agent.stderr.startswith(f'Error: Failed to load extension "{broken}": '), agent.stderr


def test_json_mode_without_a_message_prints_the_header_alone(run: Run) -> None:
    for flags in (["--no-session"], []):
        done = run("--mode", "json", *flags)
        assert types(frames(done)) == ["session"]
        assert (done.stderr, done.returncode) == ("", 0)


def test_what_is_not_on_a_terminal_prints_the_answer(run: Run) -> None:
    assert run("hi").stdout == run("--mode", "text", "hi").stdout == run(say="hi").stdout == f"{HELLO}\n"
    assert run("--", "-hi").stdout == f"{HELLO}\n"


def test_commands_of_the_model_are_told_of_the_session(run: Run, tmp_path: Path) -> None:
    command = json.dumps({"command": "env | grep -E '^(PI_|AI_AGENT)' | sort"})
    flags = ("--mode", "json", "--model", "claude-opus-4-5:low", "--session-id", "mine")

    def told(*more: str) -> list[str]:
        done = run(*flags, f"!tool bash {command}", *more, PI_SESSION_FILE="/of/another", PI_MODEL="another")
        [ended] = [frame for frame in frames(done) if frame["type"] == "tool_execution_end"]
        text: str = ended["result"]["content"][0]["text"]
        return text.splitlines()

    of_all = ["AI_AGENT=pi", "PI_CODING_AGENT=true", "PI_MODEL=claude-opus-4-5", "PI_PROVIDER=anthropic"]
    session = ["PI_REASONING_LEVEL=low", "PI_SESSION_ID=mine"]
    assert told("--no-session") == [*of_all, *session]
    [file] = [line for line in told() if line.startswith("PI_SESSION_FILE=")]
    assert file.endswith("_mine.jsonl")
    assert Path(file.partition("=")[2]).is_relative_to(tmp_path / ".pi" / "agent" / "sessions")


def test_todays_pi_thinks_by_default_and_the_one_of_old_does_not(run: Run, server: ModelServer) -> None:
    run("-p", "hi", "--model", "claude-opus-4-8")
    assert server.requests[-1].body["output_config"] == {"effort": "medium"}
    run("-p", "hi", "--model", "claude-opus-4-8", "--pi-version", "0.35")
    assert "output_config" not in server.requests[-1].body


OF_A_TERMINAL = {"--help", "-h", "--resume", "-r", "--verbose", "--theme", "--use-theme", "--no-themes", "--tui-mode"}
# fmt: off
WITH_A_WORD = (
    "--provider", "--model", "--api-key", "--system-prompt", "--append-system-prompt", "--mode", "--session",
    "--session-id", "--fork", "--session-dir", "--name", "-n", "--models", "--tools", "-t", "--exclude-tools", "-xt",
    "--thinking", "--extension", "-e", "--skill", "--prompt-template", "--theme", "--use-theme", "--export",
    "--tui-mode",
)
WITHOUT = (
    "--print", "-p", "--continue", "-c", "--resume", "-r", "--no-session", "--no-tools", "-nt", "--no-builtin-tools",
    "-nbt", "--no-extensions", "-ne", "--no-mcp", "--no-skills", "-ns", "--no-prompt-templates", "-np", "--no-themes",
    "--no-context-files", "-nc", "--list-models", "--verbose", "--approve", "-a", "--no-approve", "-na", "--offline",
    "--help", "-h", "--version", "-v",
)
# fmt: on


def test_every_flag_of_todays_pi_is_accepted() -> None:
    known = PI.by_name()
    assert {name for name in (*WITH_A_WORD, *WITHOUT) if name not in known} == set()
    assert [name for name in WITH_A_WORD if known[name].parse is None] == []
    assert [name for name in WITHOUT if known[name].parse is not None] == []
    unused = {name for name in (*WITH_A_WORD, *WITHOUT) if not known[name].field}
    assert unused <= OF_A_TERMINAL | {"--offline"}
    assert parse(["--", "--mode", "x"], PI).words == ["--mode", "x"]
