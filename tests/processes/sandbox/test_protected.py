"""What makes other programs run code is read-only in the sandbox, and nothing is left for what is not there."""

import json
import os
import signal
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Event, Thread

import pytest
from hypothesis import given
from hypothesis import strategies as st

from linnet.core.project.protected import PROTECTED_NAMES
from linnet.errors import ConfigError
from linnet.processes.lookup import installed, leads_through
from linnet.processes.sandbox import protected_paths
from linnet.processes.sandbox.bubblewrap import Sandbox
from linnet.processes.sandbox.trial import problem
from linnet.testing.agent import Agent
from linnet.testing.confined import SECRET, Place
from linnet.testing.model_server import ModelServer
from linnet.testing.processes import wait_until

FOLDERS = (".git/hooks", ".linnet", ".pi", ".zot", ".agents", ".claude", ".vscode", ".idea")


def git(work: Path, *words: str) -> None:
    subprocess.run(
        ["git", "-c", "user.name=x", "-c", "user.email=x@y", *words], cwd=work, check=True, capture_output=True
    )


def everything(work: Path) -> None:
    git(work, "init", "-q", ".")
    for name in PROTECTED_NAMES:
        path = work / name
        if name in FOLDERS:
            path.mkdir(exist_ok=True)
            path = path / "inside"
        path.write_text("# as it was\n" if name != ".git/config" else (work / name).read_text())


def tree(work: Path) -> dict[str, bytes]:
    return {str(path.relative_to(work)): path.read_bytes() for path in work.rglob("*") if path.is_file()}


def guarded(work: Path) -> dict[str, bytes]:
    return {name: data for name, data in tree(work).items() if name.startswith(PROTECTED_NAMES)}


@pytest.fixture
def made(tmp_path: Path) -> Iterator[Callable[[Callable[[Path], None]], Place]]:
    places: list[Place] = []

    def make(prepare: Callable[[Path], None]) -> Place:
        places.append(Place(tmp_path, prepare=prepare))
        return places[0]

    yield make
    for place in places:
        place.processes.close()


Make = Callable[[Callable[[Path], None]], Place]


@pytest.mark.parametrize(
    "attempt",
    [
        "echo evil >> {file}",
        "rm -rf {name}; mkdir -p {parent}; echo evil > {name}",
        "mv {name} aside && echo evil > {name}",
        "echo evil > new; mv -f new {file}; ln -f new {file}; cp new {file}",
        "ln {file} hard && echo evil >> hard",
        "ln -s {file} soft && echo evil >> soft",
        "mv .git aside; cp -r aside .git; mv aside/../{name} .; echo evil >> {file}",
        "chmod 777 {file}; touch {file}; truncate -s 0 {file}",
        'perl -e "rename qw({name} x)"; echo evil > {file}',
        "mkdir d; mount --bind d {name}; umount {name}; umount -l .git; echo evil >> {file}",
        "cd ..; mv work w; mkdir work; cd w; echo evil >> {file}",
    ],
)
def test_a_command_changes_none_of_it(attempt: str, made: Make) -> None:
    place = made(everything)
    before = guarded(place.work)
    assert len(before) >= len(PROTECTED_NAMES)
    lines = []
    for name in PROTECTED_NAMES:
        file = f"{name}/inside" if name in FOLDERS else name
        lines.append(f"({attempt.format(name=name, file=file, parent=os.path.dirname(name) or '.')})")
    place.bash("\n".join(lines))
    assert guarded(place.work) == before
    assert not [name for name in os.listdir(place.work) if name.startswith("work")]


def test_work_with_git_goes_on_but_for_its_settings(made: Make) -> None:
    place = made(everything)
    said = place.bash("echo hi > a; git add a; git commit -qm first; git checkout -qb other; git log --format='%an %s'")
    assert "Ada first" in said
    assert "FAILED" not in said
    for refused in ("git config core.pager evil", "git remote add origin https://example.org"):
        assert "FAILED" in place.bash(f"{refused} || exit 1")
    assert "evil" not in (place.work / ".git" / "config").read_text()
    assert not (place.work / ".git" / "config.lock").exists()


@pytest.mark.parametrize(
    "name", [*PROTECTED_NAMES, ".git", ".git/commondir", ".git/config.worktree", ".git/modules/x/config"]
)
def test_tools_write_none_of_it_whether_it_is_there_or_not(name: str, made: Make) -> None:
    place = made(lambda work: os.symlink(".", work / "link"))
    inside = f"{name}/inside" if name in FOLDERS else name
    for path in (inside, f"link/{inside}", f"./x/../{inside}", str(place.work / inside)):
        assert "cannot be written in the sandbox" in place.call("write", path=path, content="evil")
    assert tree(place.work) == {}
    (place.work / inside).parent.mkdir(parents=True, exist_ok=True)
    (place.work / inside).write_text("good")
    edits = [{"oldText": "good", "newText": "evil"}]
    assert "cannot be written in the sandbox" in place.call("edit", path=inside, edits=edits)
    assert (place.work / inside).read_text() == "good"
    assert "good" in place.call("read", path=inside)


def test_tools_write_what_only_looks_like_it(place: Place) -> None:
    for path in (".gitignore", ".github/x", ".git/description", "x/.vscode/settings.json", ".linnetrc", "a.envrc"):
        assert "Successfully" in place.call("write", path=path, content="x")


def test_a_repository_anywhere_below_is_not_written_by_tools(place: Place) -> None:
    for path in ("sub/.git/config", "a/b/.git/hooks/pre-commit", "sub/.git"):
        assert "cannot be written" in place.call("write", path=path, content="x")


def test_nothing_is_left_for_what_is_not_there(made: Make) -> None:
    place = made(lambda work: None)
    assert "fine" in place.bash("echo fine")
    assert os.listdir(place.work) == []


@pytest.mark.parametrize("kept", [False, True])
def test_also_after_kill_9(kept: bool, spawn: Callable[..., Agent], server: ModelServer, tmp_path: Path) -> None:
    work = tmp_path / "work"
    if kept:
        everything(work)
    before = sorted(map(str, work.rglob("*")))
    flags = ("rpc", "--base-url", server.url, "--api-key", "x", "--sandbox")
    agent = spawn(*flags, env={"LINNET_HOME": str(tmp_path / "home"), "TMPDIR": str(tmp_path)})
    command = json.dumps({"command": "echo up; sleep 60"})
    agent.send({"id": "1", "type": "prompt", "message": f"!tool bash {command}"})
    agent.until("tool_progress")
    agent.process.send_signal(signal.SIGKILL)
    agent.process.wait()
    wait_until(lambda: sorted(map(str, work.rglob("*"))) == before)


def test_what_appears_is_read_only_for_the_next_command(made: Make) -> None:
    place = made(lambda work: None)
    place.bash("git init -q .; echo first > .envrc")
    place.bash("echo evil >> .envrc; echo evil >> .git/config; echo evil > .git/hooks/x; rm -rf .git .envrc")
    assert (place.work / ".envrc").read_text() == "first\n"
    assert "evil" not in str(tree(place.work).values())


def test_what_is_swapped_while_something_runs_is_not_mounted(made: Make) -> None:
    """A mount would follow a link that a command in the background puts in the place of a file."""
    place = made(lambda work: None)
    place.bash(
        "(setsid sh -c 'while :; do echo x > .envrc; rm -f .envrc; ln -s ../outside/secret .envrc; rm .envrc; done' "
        ">/dev/null 2>&1 &)"
    )
    said = "".join(place.bash("cat .envrc .claude 2>&1; echo ok") for _ in range(30))
    assert said.count("[exit 0]") == 30
    assert SECRET not in said
    assert os.listdir(place.outside) == ["secret"]


def test_a_link_that_is_replaced_while_it_is_followed_is_not_there(tmp_path: Path) -> None:
    file, link, place = (tmp_path / name for name in ("file", "link", ".envrc"))
    over = Event()

    def swap() -> None:
        while not over.is_set():
            link.symlink_to(file)
            link.replace(place)
            file.touch()
            file.replace(place)

    swapping = Thread(target=swap)
    swapping.start()
    try:
        for _ in range(400):
            assert {*protected_paths.present(str(tmp_path))} <= {str(file), str(place)}
    finally:
        over.set()
        swapping.join()


@pytest.mark.parametrize(
    "swap",
    [
        "rm -f .envrc; ln -s ../outside/secret .envrc",
        "rm -rf .claude; ln -s ../outside .claude",
        "mv .git other; ln -s other .git",
        "rm -f .envrc",
    ],
)
def test_what_another_agent_swaps_as_a_command_starts_keeps_it_from_being_run(
    swap: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Here it is a bwrap that does it, before it does anything else: in the very moment."""
    real = installed("bwrap", os.environ["PATH"], "/nowhere")
    first = program(tmp_path / "bin", "bwrap", f'if [ -e {tmp_path}/now ]; then {swap}; fi; exec {real} "$@"')
    monkeypatch.setenv("PATH", f"{first}:{os.environ['PATH']}")
    place = Place(tmp_path, prepare=everything)
    assert "fine" in place.bash("echo fine").partition("\n\n")[2]
    (tmp_path / "now").touch()
    said = place.bash("cat .envrc .claude/secret; echo evil >> other/config; echo ran")
    place.processes.close()
    assert "something else is in the place of a protected file" in said or "bwrap: Can't" in said
    assert SECRET not in said
    assert "ran" not in said.partition("\n\n")[2]
    assert os.listdir(place.outside) == ["secret"]


@pytest.mark.parametrize("name", ["plain", "with a blank", "tab\there", "back\\slash", "new\nline", "star*[a]?", "ünï"])
def test_a_folder_may_have_any_name(name: str, tmp_path: Path) -> None:
    (tmp_path / name).mkdir()
    place = Place(tmp_path / name, prepare=everything)
    assert "fine" in place.bash("echo fine").partition("\n\n")[2]
    assert "Read-only" in place.bash("echo evil >> .envrc")
    place.processes.close()


def test_where_the_file_of_a_repository_points_is_read_only_too(made: Make) -> None:
    def prepare(work: Path) -> None:
        (work / "deep").mkdir()
        git(work, "init", "-q", "--separate-git-dir", str(work / "deep" / "repo"), ".")
        (work / "deep" / "repo" / "hooks").mkdir(exist_ok=True)

    place = made(prepare)
    before = (place.work / ".git").read_text(), (place.work / "deep/repo/config").read_text()
    assert "FAILED" not in place.bash("echo x > f && git add f && git commit -qm x")
    place.bash("echo 'gitdir: evil' > .git; echo evil >> deep/repo/config; echo evil > deep/repo/hooks/pre-commit")
    place.bash("mv deep other; cp -r other deep; echo evil >> deep/repo/config")
    place.bash("mv deep/repo other; cp -r other deep/repo; echo evil >> deep/repo/config")
    assert ((place.work / ".git").read_text(), (place.work / "deep/repo/config").read_text()) == before
    assert not (place.work / "deep/repo/hooks/pre-commit").exists()
    assert "cannot be written" in place.call("write", path="deep/repo/config", content="x")


def test_settings_of_submodules_are_read_only_too(made: Make) -> None:
    def prepare(work: Path) -> None:
        git(work, "init", "-q", ".")
        git(work, "init", "-q", ".git/modules/a/b")
        os.rename(work / ".git/modules/a/b/.git", work / ".git/modules/a/c")

    place = made(prepare)
    before = (place.work / ".git/modules/a/c/config").read_text()
    place.bash("echo evil >> .git/modules/a/c/config; mv .git/modules/a .git/modules/x; mkdir .git/modules/a")
    assert (place.work / ".git/modules/a/c/config").read_text() == before


def test_too_many_submodules_are_read_only_as_a_whole(tmp_path: Path) -> None:
    for number in range(protected_paths.MOST_MODULES + 1):
        (tmp_path / ".git/modules" / str(number)).mkdir(parents=True)
        (tmp_path / ".git/modules" / str(number) / "HEAD").touch()
    assert str(tmp_path / ".git/modules") in protected_paths.present(str(tmp_path))


def test_where_a_link_leads_is_protected_if_it_is_inside(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / ".claude").symlink_to("docs")
    (tmp_path / ".pi").symlink_to("/etc")
    (tmp_path / ".zot").symlink_to(".")
    (tmp_path / ".idea").symlink_to("nowhere")
    assert list(protected_paths.present(str(tmp_path))) == [str(tmp_path / "docs")]


@pytest.mark.parametrize("text", [b"", b"gitdir:", b"gitdir: \0", b"gitdir: /etc", b"\xff" * 9000, b"gitdir: ../x"])
def test_a_pointer_of_any_kind_is_no_trouble(text: bytes, tmp_path: Path) -> None:
    (tmp_path / ".git").write_bytes(text)
    assert list(protected_paths.present(str(tmp_path))) == [str(tmp_path / ".git")]


parts = st.lists(st.sampled_from([".git", "hooks", "config", ".linnet", "x", ".envrc"]), min_size=1, max_size=4)


@given(parts)
def test_all_below_what_is_protected_is(path: list[str]) -> None:
    whole = "/w/" + "/".join(path)
    if protected_paths.is_protected(whole, "/w") and path[-1] != ".git":
        assert protected_paths.is_protected(f"{whole}/more", "/w")
    assert protected_paths.is_protected(whole, "/w") or path[0] not in (".linnet", ".envrc")


# Programs that linnet runs for itself


def program(folder: Path, name: str, script: str = "exit 0") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(f"#!/bin/sh\n{script}\n")
    (folder / name).chmod(0o755)
    return folder


@pytest.mark.parametrize("name", ["bwrap", "rg", "zsh"])
def test_a_program_in_the_working_folder_is_never_used(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    work = tmp_path / "work"
    program(work / "bin", name)
    good = program(tmp_path / "good", name)
    (tmp_path / "file").mkdir()
    (tmp_path / "file" / name).symlink_to(work / "bin" / name)
    (tmp_path / "folder").symlink_to(work / "bin")
    (work / "out").symlink_to(good)  # It leads out, but who owns the folder may change that.
    (tmp_path / "through").symlink_to(work / "out")
    (tmp_path / "loop").symlink_to("loop")
    monkeypatch.chdir(work)
    bad = (
        ".",
        "bin",
        "",
        str(work / "bin"),
        str(tmp_path / "file"),
        str(tmp_path / "folder"),
        str(work / "out"),
        str(tmp_path / "through"),
        str(tmp_path / "good/../work/bin"),
        str(tmp_path / "loop"),
    )
    for entry in bad:
        assert installed(name, entry, str(work)) is None
    path = os.pathsep.join((*bad, str(good)))
    assert installed(name, path, str(work)) == str(good / name)
    assert installed(name, path, str(tmp_path / "folder/..")) == str(good / name)
    assert leads_through("/x/" + "/".join(["loop"]), "/x")


def test_no_tool_uses_them(tmp_path: Path, server: ModelServer, spawn: Callable[..., Agent]) -> None:
    work = tmp_path / "work"
    for name in ("bwrap", "rg"):
        program(work, name, f"touch {tmp_path}/used; exit 1")
    env = {"PATH": f"{work}:.:{os.environ['PATH']}", "LINNET_HOME": str(tmp_path / "home"), "TMPDIR": str(tmp_path)}
    asking = ("--mode", "json", f"!tool grep {json.dumps({'pattern': 'bin/sh'})}", "--tools", "grep")
    for flags in ([], ["--sandbox"]):
        agent = spawn(*asking, "--base-url", server.url, "--api-key", "x", *flags, env=env)
        agent.end()
        assert agent.wait() == 0, agent.stderr
        assert "bwrap:1" in json.dumps(server.requests[-1].body)
    assert not (tmp_path / "used").exists()


# The trial


@pytest.mark.parametrize(
    ("script", "words"),
    [
        ('while [ "$1" != -- ]; do shift; done; shift; exec "$@"', "can read files outside"),
        ('while [ "$1" != -- ]; do shift; done; shift; exec "$@" | grep -v outside:', "can change files outside"),
        ("exit 0", "it did not run the command"),
        ("echo began; echo ended", "cannot write to its own temporary folder"),
    ],
)
def test_a_bwrap_that_keeps_nothing_in_is_refused(script: str, words: str, tmp_path: Path) -> None:
    fake = program(tmp_path / "fake", "bwrap", script)
    (tmp_path / "work").mkdir()
    environ = {"PATH": f"{fake}:{os.environ['PATH']}", "HOME": str(tmp_path / "home")}
    with pytest.raises(ConfigError, match=f"--sandbox cannot be kept here: .*{words}"):
        Sandbox(str(tmp_path / "work"), str(tmp_path / "own"), environ, network=False)


def test_a_bwrap_without_a_filter_or_a_network_of_its_own_is_refused() -> None:
    said = (
        "began\nstatus: Seccomp:\t2\nstatus: NoNewPrivs:\t1\ndevice: Inter-|   Receive\ndevice:     lo: 0 0\n{}ended\n"
    )
    assert problem(said.format(""), "word", kept=True, wrote=True, alone=True) == ""
    both = said.format("device: eth0: 0 0\n")
    assert "kept from the network" in problem(both, "word", kept=True, wrote=True, alone=True)
    assert problem(both, "word", kept=True, wrote=True, alone=False) == ""
    for line in ("Seccomp:\t2", "NoNewPrivs:\t1"):
        less = said.format("").replace(line, line[:-1] + "0")
        assert "every call" in problem(less, "word", kept=True, wrote=True, alone=True)
