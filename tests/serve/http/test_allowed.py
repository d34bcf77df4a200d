"""What may be asked for over HTTP: some folders, some flags, no paths. Refusals name what is refused."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from linnet.core import commands
from linnet.errors import BadInput, ConfigError
from linnet.flags.flags import LINNET, parse
from linnet.serve.http.allowed import DEFAULT_FLAGS, Allowance, allowance
from linnet.serve.http.replies import Problem

Words = Callable[..., tuple[str, ...]]
NOTHING_MORE = Allowance()


@pytest.fixture
def words(tmp_path: Path) -> Words:
    """Check flags for an agent in a folder of the test's own."""

    def check(*said: str, allowed: Allowance = NOTHING_MORE, **environ: str) -> tuple[str, ...]:
        own = {"LINNET_HOME": str(tmp_path / "home"), **environ}
        return allowed.words(said, str(tmp_path), own, "/sessions/{}.jsonl".format)

    return check


def refused(call: Callable[..., Any], *arguments: Any, **named: Any) -> str:
    with pytest.raises(Problem) as caught:
        call(*arguments, **named)
    assert (caught.value.status, caught.value.code) == (403, "not_allowed")
    return caught.value.message


def test_the_usual_flags_are_passed_on_with_their_values_in_one_word(words: Words) -> None:
    said: tuple[str, ...] = (
        "--model",
        "x",
        "--provider=scripted",
        "--thinking",
        "high",
        "--name",
        "-a name",
        "--no-tools",
    )
    said += (
        "--tools",
        "read,bash",
        "--exclude-tools",
        "write",
        "--max-steps",
        "3",
        "--max-cost=1",
        "--max-seconds",
        "9",
    )

    passed_on = words(*said)

    assert parse(passed_on).config == parse(said).config
    assert passed_on[:2] == ("--model=x", "--provider=scripted")


@pytest.mark.parametrize("name", sorted(set(LINNET.by_name()) - {"--thinking", *DEFAULT_FLAGS}))
def test_every_other_flag_is_refused_by_name_unless_it_was_opened(name: str, words: Words) -> None:
    assert name in refused(lambda: words(name, "x"))
    assert name in refused(lambda: words(f"{name}=x"))
    flag = LINNET.by_name()[name]
    if flag.parse is None:
        assert words(name, allowed=allowance((), [name])) == (name,)


@pytest.mark.parametrize("word", ["rpc", "--", "-", "a prompt", "--no-such-flag", "", "-x"])
def test_words_that_are_no_flags_are_refused(word: str, words: Words) -> None:
    assert word in refused(lambda: words(word))


def test_a_value_that_cannot_be_understood_is_a_mistake_and_not_forbidden(words: Words) -> None:
    for said in (("--max-steps", "x"), ("--model",), ("--no-tools=1",), ("--permission", "none")):
        with pytest.raises(BadInput, match=said[0].partition("=")[0]):
            words(*said)


@pytest.mark.parametrize(
    ("holds", "allowed"),
    [
        ("auto", ["auto", "ask", "read-only", "deny"]),
        ("ask", ["ask", "read-only", "deny"]),
        ("read-only", ["read-only", "deny"]),
        ("deny", ["deny"]),
    ],
)
def test_a_permission_may_be_stricter_and_never_less_strict(holds: str, allowed: list[str], words: Words) -> None:
    for mode in ("auto", "ask", "read-only", "deny"):
        if mode in allowed:
            assert words("--permission", mode, LINNET_PERMISSION=holds) == (f"--permission={mode}",)
        else:
            assert holds in refused(words, "--permission", mode, LINNET_PERMISSION=holds)
    opened = allowance((), ["--permission"])
    assert words("--permission=auto", allowed=opened, LINNET_PERMISSION=holds) == ("--permission=auto",)


def test_the_permission_of_the_settings_holds_too(words: Words, tmp_path: Path) -> None:
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "settings.json").write_text('{"permission": "read-only"}')

    assert "less strict than read-only" in refused(lambda: words("--permission=ask"))


def test_a_limit_may_be_lower_and_never_higher_than_the_one_that_holds(words: Words) -> None:
    assert words("--max-cost=1", LINNET_MAX_COST="2") == ("--max-cost=1",)
    assert "--max-cost 3 is over 2" in refused(lambda: words("--max-cost=3", LINNET_MAX_COST="2"))


def test_tools_that_the_server_leaves_out_stay_out(words: Words) -> None:
    held = allowance((), (), ("--exclude-tools", "bash,write"))
    assert words("--exclude-tools", "edit", allowed=held) == ("--exclude-tools=bash,write,edit",)
    assert words("--exclude-tools=", allowed=held) == ("--exclude-tools=bash,write",)
    assert words("--exclude-tools=edit") == ("--exclude-tools=edit",)


@pytest.mark.parametrize("flag", ["--session", "--fork"])
def test_sessions_are_named_by_id_and_resolved_here(flag: str, words: Words) -> None:
    assert words(flag, "0f3a-9b") == (f"{flag}=/sessions/0f3a-9b.jsonl",)
    assert words("--session-id", "0f3a-9b") == ("--session-id=0f3a-9b",)


@pytest.mark.parametrize(
    "path", ["/etc/passwd", "../x", "x.jsonl", "a/b", "~/x", ".", "", "-x", "a\0b", "x" * 200, "é"]
)
@pytest.mark.parametrize("flag", ["--session", "--fork", "--session-id"])
def test_sessions_are_never_named_by_path(flag: str, path: str, words: Words) -> None:
    sentence = refused(lambda: words(f"{flag}={path}", allowed=allowance((), [flag])))
    assert flag in sentence
    assert "never by path" in sentence


def test_folders_are_those_under_a_root_once_links_are_followed(tmp_path: Path) -> None:
    (tmp_path / "root" / "inside").mkdir(parents=True)
    (tmp_path / "rootless").mkdir()
    (tmp_path / "root" / "out").symlink_to(tmp_path / "rootless")
    (tmp_path / "in").symlink_to(tmp_path / "root" / "inside")
    (tmp_path / "root" / "file").touch()
    allowed = allowance([tmp_path / "root"])

    assert allowed.folder(str(tmp_path / "root")) == str(tmp_path / "root")
    assert allowed.folder(str(tmp_path / "in")) == str(tmp_path / "root" / "inside")
    for name in ("rootless", "root/out", "root/../rootless", "root/file", "root/absent", "absent", "root/inside/../.."):
        where = str(tmp_path / name)
        assert refused(allowed.folder, where) == f"cwd {where} is not a folder under one of the roots"
    assert "cwd inside" in refused(lambda: allowed.folder("inside"))
    assert "cwd" in refused(lambda: allowed.folder("/a\0b"))


def test_without_a_root_there_is_no_folder_to_work_in(tmp_path: Path) -> None:
    assert "without --root" in refused(lambda: allowance().folder(str(tmp_path)))


def test_roots_and_flags_that_make_no_sense_are_refused_at_the_start(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"--root .* is not a folder"):
        allowance([tmp_path / "absent"])
    with pytest.raises(ConfigError, match="--no-such-flag, which is not a flag"):
        allowance([], ["--no-such-flag"])
    assert "--trust" in allowance([], ["trust"]).named()


@pytest.mark.parametrize(
    ("command", "name"),
    [
        (commands.SwitchSession("/etc/passwd"), "sessionPath /etc/passwd"),
        (commands.SwitchSession("x.jsonl"), "sessionPath x.jsonl"),
        (commands.NewSession("../other"), "parentSession ../other"),
        (commands.ExportHtml("page.html"), "outputPath"),
        (commands.SetModel("x", save=True), "save"),
        (commands.SetThinking("low", save=True), "save"),
        (commands.SetAutoRetry(False, save=True), "save"),
        (commands.Trust("always"), "trust"),
        (commands.Trust("once"), "trust"),
    ],
)
def test_commands_with_paths_are_refused_by_name(command: commands.Command, name: str, tmp_path: Path) -> None:
    assert name in refused(lambda: Allowance().check(command, str(tmp_path), environ(tmp_path)))


def test_commands_without_paths_pass(tmp_path: Path) -> None:
    for command in (
        *(commands.SwitchSession("0f3a"), commands.NewSession(), commands.NewSession("0f3a"), commands.ExportHtml()),
        *(commands.Prompt("x"), commands.Bash("ls"), commands.Abort(), commands.GetState(), commands.Trust("never")),
    ):
        Allowance().check(command, str(tmp_path), environ(tmp_path))
    allowance([], ["--trust"]).check(commands.Trust("always"), str(tmp_path), environ(tmp_path))


def test_a_shell_command_of_the_client_is_no_way_around_a_permission(tmp_path: Path) -> None:
    for mode in ("read-only", "deny"):
        held = {**environ(tmp_path), "LINNET_PERMISSION": mode}
        assert mode in refused(Allowance().check, commands.Bash("ls"), str(tmp_path), held)


def environ(folder: Path) -> Mapping[str, str]:
    return {"LINNET_HOME": str(folder / "home")}
