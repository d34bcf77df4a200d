"""What a project brings is used where somebody said so, and only as it was then."""

import json
import os
import pty
import subprocess
import sys
from collections import deque
from collections.abc import Iterator, Sequence
from pathlib import Path
from threading import Event as Signal
from typing import Any

import pytest

from linnet.core import commands
from linnet.core.events import Event, ProjectUntrusted
from linnet.core.project.protected import PROTECTED_NAMES
from linnet.core.toolspec import ToolSpec
from linnet.errors import BadInput, ConfigError, LinnetError
from linnet.runtime.config.config import SDK, Config
from linnet.runtime.listener import Listener
from linnet.runtime.project import project_fingerprint
from linnet.runtime.project.project import Project
from linnet.runtime.requester import Requester
from linnet.runtime.resources import Resources
from linnet.runtime.session import Session
from linnet.runtime.settings.settings import Settings, resolve
from linnet.testing.agent import Agent, types
from tests.settings.conftest import Bench
from tests.suite import forked
from tests.suite.forked import ForkedAgent

SETTINGS = ".linnet/settings.json"


def project(bench: Bench, **options: Any) -> Project:
    found = Project(str(bench.work), str(bench.home), **options)
    found.decide(None, None, [])
    return found


def trusted(bench: Bench) -> Project:
    first = project(bench)
    assert first.survey() is not None
    first.answer("always")
    return first


def test_a_folder_that_brings_nothing_is_not_asked_about(bench: Bench) -> None:
    assert project(bench).survey() is None
    bench.plant(".linnet/README.md")
    bench.plant(".pi/settings.json", "{}")
    bench.plant("AGENTS.md")
    bench.plant("extensions/x.py")
    assert project(bench).survey() is None
    assert os.listdir(bench.home) == []


def test_what_is_found_is_listed_by_kind(bench: Bench) -> None:
    kinds = {
        ".linnet/settings.json": "settings",
        ".linnet/mcp.json": "mcp",
        ".linnet/SYSTEM.md": "system_prompt",
        ".linnet/APPEND_SYSTEM.md": "system_prompt",
        ".linnet/extensions/a.py": "extension",
        ".linnet/prompts/p.md": "template",
        ".linnet/skills/s/SKILL.md": "skill",
        ".agents/skills/t/SKILL.md": "skill",
        ".pi/extensions/e.ts": "extension",
    }
    for path in kinds:
        bench.plant(path)
    bench.plant(".linnet/notes.txt")
    untrusted = project(bench, stands_for="pi").survey()
    assert untrusted is not None
    listed = {os.path.relpath(each.path, bench.work): each.kind for each in untrusted.found}
    assert listed == {path.removesuffix("/SKILL.md"): kind for path, kind in kinds.items()}
    assert untrusted.changed == ()


def test_shared_skills_above_count_up_to_the_repository(bench: Bench) -> None:
    bench.plant(".agents/skills/s/SKILL.md")
    inner = bench.work / "a" / "b"
    inner.mkdir(parents=True)

    def found() -> bool:
        below = Project(str(inner), str(bench.home))
        below.decide(None, None, [])
        return below.survey() is not None

    assert not found()
    (bench.work / ".git").mkdir()
    assert found()


def test_it_is_remembered_by_real_path_with_what_was_trusted(bench: Bench, tmp_path: Path) -> None:
    bench.plant(SETTINGS, "{}")
    assert not project(bench).trusted
    trusted(bench)
    assert project(bench).resources == str(bench.work / ".linnet")
    (tmp_path / "link").symlink_to(bench.work)
    again = Project(os.path.realpath(tmp_path / "link"), str(bench.home))
    again.decide(None, None, [])
    assert again.trusted
    kept = json.loads((bench.home / "trust.json").read_text())
    assert list(kept) == [str(bench.work)]
    assert kept[str(bench.work)]["answer"] == "always"
    assert list(kept[str(bench.work)]["files"]) == [SETTINGS]


@pytest.mark.parametrize(
    ("change", "path"),
    [
        (lambda bench: bench.plant(SETTINGS, '{"model": "x"}'), SETTINGS),
        (lambda bench: bench.plant(SETTINGS, "{}", mode=0o755), SETTINGS),
        (lambda bench: bench.plant(".linnet/extensions/new.py"), ".linnet/extensions/new.py"),
        (lambda bench: bench.plant(".linnet/lib/helper.py", "changed"), ".linnet/lib/helper.py"),
        (lambda bench: (bench.work / ".linnet/lib/helper.py").unlink(), ".linnet/lib/helper.py"),
        (lambda bench: bench.plant(".agents/skills/s/SKILL.md"), ".agents/skills/s/SKILL.md"),
        (lambda bench: bench.plant(".pi/mcp.json"), ".pi/mcp.json"),
        (lambda bench: os.mkfifo(bench.work / ".linnet/pipe"), ".linnet/pipe"),
        (lambda bench: os.symlink(bench.work / "nowhere", bench.work / ".linnet/x"), ".linnet/x"),
    ],
)
def test_a_change_asks_again_and_says_what_changed(bench: Bench, change: Any, path: str) -> None:
    bench.plant(SETTINGS, "{}")
    bench.plant(".linnet/lib/helper.py")
    trusted(bench)
    change(bench)
    after = project(bench)
    assert not after.trusted
    untrusted = after.survey()
    assert untrusted is not None
    assert untrusted.changed == (path,)
    after.answer("always")
    assert project(bench).trusted


def test_a_change_behind_a_link_counts_too(bench: Bench, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "a.py").write_text("1")
    bench.plant(SETTINGS, "{}")
    (bench.work / ".linnet" / "extensions").symlink_to(outside)
    trusted(bench)
    assert project(bench).trusted
    (outside / "a.py").write_text("2")
    assert not project(bench).trusted


def test_once_is_for_this_process_and_never_is_for_good(bench: Bench) -> None:
    bench.plant(SETTINGS, "{}")
    first = project(bench)
    first.answer("once")
    assert first.trusted
    assert not (bench.home / "trust.json").exists()
    second = project(bench)
    assert not second.trusted
    second.answer("never")
    bench.plant(SETTINGS, '{"model": "x"}')
    third = project(bench)
    assert (third.trusted, third.decided, third.survey()) == (False, True, None)


def test_flags_come_before_what_was_remembered_and_the_setting_after(bench: Bench) -> None:
    bench.plant(SETTINGS, "{}")

    def decided(flag: bool | None, setting: bool | None) -> tuple[bool, bool]:
        found = Project(str(bench.work), str(bench.home))
        found.decide(flag, setting, [])
        return found.trusted, found.survey() is not None

    assert decided(None, None) == (False, True)
    assert decided(None, True) == (True, False)
    assert decided(None, False) == (False, False)
    project(bench).answer("never")
    assert decided(None, True) == (False, False)
    assert decided(True, None) == (True, False)
    project(bench).answer("always")
    assert decided(None, False) == (True, False)
    assert decided(False, None) == (False, False)


def test_what_is_answered_is_what_was_listed(bench: Bench) -> None:
    bench.plant(SETTINGS, "{}")
    found = project(bench)
    assert found.survey() is not None
    bench.plant(".linnet/extensions/evil.py")
    for answer in ("once", "always"):
        with pytest.raises(BadInput, match="has changed since it was listed"):
            found.answer(answer)
        assert not found.trusted
        bench.plant(".linnet/extensions/evil.py", answer)
        assert found.survey() is not None
        bench.plant(".linnet/extensions/evil.py", f"{answer} again")
    assert not (bench.home / "trust.json").exists()


def test_what_is_read_is_what_was_trusted(bench: Bench) -> None:
    file = bench.plant(SETTINGS, "{}")
    found = trusted(bench)
    assert found.read(str(file)) == b"{}"
    assert found.read(str(file.with_name("gone.json"))) is None
    file.write_text('{"shell": "/bin/evil"}')
    bench.plant(".linnet/mcp.json", "{}")
    for path in (file, file.with_name("mcp.json")):
        with pytest.raises(ConfigError, match="is not what was trusted"):
            found.read(str(path))
    assert project(bench).read(str(file)) is None


def test_too_much_is_trusted_once_or_not_at_all(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(4):
        bench.plant(f".linnet/prompts/{number}.md", "x" * 100)
    for name, most in (("MOST_FILES", 3), ("MOST_BYTES", 300)):
        with monkeypatch.context() as patch:
            patch.setattr(project_fingerprint, name, most)
            found = project(bench)
            with pytest.raises(ConfigError, match="too much to be remembered"):
                found.answer("always")
            assert not found.trusted
            found.answer("once")
            assert found.trusted


def test_links_that_loop_and_folders_without_end_are_walked_once(bench: Bench) -> None:
    bench.plant(".linnet/prompts/a.md")
    (bench.work / ".linnet" / "loop").symlink_to(".")
    (bench.work / ".linnet" / "self").symlink_to("self")
    deep = bench.work / ".linnet" / "/".join("d" * 30)
    deep.mkdir(parents=True)
    found = project_fingerprint.fingerprint(str(bench.work), [str(bench.work / ".linnet")])
    assert found.whole
    assert len(found.files) < 10


@pytest.mark.parametrize("text", ["{", "[]", '{"/x": {"answer": "perhaps"}}', '{"/x": true}', "\x00"])
def test_a_trust_file_that_makes_no_sense_trusts_nobody_and_says_so(bench: Bench, text: str) -> None:
    bench.plant(SETTINGS, "{}")
    (bench.home / "trust.json").write_text(text)
    remarks: list[str] = []
    found = Project(str(bench.work), str(bench.home))
    found.decide(None, True, remarks)
    assert not found.trusted
    [remark] = remarks
    assert remark.startswith(f"{bench.home / 'trust.json'}:1: ")
    with pytest.raises(ConfigError):
        found.answer("always")
    assert (bench.home / "trust.json").read_text() == text


def test_the_home_folder_is_never_a_projects(tmp_path: Path) -> None:
    home = tmp_path / ".linnet"
    (home / "extensions").mkdir(parents=True)
    (home / "settings.json").write_text("{}")
    for root in (tmp_path, tmp_path / "other"):
        root.mkdir(exist_ok=True)
        if root != tmp_path:
            (root / ".linnet").symlink_to(home)
        found = Project(str(root), str(home))
        found.decide(True, None, [])
        assert found.resources is None
        assert found.survey() is None


def rpc(bench: Bench, dialect: str, *flags: str) -> Agent:
    words = ("rpc",) if dialect == "zot" else ("--mode", "rpc", "--no-session")
    return ForkedAgent(*words, "--provider", "scripted", *flags, cwd=bench.work, env=bench.env)


@pytest.mark.parametrize("dialect", ["zot", "pi"])
def test_a_client_is_told_once_what_was_left_out_and_may_answer(bench: Bench, dialect: str) -> None:
    file = bench.plant(SETTINGS, '{"model": "scripted-2", "provider": "scripted", "tools": ["read"]}')
    with rpc(bench, dialect) as agent:
        assert agent.ask("get_state")["success"]
        if "project_untrusted" not in types(agent.seen):  # It may come before the response, or after it.
            agent.until("project_untrusted")
        [told] = [frame for frame in agent.seen if frame["type"] == "project_untrusted"]
        assert told == {
            "type": "project_untrusted",
            "path": str(bench.work),
            "found": [{"kind": "settings", "path": str(file)}],
        }
        assert "scripted-2" not in json.dumps(agent.ask("get_state"))
        refused = agent.ask("trust", answer="perhaps")
        assert (refused["success"], refused["error"]) == (False, "`answer` must be once, always or never")
        assert agent.ask("trust", answer="always")["success"]
        assert "scripted-2" in json.dumps(agent.ask("get_state"))
        agent.send({"type": "prompt", "message": "hello"})
        agent.until("done" if dialect == "zot" else "agent_end")
        assert [frame["type"] for frame in agent.seen].count("project_untrusted") == 1
    with rpc(bench, dialect) as agent:
        assert "scripted-2" in json.dumps(agent.ask("get_state"))
        assert agent.ask("trust", answer="never")["success"]
        assert "scripted-2" not in json.dumps(agent.ask("get_state"))
    bench.plant(SETTINGS, "{}")
    with rpc(bench, dialect) as agent:
        agent.ask("get_state")
        agent.end()
        assert "project_untrusted" not in [frame["type"] for frame in agent.seen]


@pytest.mark.parametrize("dialect", ["zot", "pi"])
def test_templates_and_skills_are_there_once_it_is_answered(bench: Bench, dialect: str) -> None:
    bench.plant(".linnet/prompts/sing.md", "Tweet")
    bench.plant(".agents/skills/fly/SKILL.md", "---\nname: fly\ndescription: How to fly.\n---\n")

    def listed(agent: Agent) -> list[str]:
        return [command["name"] for command in agent.ask("get_commands")["data"]["commands"]]

    with rpc(bench, dialect) as agent:
        assert listed(agent) == []
        assert agent.ask("trust", answer="once")["success"]
        agent.send({"type": "prompt", "message": "hello"})
        agent.until("done" if dialect == "zot" else "agent_end")
        assert listed(agent) == ["sing", "skill:fly"]
        assert agent.ask("trust", answer="never")["success"]
        assert listed(agent) == []


@pytest.mark.parametrize("answer", ["once", "always"])
def test_what_cannot_be_used_is_refused_when_it_is_trusted(bench: Bench, answer: str) -> None:
    file = bench.plant(SETTINGS, '{"max_steps": "many"}')
    bench.plant(".linnet/prompts/sing.md", "Tweet")
    with rpc(bench, "zot") as agent:
        refused = agent.ask("trust", answer=answer)
        assert (refused["success"], refused["error"].partition(", ")[0]) == (
            False,
            f"{file}:1: max_steps: expected a whole number",
        )
        assert agent.ask("get_commands")["data"]["commands"] == []
    assert "always" not in bench.run("trust", "--list").stdout


def test_a_guard_that_a_project_names_and_does_not_have_is_refused_when_it_is_trusted(bench: Bench) -> None:
    bench.plant(SETTINGS, '{"extensions": ["nosuch.py"], "model": "scripted-2", "provider": "scripted"}')
    with rpc(bench, "zot") as agent:
        refused = agent.ask("trust", answer="once")
        assert not refused["success"]
        assert refused["error"].startswith(f'Failed to load extension "{bench.work / "nosuch.py"}"')
        assert "scripted-2" not in json.dumps(agent.ask("get_state"))


@pytest.mark.parametrize("dialect", ["zot", "pi"])
def test_extensions_come_and_go_with_trust_and_leave_nothing_behind(bench: Bench, dialect: str) -> None:
    command = "    linnet.command('sing', description='Tweet')(lambda args, ctx: None)\n"
    bench.plant(".linnet/extensions/bird/__init__.py", f"from . import wings\ndef extend(linnet):\n{command}")
    bench.plant(".linnet/extensions/bird/wings.py", "")
    (bench.home / "extensions").mkdir()
    bench.plant("../home/extensions/mine.py", "def extend(linnet): pass\n")

    def listed(agent: Agent) -> list[str]:
        return [command["name"] for command in agent.ask("get_commands")["data"]["commands"]]

    with rpc(bench, dialect) as agent:
        assert listed(agent) == []
        assert agent.ask("trust", answer="always")["success"]
        assert listed(agent) == ["sing"]
    assert project(bench).trusted
    with rpc(bench, dialect) as agent:
        assert listed(agent) == ["sing"]
        assert agent.ask("trust", answer="never")["success"]
        assert listed(agent) == []


def test_an_answer_during_a_run_is_for_the_next_one(bench: Bench) -> None:
    bench.plant(SETTINGS, '{"model": "scripted-2", "provider": "scripted"}')
    script = {
        "turns": [[{"call": "bash", "args": {"command": "while [ ! -e go ]; do sleep 0.01; done"}}], [{"text": "1"}]]
    }
    bench.plant("script.json", json.dumps({"turns": [*script["turns"], [{"text": "2"}]]}))
    with ForkedAgent("rpc", "--script", "script.json", cwd=bench.work, env=bench.env) as agent:
        agent.send({"id": 1, "type": "prompt", "message": "a"})
        agent.until("tool_call")
        assert agent.ask("trust", answer="once")["success"]
        assert agent.ask("get_state")["data"]["model"] == "scripted"
        bench.plant("go")
        agent.until("done")
        assert agent.ask("get_state")["data"]["model"] == "scripted-2"
        assert agent.prompt("b")[-1]["type"] == "done"


@pytest.mark.parametrize(
    ("words", "flags"),
    [
        (("-p", "hello"), ("--trust",)),
        (("--mode", "json", "hello"), ("--trust",)),
    ],
)
def test_one_prompt_says_in_a_line_what_was_left_out(
    bench: Bench, words: tuple[str, ...], flags: tuple[str, ...]
) -> None:
    words = (*words, "--script", one_reply(bench))
    bench.plant(SETTINGS, '{"max_steps": "wrong"}')
    done = bench.run(*words)
    assert done.returncode == 0
    assert done.stderr == (
        f"linnet: what {bench.work} brings is left out, since nobody has said that it is trusted; see linnet trust\n"
    )
    assert bench.run(*words, "--no-trust").stderr == ""
    refused = bench.run(*words, *flags)
    assert (refused.returncode, refused.stderr.count("\n")) == (1, 1)
    assert f"{bench.work / SETTINGS}:1: max_steps: expected a whole number" in refused.stderr


def one_reply(bench: Bench) -> str:
    """A model that says a word, instead of doing the built-in job."""
    script = bench.home.parent / "script.json"
    script.write_text('{"turns": [[{"text": "hi"}]], "loop": true}')
    return str(script)


def in_terminal(bench: Bench, answer: bytes) -> tuple[str, int]:
    """Run `linnet -p` with a terminal for stdin and stderr, and type this."""
    main, end = pty.openpty()
    command = [str(Path(sys.executable).with_name("linnet")), "-p", "hello", "--script", one_reply(bench)]
    child = forked.Popen(
        command, cwd=bench.work, env=bench.env, stdin=end, stderr=end, stdout=subprocess.DEVNULL, start_new_session=True
    )
    os.close(end)
    os.write(main, answer)
    said = b""
    while True:
        try:
            part = os.read(main, 4096)
        except OSError:
            break
        if not part:
            break
        said += part
    os.close(main)
    return said.decode(), child.wait(30)


def test_people_in_a_terminal_are_asked_once(bench: Bench) -> None:
    bench.plant(SETTINGS, "{}")
    bench.plant(".linnet/extensions/\x1b[2J\nevil.py", "def extend(linnet): pass")
    for answer, kept in ((b"\n", None), (b"o\n", None), (b"\x04", None), (b"a\n", "always")):
        said, code = in_terminal(bench, answer)
        assert code == 0
        assert "brings what can run code or speak to the model:" in said
        assert "\x1b[2J" not in said
        assert r"extension      .linnet/extensions/\x1b[2J\nevil.py" in said
        file = bench.home / "trust.json"
        assert (json.loads(file.read_text())[str(bench.work)]["answer"] if file.exists() else None) == kept
    assert "Use it?" not in in_terminal(bench, b"")[0]
    bench.plant(SETTINGS, '{"max_steps": 9}')
    said, _ = in_terminal(bench, b"v\n")
    assert "has changed since you trusted it:" in said
    assert ".linnet/settings.json" in said
    assert "Use it?" not in in_terminal(bench, b"")[0]


def test_folders_are_trusted_listed_and_forgotten_from_the_command_line(bench: Bench) -> None:
    assert "brings nothing" in bench.run("trust").stderr
    bench.plant(SETTINGS, "{}")
    done = bench.run("trust")
    assert (done.returncode, done.stdout) == (0, "  settings       .linnet/settings.json\n")
    assert bench.run("trust", "--list").stdout == f"always  {bench.work}\n"
    assert bench.run("trust", "--never").returncode == 0
    assert bench.run("trust", "--list").stdout == f"never   {bench.work}\n"
    assert bench.run("untrust").returncode == 0
    assert bench.run("trust", "--list").stdout == ""
    assert "nothing was said about" in bench.run("untrust").stderr
    refused = bench.run("trust", "everything")
    assert (refused.returncode, refused.stderr.count("\n")) == (2, 1)


def test_what_is_trusted_from_the_command_line_is_trusted_as_any_program(bench: Bench) -> None:
    bench.plant(".pi/settings.json", "{}")
    bench.plant(".claude/skills/s/SKILL.md")
    assert bench.run("trust").stdout == "  skill          .claude/skills/s\n  settings       .pi/settings.json\n"
    for stands_for in ("zot", "pi"):
        assert project(bench, stands_for=stands_for).trusted


def test_a_protocol_without_a_word_for_it_says_it_on_stderr(bench: Bench) -> None:
    bench.plant(SETTINGS, "{}")
    done = bench.run("rpc", "--dialect", "pi-legacy", "--provider", "scripted")
    assert (done.returncode, done.stdout) == (0, "")
    assert f"linnet: what {bench.work} brings is left out" in done.stderr


def test_linnet_pi_takes_pis_words_for_it(bench: Bench) -> None:
    bench.plant(".pi/settings.json", '{"defaultThinkingLevel": "high", "shellCommandPrefix": "x=1"}')

    def prefix(*flags: str) -> str:
        with ForkedAgent(
            "--mode",
            "rpc",
            "--provider",
            "scripted",
            "--no-session",
            *flags,
            cwd=bench.work,
            env=bench.env,
            program="linnet-pi",
        ) as agent:
            return str(agent.ask("bash", command="echo $x")["data"]["output"])

    assert prefix() == "\n"
    assert prefix("--no-approve") == "\n"
    assert prefix("-a") == prefix("--approve") == "1\n"


def is_trusted(project: Project) -> bool:
    return project.trusted


def test_when_it_is_decided_again_what_changed_is_no_longer_trusted(bench: Bench) -> None:
    file = bench.plant(SETTINGS, "{}")
    found = trusted(bench)
    assert not found.decide_again()
    assert is_trusted(found)
    bench.plant(".linnet/extensions/evil.py")
    assert found.decide_again()
    assert (found.trusted, found.resources, found.read(str(file))) == (False, None, None)
    found.decide(True, True, [])
    assert not is_trusted(found), "what was said at the start was said about something else"
    told = found.survey()
    assert told is not None
    assert told.changed == (".linnet/extensions/evil.py",)
    assert not found.decide_again()
    trusted(bench)  # By somebody else, elsewhere.
    assert found.decide_again()
    found.decide(None, None, [])
    assert is_trusted(found)
    bench.plant(".linnet/extensions/evil.py", "again")
    assert found.decide_again()
    assert found.survey() is not None
    found.answer("once")
    assert is_trusted(found)
    assert not found.decide_again()


@pytest.mark.parametrize(("flag", "setting"), [(True, None), (None, True)])
def test_what_is_trusted_whatever_it_is_may_change_unless_commands_could_have_done_it(
    bench: Bench, flag: bool | None, setting: bool | None
) -> None:
    bench.plant(SETTINGS, "{}")
    for watched in (False, True):
        found = Project(str(bench.work), str(bench.home))
        found.decide(flag, setting, [])
        if watched:
            found.watch()
        bench.plant(SETTINGS, json.dumps({"max_steps": 2 + watched}))
        assert found.decide_again() is watched
        found.decide(flag, setting, [])
        assert found.trusted is not watched
        assert (found.survey() is not None) is watched


@pytest.mark.parametrize("changed", [False, True])
def test_an_answer_about_something_else_is_no_answer_and_takes_trust_away(bench: Bench, changed: bool) -> None:
    bench.plant(SETTINGS, "{}")
    found = Project(str(bench.work), str(bench.home))
    found.decide(True, None, [])
    found.watch()
    if not changed:
        found.answer("once")
        assert found.trusted
        return
    bench.plant(SETTINGS, '{"max_steps": 2}')
    with pytest.raises(BadInput, match="has changed since"):
        found.answer("once")
    found.decide(True, None, [])
    assert not found.trusted


APPEARING = {
    ".linnet/skills/s/SKILL.md": None,
    ".linnet/prompts/t.md": None,
    ".linnet/SYSTEM.md": None,
    ".agents/skills/s/SKILL.md": None,
    ".pi/prompts/t.md": "pi",
    ".pi/skills/s/SKILL.md": "pi",
    ".zot/prompts/t.md": "zot",
    ".claude/skills/s/SKILL.md": "zot",
}


@pytest.mark.parametrize(("path", "peer"), APPEARING.items())
@pytest.mark.parametrize("linked", [False, True])
def test_what_appears_while_commands_run_in_a_sandbox_is_not_used_and_told_once(
    here: Bench, path: str, peer: Any, linked: bool
) -> None:
    settings = resolve(Config(provider="scripted", trust=True, skills=True, stands_in_for=peer), os.environ, SDK)
    settings.project.watch()
    assert settings.project.appeared() is None
    name = path.split("/")[0]
    here.plant(f"elsewhere{path.removeprefix(name)}" if linked else path, "---\nname: s\ndescription: S.\n---\nTweet")
    if linked:
        (here.work / name).symlink_to("elsewhere")

    def is_used() -> bool:
        resources = Resources(settings)
        resources.look()
        resources.slash_names.look()
        said = resources.system(["read", "skill"]) + str(resources.slash_names.listed())
        return "Tweet" in said or str(here.work / path) in said

    assert not is_used()
    told = settings.project.appeared()
    assert told is not None
    assert told.changed == (path,)
    assert settings.project.appeared() is None
    assert not is_used()
    settings.project.answer("once")
    assert is_used()


def test_a_name_that_other_programs_obey_is_watched_and_others_are_not(bench: Bench) -> None:
    found = Project(str(bench.work), str(bench.home))
    found.decide(True, None, [])
    bench.plant(".vscode/tasks.json")
    found.watch()
    for name in PROTECTED_NAMES:
        assert found.admits(str(bench.work / name)) == (name == ".vscode")
        assert found.admits(str(bench.work / name / "x")) == (name == ".vscode")
        assert found.admits(str(bench.work / f"{name}x"))
        assert found.admits(str(bench.work.parent / name))
    bench.plant(".git/hooks/pre-commit")
    assert found.appeared() is None, "linnet would use nothing of it"


RELOADED = [("remembered", ()), ("flag", ("--trust",)), ("flag in a sandbox", ("--trust", "--sandbox"))]


@pytest.mark.parametrize("dialect", ["zot", "pi"])
@pytest.mark.parametrize(("how", "flags"), RELOADED)
def test_a_reload_decides_again(bench: Bench, dialect: str, how: str, flags: tuple[str, ...]) -> None:
    command = "def extend(linnet): linnet.command('{}')(lambda args, ctx: None)\n"
    file = bench.plant(".linnet/extensions/bird.py", command.format("sing"))
    bench.plant(SETTINGS, '{"model": "scripted-2", "provider": "scripted"}')
    if not flags:
        trusted(bench)

    def listed(agent: Agent) -> list[str]:
        return [command["name"] for command in agent.ask("get_commands")["data"]["commands"]]

    with rpc(bench, dialect, *flags) as agent:
        assert listed(agent) == ["sing"]
        assert agent.ask("reload")["success"]
        assert listed(agent) == ["sing"]
        file.write_text(command.format("steal"))
        assert agent.ask("reload")["success"]
        if how == "flag":
            assert listed(agent) == ["steal"]
            return
        assert listed(agent) == []
        assert "scripted-2" not in json.dumps(agent.ask("get_state"))
        [told] = [frame for frame in agent.seen if frame["type"] == "project_untrusted"]
        assert told["changed"] == [".linnet/extensions/bird.py"]
        assert agent.ask("trust", answer="once")["success"]
        assert listed(agent) == ["steal"]
        assert "scripted-2" in json.dumps(agent.ask("get_state"))


def test_a_command_in_the_sandbox_teaches_the_agent_nothing(bench: Bench) -> None:
    skill = r"---\nname: evil\ndescription: Steals.\n---\n"
    plant = f"mkdir -p .agents/skills/evil && printf '%b' '{skill}' > .agents/skills/evil/SKILL.md"
    turns = [[{"call": "bash", "args": {"command": plant}}], [{"text": "planted"}], [{"text": "done"}]]
    bench.plant("script.json", json.dumps({"turns": turns}))
    flags = ("--script", "script.json", "--trust", "--sandbox")
    with ForkedAgent("rpc", *flags, cwd=bench.work, env=bench.env) as agent:
        agent.prompt("one")
        assert (bench.work / ".agents/skills/evil/SKILL.md").exists()
        told = agent.prompt("two")
        [event] = [frame for frame in told if frame["type"] == "project_untrusted"]
        assert event["changed"] == [".agents/skills/evil/SKILL.md"]
        assert agent.ask("get_commands")["data"]["commands"] == []
        assert agent.ask("reload")["success"]
        assert agent.ask("get_commands")["data"]["commands"] == []
        assert "appeared while the agent worked in a sandbox" in agent.stderr


class Everybody(Listener):
    """Hears nothing; there to be a listener."""


def reachable(root: object) -> Iterator[object]:
    """Everything of linnet's runtime that this holds on to."""
    seen: set[int] = set()
    todo = [root]
    while todo:
        each = todo.pop()
        if id(each) in seen:
            continue
        seen.add(id(each))
        yield each
        if isinstance(each, dict):
            todo += each.values()
        elif isinstance(each, list | tuple | set | frozenset | deque):
            todo += each
        elif type(each).__module__.startswith("linnet.") and not isinstance(each, Settings):
            todo += vars(each).values() if hasattr(each, "__dict__") else ()


def test_what_is_trusted_while_the_agent_lives_reaches_everybody_who_keeps_settings(here: Bench) -> None:
    here.plant(SETTINGS, '{"extension_flags": {"wings": 4}, "session_dir": "kept"}')
    (here.home / "extensions").mkdir()
    (here.home / "extensions" / "bird.py").write_text(
        "def extend(linnet):\n"
        "    wings = linnet.flag('wings', default=2)\n"
        "    linnet.command('sing', description=f'with {wings} wings')(lambda args, ctx: None)\n"
    )
    asked = Config(provider="scripted", session_dir=None, save=True)
    settings = resolve(asked, os.environ, SDK)
    session = Session(Resources(settings), [Everybody()])
    try:

        def ask(command: commands.Command) -> Any:
            answered = Answered()
            session.submit(command, answered)
            assert answered.over.wait(30)
            return answered.outcome

        [before] = ask(commands.GetCommands()).commands
        ask(commands.SetTools((ToolSpec("t", "T.", {"type": "object", "properties": {}}),)))
        assert ask(commands.Prompt("hello")).stop == "end"
        assert ask(commands.Trust("once")) == commands.Ok()
        [after] = ask(commands.GetCommands()).commands
        assert (before.description, after.description) == ("with 2 wings", "with 4 wings")
        held = [each for each in reachable(session) if isinstance(each, Settings)]
        assert [each.extension_flags["wings"] for each in held] == [4], "there are others than those that hold"
        ask(commands.NewSession())
        assert session.file is not None
        assert os.path.dirname(session.file) == str(here.work / "kept")
    finally:
        session.close()


def test_what_a_reload_told_is_not_told_again_by_a_start_that_is_late(here: Bench) -> None:
    file = here.plant(".linnet/extensions/bird.py", "def extend(linnet): pass\n")
    trusted(here)
    told: list[Event] = []

    class Client(Listener):
        def hear(self, events: Sequence[Event]) -> None:
            told.extend(event for event in events if isinstance(event, ProjectUntrusted))

    settings = resolve(Config(provider="scripted"), os.environ, SDK)
    session = Session(Resources(settings), [Client()])
    try:
        file.write_text("def extend(linnet): ...\n")
        answered = Answered()
        session.submit(commands.Reload(), answered)
        assert answered.over.wait(30)
        session.warm()
        assert len(told) == 1
    finally:
        session.close()


class Answered(Requester):
    def __init__(self) -> None:
        self.over = Signal()
        self.outcome: Any = None

    def finished(self, answer: commands.Answer) -> None:
        self.outcome = answer
        self.over.set()

    def refused(self, error: LinnetError) -> None:
        self.finished(error)  # type: ignore[arg-type]
