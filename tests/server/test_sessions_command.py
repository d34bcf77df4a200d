"""Sessions from the command line: `linnet sessions`, `linnet export`, and the drop-ins' own flags for them."""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from linnet.testing.model_server import ModelServer
from tests.suite import forked

HELLO = "Hello from the scripted model."
Done = subprocess.CompletedProcess[str]
Run = Callable[..., Done]


@pytest.fixture
def run(tmp_path: Path, server: ModelServer) -> Run:
    """Run a program to its end. Keys and addresses are in the environment."""
    (tmp_path / "work").mkdir()

    def run(name: str, *flags: str, cwd: str = "work", say: str = "") -> Done:
        return forked.run(
            [Path(sys.executable).with_name(name), *flags],
            input=say,
            capture_output=True,
            text=True,
            cwd=tmp_path / cwd,
            timeout=20,
            env={
                "PATH": "/usr/bin:/bin",
                "LINNET_HOME": str(tmp_path / "home"),
                "PI_CODING_AGENT_DIR": str(tmp_path / "agent"),
                "ANTHROPIC_API_KEY": "x",
                "ANTHROPIC_BASE_URL": server.url,
            },
        )

    return run


@pytest.fixture
def begin(run: Run) -> Callable[..., None]:
    """A session in which this was said."""

    def begin(prompt: str, *flags: str, **options: Any) -> None:
        done = run("linnet", "--dialect", "pi", "--mode", "json", prompt, *(flags or ("--save",)), **options)
        assert (done.returncode, done.stderr) == (0, "")

    return begin


def listed(run: Run, *flags: str) -> list[dict[str, Any]]:
    done = run("linnet", "sessions", "--json", *flags)
    assert done.returncode == 0
    return [json.loads(line) for line in done.stdout.splitlines()]


def files(tmp_path: Path) -> list[Path]:
    return sorted((tmp_path / "home").rglob("*.jsonl"))


def texts(file: Path) -> list[str]:
    entries = [json.loads(line) for line in file.read_text().splitlines()]
    said = [entry["message"] for entry in entries if entry["type"] == "message"]
    return [message["content"][0]["text"] for message in said if message["role"] != "system"]


def test_a_table_shows_the_newest_first(run: Run, begin: Callable[..., None]) -> None:
    begin("the first question")
    begin("another\nwith a second line, and " + "much " * 20)
    found = listed(run)
    done = run("linnet", "sessions")
    header, newest, oldest = done.stdout.splitlines()
    assert header.split("  ")[0] == "LAST USED (UTC)"
    for row, session in zip((newest, oldest), found, strict=True):
        assert row.startswith(session["modified"][:16].replace("T", " "))
        assert row.split()[2] == session["id"][:8]
        assert f"  2         ${session['cost']:.2f}  claude-sonnet-5  " in row
    assert oldest.endswith("the first question")
    assert "another with a second line, and much" in newest
    assert newest.endswith("…")
    assert all(len(row) < 140 for row in (newest, oldest))


def test_a_line_of_json_has_all_that_is_known(run: Run, begin: Callable[..., None], tmp_path: Path) -> None:
    begin("hi")
    (session,) = listed(run)
    assert session["cost"] > 0
    assert {name: session[name] for name in ("path", "cwd", "messageCount", "firstMessage", "provider", "modelId")} == {
        "path": str(files(tmp_path)[0]),
        "cwd": str(tmp_path / "work"),
        "messageCount": 2,
        "firstMessage": "hi",
        "provider": "anthropic",
        "modelId": "claude-sonnet-5",
    }


def test_a_name_is_shown_instead_of_the_first_prompt(run: Run, begin: Callable[..., None]) -> None:
    begin("the first question")
    name = '{"type":"set_session_name","name":"the plan"}\n'
    run("linnet", "--mode", "rpc", "--continue", say=name)
    row = run("linnet", "sessions").stdout.splitlines()[1]
    assert row.endswith("the plan")
    assert listed(run)[0]["name"] == "the plan"


def test_sessions_of_other_folders_are_shown_if_asked_for(run: Run, begin: Callable[..., None], tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    begin("elsewhere", cwd="other")
    folder = files(tmp_path)[0].parent.with_name(place(tmp_path / "work"))
    done = run("linnet", "sessions")
    assert (done.stdout, done.stderr) == ("", f"linnet: no sessions in {folder}; --all looks in every folder\n")
    begin("here")
    assert [session["firstMessage"] for session in listed(run)] == ["here"]
    assert [session["firstMessage"] for session in listed(run, "--cwd", "../other")] == ["elsewhere"]
    assert [session["firstMessage"] for session in listed(run, "--all")] == ["here", "elsewhere"]
    rows = run("linnet", "sessions", "--all").stdout.splitlines()[1:]
    assert rows[0].endswith(f"here  ({tmp_path / 'work'})")
    assert rows[1].endswith(f"elsewhere  ({tmp_path / 'other'})")


def place(folder: Path) -> str:
    return f"--{str(folder).strip('/').replace('/', '-')}--"


def test_a_folder_of_sessions_may_be_named(run: Run, begin: Callable[..., None], tmp_path: Path) -> None:
    begin("kept apart", "--session-dir", "apart")
    assert listed(run) == []
    assert [session["firstMessage"] for session in listed(run, "--session-dir", "apart")] == ["kept apart"]
    assert "kept apart" in run("linnet", "sessions", "--session-dir", str(tmp_path / "work" / "apart")).stdout
    assert run("linnet", "sessions", "--session-dir", "none").stderr.startswith("linnet: no sessions in ")
    assert r"/no\nne; --all" in run("linnet", "sessions", "--session-dir", "no\nne").stderr


def test_looking_changes_nothing_and_locks_nothing(run: Run, begin: Callable[..., None], tmp_path: Path) -> None:
    begin("hi")
    (file,) = files(tmp_path)
    file.write_bytes(file.read_bytes() + b'{"type":"torn')
    before = {path: path.stat().st_mtime_ns for path in (tmp_path / "home").rglob("*")}
    assert len(listed(run)) == 1
    run("linnet", "export", str(file), "--out", "-")
    assert {path: path.stat().st_mtime_ns for path in (tmp_path / "home").rglob("*")} == before


def test_sessions_in_which_nothing_was_said_leave_no_file_behind(run: Run, tmp_path: Path) -> None:
    done = run("linnet", "--mode", "rpc", say='{"type":"get_state"}\n{"type":"new_session"}\n{"type":"get_state"}\n')
    told = [json.loads(line) for line in done.stdout.splitlines()]
    assert all(told[at]["data"]["sessionFile"].endswith(".jsonl") for at in (0, 2))
    assert files(tmp_path) == []
    assert run("linnet", "sessions").stderr.startswith("linnet: no sessions in ")


def test_sessions_that_were_killed_before_anything_was_said_are_only_in_the_json(run: Run, tmp_path: Path) -> None:
    run("linnet", "-p", "hi", "--save")
    [file] = files(tmp_path)
    file.write_bytes(file.read_bytes().splitlines(keepends=True)[0])
    assert [session["messageCount"] for session in listed(run)] == [0]
    assert run("linnet", "sessions").stderr.startswith("linnet: no sessions in ")


def test_a_session_that_is_kept_elsewhere_is_found_where_the_others_are(run: Run, tmp_path: Path) -> None:
    mine = tmp_path / "elsewhere" / "mine.jsonl"
    done = run("linnet", "-p", "one", "--session", str(mine))
    made = f"linnet: the folder {mine.parent} was made for this session\n"
    assert (done.stdout, done.stderr) == (f"{HELLO}\n", f"{made}linnet: this session is kept in {mine}\n")
    [found] = listed(run)
    assert (found["path"], found["firstMessage"]) == (str(mine), "one")
    assert "one" in run("linnet", "sessions").stdout
    assert run("linnet", "-p", "two", "--continue").stderr == f"linnet: this session is kept in {mine}\n"
    assert run("linnet", "-p", "three", "--session", found["id"][:13]).returncode == 0
    assert [session["messageCount"] for session in listed(run)] == [6]
    mine.unlink()
    assert listed(run) == []
    assert run("linnet", "sessions").stderr.count("\n") == 1, "a link to nowhere is nobody's business"


def test_a_session_elsewhere_that_nothing_came_of_leaves_no_link(run: Run, tmp_path: Path) -> None:
    run("linnet", "rpc", "--session", str(tmp_path / "mine.jsonl"), say='{"type":"ping"}\n')
    assert [path for path in tmp_path.rglob("*.jsonl") if path.is_symlink()] == []
    assert not (tmp_path / "mine.jsonl").exists()


def test_save_keeps_a_session_in_the_usual_place(run: Run, tmp_path: Path) -> None:
    done = run("linnet", "-p", "one", "--save")
    [file] = files(tmp_path)
    assert done.stderr == f"linnet: this session is kept in {file}\n"
    assert [session["path"] for session in listed(run)] == [str(file)]
    done = run("linnet", "--mode", "json", "two", "--continue")
    first = json.loads(done.stdout.splitlines()[0])
    assert first == {"type": "session", "id": listed(run)[0]["id"], "session_file": str(file)}
    assert done.stderr == ""


HOSTILE = "\x1b[31mred\x1b]0;title\x07 \x9b2J \u202eback\u2066 \x00\x08\x7f\n\r\u2028 end"


@pytest.mark.parametrize("flags", [(), ("--all",)])
def test_what_was_said_cannot_talk_to_the_terminal(
    run: Run, begin: Callable[..., None], tmp_path: Path, flags: tuple[str, ...]
) -> None:
    begin("hi")
    (file,) = files(tmp_path)
    text = file.read_text()
    hostile = json.dumps(HOSTILE)[1:-1]
    if flags:
        text = text.replace(str(tmp_path / "work"), f"{tmp_path}{hostile}")
    text = text.replace('"id":"', f'"id":"{hostile}', 1).replace('"hi"', f'"{hostile}"')
    file.write_text(text.replace("claude-sonnet-5", hostile))
    out = run("linnet", "sessions", *flags).stdout
    assert len(out.splitlines()) == 2
    assert out.replace("\n", "").isprintable()
    assert r"\x9b2J \u202eback\u2066" in out


def test_a_page_is_named_after_the_session(run: Run, begin: Callable[..., None], tmp_path: Path) -> None:
    begin("the question")
    (file,) = files(tmp_path)
    id = listed(run)[0]["id"]
    for word in (id[:8], id, str(file)):
        done = run("linnet", "export", word)
        assert done.returncode == 0
        page = tmp_path / "work" / done.stdout.rstrip("\n")
        assert page.name == f"linnet-session-{file.stem}.html"
        text = page.read_text("utf-8")
        assert "the question" in text
        assert HELLO in text
        page.unlink()


def test_a_page_goes_where_it_is_wanted(run: Run, begin: Callable[..., None], tmp_path: Path) -> None:
    begin("the question")
    (file,) = files(tmp_path)
    page = tmp_path / "work" / "page.html"
    for flag in ("--out", "-o"):
        done = run("linnet", "export", str(file), flag, "page.html")
        assert (done.stdout, done.returncode) == ("page.html\n", 0)
    out = run("linnet", "export", str(file), "--out", "-")
    assert out.stdout.startswith("<!doctype html>")
    assert "the question" in out.stdout
    assert out.stdout == page.read_text("utf-8")


def test_who_may_read_the_session_may_read_the_page_and_nobody_else(
    run: Run, begin: Callable[..., None], tmp_path: Path
) -> None:
    begin("the question")
    (file,) = files(tmp_path)
    page = tmp_path / "work" / "page.html"
    page.touch(0o644)
    for mode in (0o600, 0o640):
        file.chmod(mode)
        assert run("linnet", "export", str(file), "-o", "page.html").returncode == 0
        assert page.stat().st_mode & 0o777 == mode


@pytest.mark.parametrize(
    ("words", "why", "code"),
    [
        (["zzzz"], "no session has an id that begins with zzzz; see linnet sessions --all", 1),
        (["missing.jsonl"], "{work}/missing.jsonl does not exist", 1),
        (["junk.jsonl"], "{work}/junk.jsonl is not a session: its first line is no session header", 1),
        (["it.jsonl", "--out", "no/such/page.html"], "no/such/page.html could not be written: No such file", 1),
        ([], "linnet export takes one session, a file or the beginning of an id; see linnet export --help", 2),
        (["a", "b"], "linnet export takes one session, a file or the beginning of an id; see linnet export", 2),
    ],
)
def test_what_cannot_be_exported_is_refused_with_a_sentence(
    run: Run, tmp_path: Path, words: list[str], why: str, code: int
) -> None:
    (tmp_path / "work" / "junk.jsonl").write_text("junk\n")
    (tmp_path / "work" / "it.jsonl").write_text('{"type":"session","version":3,"id":"it"}\n')
    done = run("linnet", "export", *words)
    assert (done.stdout, done.returncode) == ("", code)
    assert done.stderr.startswith(f"linnet: {why.format(work=tmp_path / 'work')}")
    assert done.stderr.count("\n") == 1


def test_sessions_takes_no_words(run: Run) -> None:
    done = run("linnet", "sessions", "mine")
    assert done.returncode == 2
    assert done.stderr == "linnet: linnet sessions takes no words, only flags: 'mine'; see linnet sessions --help\n"


@pytest.mark.parametrize("command", ["sessions", "export"])
def test_help_tells_what_can_be_given(run: Run, command: str) -> None:
    done = run("linnet", command, "--help")
    assert done.returncode == 0
    assert done.stdout.startswith(f"linnet {command}: ")
    assert "--session-dir DIR" in done.stdout


def test_pi_saves_what_it_is_asked_once_and_goes_on_with_it(run: Run, tmp_path: Path, server: ModelServer) -> None:
    def say(prompt: str, *flags: str) -> list[Path]:
        assert run("linnet-pi", "-p", prompt, *flags).stdout == f"{HELLO}\n"
        return sorted((tmp_path / "agent").rglob("*.jsonl"))

    say("one")
    say("two", "-c")
    [found] = listed(run, "--pi")
    (file,) = say("three", "--session", found["id"][:8])
    assert texts(file) == ["one", HELLO, "two", HELLO, "three", HELLO]
    assert len(server.requests[-1].body["messages"]) == 5
    run("linnet-pi", "--mode", "json", "four", "--continue")
    assert texts(file)[-2:] == ["four", HELLO]
    assert len(say("by itself")) == 2
    assert len(say("nowhere", "--no-session")) == 2
    assert listed(run) == []
    assert files(tmp_path) == []


def test_linnet_itself_saves_one_prompt_only_if_asked(run: Run, tmp_path: Path) -> None:
    for flags in (["-p", "one"], ["--mode", "json", "one"]):
        assert run("linnet", *flags).returncode == 0
        assert files(tmp_path) == []
    for prompt in ("one", "two"):
        assert run("linnet", "-p", prompt, "--continue").stdout == f"{HELLO}\n"
    (file,) = files(tmp_path)
    assert texts(file) == ["one", HELLO, "two", HELLO]
    assert run("linnet", "--mode", "json", "--dialect", "pi", "three").returncode == 0
    assert len(files(tmp_path)) == 2


def test_zot_goes_on_with_the_newest_if_asked(run: Run, tmp_path: Path) -> None:
    assert run("linnet-zot", "-p", "unsaved").returncode == 0
    assert files(tmp_path) == []
    for prompt in ("one", "two"):
        assert run("linnet-zot", "-p", prompt, "--continue").stdout == f"{HELLO}\n"
    assert run("linnet-zot", "--json", "three", "-c").returncode == 0
    (file,) = files(tmp_path)
    assert texts(file) == ["one", HELLO, "two", HELLO, "three", HELLO]


def test_pi_exports_a_file_and_takes_the_name_of_the_page_as_a_word(
    run: Run, begin: Callable[..., None], tmp_path: Path
) -> None:
    begin("the question")
    (file,) = files(tmp_path)
    done = run("linnet-pi", "--export", str(file), "page.html")
    assert (done.stdout, done.returncode) == ("page.html\n", 0)
    assert "the question" in (tmp_path / "work" / "page.html").read_text("utf-8")
    done = run("linnet-pi", "--export", str(file))
    assert done.stdout == f"linnet-session-{file.stem}.html\n"
    done = run("linnet-pi", "--export", "missing.jsonl")
    assert (done.stdout, done.returncode) == ("", 1)
    assert done.stderr == f"Error: {tmp_path / 'work' / 'missing.jsonl'} does not exist\n"


def write_session(folder: Path, id: str, prompt: str, model: str = "m") -> None:
    folder.mkdir(parents=True, exist_ok=True)
    said = [
        {"role": "user", "content": prompt},
        {"role": "assistant", "content": [], "provider": "p", "model": model},
    ]
    lines = [{"type": "session", "version": 3, "id": id, "timestamp": "", "cwd": "/"}]
    lines += [{"type": "message", "id": f"{at}", "parentId": None, "message": each} for at, each in enumerate(said)]
    (folder / f"x_{id}.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))


def test_as_much_of_an_id_is_shown_as_names_one_session(run: Run, tmp_path: Path) -> None:
    for id in ("01a1e0f3-9a16-7", "01a1e0f3-9afc-7", "99999999-0000"):
        write_session(tmp_path / "kept", id, "hi")
    rows = run("linnet", "sessions", "--session-dir", "../kept").stdout.splitlines()[1:]
    assert {row.split()[2] for row in rows} == {"01a1e0f3-9a1", "01a1e0f3-9af", "99999999"}


def test_columns_are_straight_whatever_is_written_in_them(run: Run, tmp_path: Path) -> None:
    write_session(tmp_path / "kept", "one", "日本語" * 40, "モデル")
    write_session(tmp_path / "kept", "two", "short", "x" * 200)
    rows = run("linnet", "sessions", "--session-dir", "../kept").stdout.splitlines()[1:]
    wide = next(row for row in rows if "日本" in row)
    narrow = next(row for row in rows if "short" in row)
    assert wide.index("日本") + len("モデル") == narrow.index("short")
    assert "…  (/)" in wide
    assert len(narrow) < 140


def test_json_is_json_whatever_the_terminal_speaks(run: Run, tmp_path: Path) -> None:
    write_session(tmp_path / "kept", "one", "ß 🎉")
    program = "import linnet.cli.main, sys; sys.argv = ['linnet', *sys.argv[1:]]; linnet.cli.main.main()"
    done = subprocess.run(
        [sys.executable, "-c", program, "sessions", "--json", "--session-dir", str(tmp_path / "kept")],
        capture_output=True,
        env={"PYTHONIOENCODING": "latin-1", "LINNET_HOME": str(tmp_path)},
    )
    assert json.loads(done.stdout)["firstMessage"] == "ß 🎉"


def test_what_cannot_be_read_is_mentioned(run: Run, tmp_path: Path) -> None:
    write_session(tmp_path / "kept", "one", "hi")
    (tmp_path / "kept" / "junk.jsonl").write_text("junk\n")
    done = run("linnet", "sessions", "--session-dir", "../kept")
    assert len(done.stdout.splitlines()) == 2
    assert done.stderr.startswith(f"linnet: {tmp_path / 'kept' / 'junk.jsonl'} is not a session")


def test_a_folder_that_is_gone_is_only_needed_where_it_matters(tmp_path: Path) -> None:
    write_session(tmp_path / "kept", "one", "hi")
    gone = tmp_path / "gone"
    linnet = Path(sys.executable).with_name("linnet")

    def run(*words: str) -> Done:
        gone.mkdir()
        script = 'rmdir "$PWD"; exec "$@"'
        env = {"LINNET_HOME": str(tmp_path), "PATH": "/usr/bin:/bin"}
        return subprocess.run(
            ["sh", "-c", script, "-", str(linnet), *words], capture_output=True, text=True, cwd=gone, env=env
        )

    file, page = tmp_path / "kept" / "x_one.jsonl", tmp_path / "page.html"
    *_, last = run("sessions").stderr.splitlines()  # The shell that starts linnet may have noticed it, too.
    assert last == "linnet: the current folder no longer exists; pass --cwd"
    assert run("sessions", "--all").returncode == 0
    assert run("export", str(file), "-o", str(page)).returncode == 0
    assert page.exists()


def test_a_page_must_have_a_name(run: Run) -> None:
    for words in (["export", ""], ["export", "x.jsonl", "--out", ""]):
        assert run("linnet", *words).returncode == 2
