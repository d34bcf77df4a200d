"""What works in the sandbox, what its tools may touch, and when there is none."""

import ctypes
import json
import os
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable
from itertools import product
from pathlib import Path
from threading import Event, Thread

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from linnet import Runtime
from linnet.errors import ConfigError, SessionError, ToolFailed
from linnet.processes.descendants import contents
from linnet.processes.lookup import within
from linnet.processes.sandbox.bounds import Bounds
from linnet.processes.sandbox.bubblewrap import _flags, git_identity
from linnet.processes.sandbox.view import installation, unshared, view
from linnet.testing.agent import Agent
from linnet.testing.confined import SECRET, Place
from linnet.testing.model_server import ModelServer
from linnet.testing.processes import marked, wait_until


def test_work_goes_on_as_usual(place: Place) -> None:
    said = place.bash("git init -q . && echo hi > a && git add a && git commit -qm first && git log --format='%an %ae'")
    assert "Ada ada@example.org" in said
    assert "FAILED" not in place.bash(f"'{sys.executable}' -c 'import linnet'")
    assert "127.0.0.1" in place.bash("python3 -c 'import socket; print(socket.create_server((\"127.0.0.1\", 0)))'")
    assert "kept" in place.bash("echo kept > $TMPDIR/f; mkdir -p ~/.cache; echo kept > ~/.cache/f") + place.bash(
        "cat $TMPDIR/f ~/.cache/f"
    )
    assert "exit 7" in place.bash("exit 7")
    assert "exit 137" in place.bash("kill -9 $$")
    assert (place.work / "a").read_text() == "hi\n"


def test_long_output_is_where_commands_and_tools_find_it(place: Place) -> None:
    said = place.bash("seq 100000")
    path = said.rpartition("full output: ")[2].partition(")")[0]
    assert "100000" in place.bash(f"tail -1 {path}")
    assert place.call("read", path=path, limit=1).startswith("1\n")


def test_searches_find_what_is_inside_and_nothing_else(place: Place) -> None:
    (place.work / "a.txt").write_text("needle")
    (place.work / "link").symlink_to(place.outside)
    assert "a.txt" in place.call("grep", pattern="needle")
    assert "a.txt" in place.call("find", pattern="*.txt")
    assert "a.txt" in place.call("ls")
    for name, args in (("grep", {"pattern": SECRET}), ("find", {"pattern": "*"}), ("ls", {})):
        for path in (str(place.outside), "link", "../outside", "/proc"):
            assert "is outside of the sandbox" in place.call(name, path=path, **args)


@pytest.mark.parametrize(
    "path", ["{out}/secret", "../outside/secret", "link/secret", "file", "~/.x", "/proc/self/environ"]
)
def test_tools_of_the_agent_stay_inside_too(path: str, place: Place) -> None:
    (place.work / "link").symlink_to(place.outside)
    (place.work / "file").symlink_to(place.outside / "secret")
    path = path.format(out=place.outside)
    for name, args in (
        ("read", {}),
        ("write", {"content": "x"}),
        ("edit", {"edits": [{"oldText": SECRET, "newText": "x"}]}),
    ):
        said = place.call(name, path=path, **args)
        assert "is outside of the sandbox" in said
        assert SECRET not in said
    assert (place.outside / "secret").read_text() == SECRET
    assert os.listdir(place.outside) == ["secret"]


def test_tools_read_the_system_and_write_only_inside(place: Place) -> None:
    assert "root" in place.call("read", path="/etc/passwd")
    assert "outside of the sandbox" in place.call("write", path="/etc/linnet-test", content="x")
    assert "outside of the sandbox" in place.call("read", path="/etc/shadow")
    assert "outside of the sandbox" in place.call("write", path="/tmp/linnet-test", content="x")
    assert "Successfully" in place.call("write", path="new/folder/file", content="x")
    assert "Successfully" in place.call("write", path=f"{place.sandbox.temporary}/file", content="x")


def test_a_link_that_is_swapped_meanwhile_leads_nowhere(place: Place) -> None:
    """One thread makes a folder a link and a folder again, as a command in the background could."""
    done = Event()
    (place.work / "dir").mkdir()
    (place.work / "dir" / "secret").write_text("harmless")

    (place.work / "aside").symlink_to(place.outside)
    libc = ctypes.CDLL(None)
    both = [os.fsencode(place.work / name) for name in ("dir", "aside")]

    def swap() -> None:
        while not done.is_set():
            libc.renameat2(-100, both[0], -100, both[1], 2)  # Each becomes the other.

    thread = Thread(target=swap)
    thread.start()
    said = ""
    for _ in range(300):
        said += place.call("read", path="dir/secret")
        said += place.call("write", path="dir/new", content="x")
        said += place.call("write", path="dir/a/b/new", content="x")
    done.set()
    thread.join()
    assert "harmless" in said
    assert "Successfully" in said
    assert SECRET not in said
    assert os.listdir(place.outside) == ["secret"]


@pytest.mark.parametrize(
    "first",
    [
        "rm -rf ~/.cache/x; ln -s {out} ~/.cache/x",
        "mv ~/.cache ~/c; ln -s {out} ~/.cache",
        "rm -rf $TMPDIR; ln -s {out} $TMPDIR; ln -s {out} $TMPDIR/x",
        "cd ..; mv work w; ln -s {out} work",
        "ln -s {out} ~/.gitconfig; rm -f ~/.gitconfig",
        "mkdir -p .git; ln -s {out} .git/hooks; echo 'gitdir: {out}' > .git2",
        "echo '#!/bin/sh' > bwrap; chmod +x bwrap; mkdir -p ~/.cargo/bin; cp bwrap ~/.cargo/bin/",
    ],
)
def test_a_command_leaves_no_trap_for_the_next(first: str, place: Place) -> None:
    place.bash(first.format(out=place.outside))
    second = "cat ~/.cache/x/secret ~/.cache/secret $TMPDIR/secret $TMPDIR/x/secret secret; echo x > ~/.cache/x/new"
    said = place.bash(f"{second}; echo x > $TMPDIR/x/new; echo end")
    assert "end" in said
    assert SECRET not in said
    assert os.listdir(place.outside) == ["secret"]


def test_nothing_outside_can_be_opened_for_writing(place: Place) -> None:
    """Everything that there is, is tried; nothing is written."""
    code = """
import os
found = []
for root, folders, files in os.walk("/"):
    parts = root.split("/")
    if root in (os.getcwd(), os.environ["TMPDIR"]) or (parts[1] == "proc" and parts[2:3] and parts[2].isdigit()):
        folders[:] = []
        continue
    if len(parts) > 3 and parts[1] not in ("proc", "etc", "dev"):  # There are many, in one mount.
        folders[:] = folders[:3]
        files = files[:20]
    for name in files:
        try:
            fd = os.open(os.path.join(root, name), os.O_WRONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_NOCTTY)
        except OSError:
            continue
        os.close(fd)
        found.append(os.path.join(root, name))
print(sorted(found))
"""
    (place.work / "look.py").write_text(code)
    devices = [f"/dev/{name}" for name in ("full", "null", "pts/ptmx", "random", "urandom", "zero")]
    assert str(devices) in place.bash("python3 look.py")


def test_the_network_is_there_where_somebody_says_so(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        place = Place(tmp_path, network=True)
        said = place.bash(f"exec 9<>/dev/tcp/127.0.0.1/{listener.getsockname()[1]} && echo connected")
        place.processes.close()
    assert "connected" in said


def test_programs_that_stay_are_in_it_unless_they_are_trusted(place: Place) -> None:
    look = ["/bin/sh", "-c", f"cat {place.outside}/secret; echo end"]
    for trusted in (True, False):
        child = place.processes.start(look, cwd=place.work, trusted=trusted)
        assert (SECRET.encode() in child.stdout.read()) is trusted
        child.close()


# Its refusals


@pytest.mark.parametrize(
    ("cwd", "held"),
    [
        ("/", "/home/u"),
        ("/home", "/home/u"),
        ("/home/u", "/home/u"),
        ("/usr", "/usr"),
        ("/var", "/var"),
        ("/tmp", "/tmp"),
    ],
)
def test_a_folder_of_work_that_holds_what_is_protected_is_refused(cwd: str, held: str) -> None:
    with pytest.raises(ConfigError, match="--sandbox needs a working folder that does not hold"):
        view(cwd, "/private/tmp", "/home/u", "/home/u/.linnet", {}, ())
    assert held


def test_linnets_own_home_in_the_folder_of_work_is_refused_and_hidden_elsewhere(tmp_path: Path) -> None:
    (tmp_path / "tools" / "bin").mkdir(parents=True)
    with pytest.raises(ConfigError, match=r"does not hold /w/\.linnet"):
        view("/w", "/t", "/home/u", "/w/.linnet", {}, ())
    shown = view("/w", "/t", "/home/u", f"{tmp_path}/tools/own", {"PATH": f"{tmp_path}/tools/bin"}, ())
    assert shown.access(f"{tmp_path}/tools/bin/x") == "read"
    assert shown.access(f"{tmp_path}/tools/own/auth.json") == "hidden"


@pytest.mark.parametrize(
    ("folder", "needed"),
    [
        (".cargo/bin", [".cargo/bin", ".cargo/registry", ".cargo/git", ".rustup"]),
        (".local/bin", [".local/bin", ".local/lib", ".local/pipx", ".local/share/pipx", ".local/share/uv"]),
        (".pyenv/shims", [".pyenv"]),
        (".nvm/versions/node/v22/bin", [".nvm/versions/node/v22"]),
        ("bin", ["bin"]),
        ("odd", ["odd"]),
        (".config/composer/vendor/bin", []),
        (".ssh/bin", []),
    ],
)
def test_of_a_home_only_what_programs_need_is_shown(folder: str, needed: list[str]) -> None:
    assert installation(f"/home/u/{folder}", "/home/u") == [f"/home/u/{each}" for each in needed]


def test_a_folder_above_programs_is_not_shown_if_it_holds_more() -> None:
    assert installation("/bin", "/home/u") == ["/bin"]
    assert installation("/home/bin", "/home/u") == ["/home/bin"]
    assert installation("/data/x/bin", "/data/x/u") == ["/data/x/bin"]
    assert installation("/data/tool/bin", "/home/u") == ["/data/tool"]


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folders that are there, with names of a and b, and a place for the sandbox's own files."""
    root = tmp_path_factory.mktemp("tree").resolve()
    for parts in product("ab", repeat=4):
        root.joinpath(*parts).mkdir(parents=True)
    (root / "files").mkdir()
    return root


folders = st.lists(st.sampled_from("ab"), min_size=1, max_size=4).map("/".join)


def mounted(flags: list[str], path: str) -> str:
    """What a command may do there: what was mounted last onto it, or above it, decides."""
    kinds = {"--tmpfs": "hidden", "--ro-bind": "read", "--bind": "write"}
    access = "hidden"
    for at, flag in enumerate(flags):
        target = flags[at + (1 if flag == "--tmpfs" else 2)] if flag in kinds else ""
        if target and within(path, target):
            access = kinds[flag]
    return access


@given(folders, folders, folders, folders, folders, folders)
@example("a", "b/a", "b", "a/b", "a", "b/a/b")  # The temporary folder above home.
@example("a/a", "b", "a/b", "b/a", "a/b/a", "a/b/a")  # Programs in the temporary folder.
def test_only_the_two_folders_are_ever_written_to(
    tree: Path, cwd: str, home: str, temporary: str, own: str, programs: str, path: str
) -> None:
    """And the agent's tools may do where they are told what commands can do there."""
    cwd, home, temporary, own, programs, path = (
        f"{tree}/{each}" for each in (cwd, home, temporary, own, programs, path)
    )
    try:
        seen = view(cwd, temporary, home, own, {"PATH": f"/usr/bin:{programs}"}, ())
    except ConfigError:
        return
    assert (seen.access(path) == "write") is any(within(path, each) for each in (cwd, temporary))
    flags = _flags(seen, f"{tree}/files", f"{tree}/files", network=False)
    assert mounted(flags, path) == seen.access(path)


@pytest.mark.parametrize("temporary", ["/home", "/home/u", "/home/u/.linnet", "/usr", "/w"])
def test_a_temporary_folder_that_holds_what_is_protected_is_refused(temporary: str) -> None:
    with pytest.raises(ConfigError, match="--sandbox needs a temporary folder that does not hold"):
        view("/w/x", temporary, "/home/u", "/home/u/.linnet", {}, ())


def test_a_name_is_all_that_is_taken_from_gits_settings(tmp_path: Path) -> None:
    assert git_identity(str(tmp_path)) == b""
    (tmp_path / ".gitconfig").write_text(
        "[credential]\n\thelper = store\n\tname = no\n[User]\n\tName = Ada = L\n\temail=a@b\n\tsigningkey = K\n"
        f'[url "https://{SECRET}@x"]\n\tinsteadOf = y\n\temail = no\n'
    )
    assert git_identity(str(tmp_path)) == b"[user]\n\tname = Ada = L\n\temail = a@b\n"


WEAKER = "--sandbox-files is weaker, and needs only the kernel"


def fake(folder: Path, script: str) -> str:
    """A PATH with this bwrap and nothing else."""
    folder.mkdir()
    (folder / "bwrap").write_text(f"#!/bin/sh\n{script}\n")
    (folder / "bwrap").chmod(0o755)
    return str(folder)


def test_where_there_is_no_sandbox_nothing_starts(spawn: Callable[..., Agent], tmp_path: Path) -> None:
    home = str(tmp_path / "home")
    (tmp_path / "empty").mkdir()
    broken = fake(tmp_path / "fake", "echo 'bwrap: No permissions to create a new namespace' >&2; exit 1")
    for path, words in (
        (
            str(tmp_path / "empty"),
            "--sandbox needs bubblewrap, which is not installed here: no bwrap in PATH; " + WEAKER,
        ),
        (broken, "--sandbox cannot be kept here: bwrap: No permissions to create a new namespace"),
    ):
        for flags in (["rpc"], ["--mode", "rpc"], ["-p", "hi"], ["--mode", "json", "hi"]):
            agent = spawn(*flags, "--provider", "scripted", "--sandbox", env={"PATH": path, "LINNET_HOME": home})
            assert agent.end() == []
            assert agent.wait() == 1
            assert agent.stderr == f"linnet: {words}\n"
    agent = spawn("rpc", "--provider", "scripted", "--sandbox-network", env={"LINNET_HOME": home})
    assert agent.wait() == 1
    assert "--sandbox-network" in agent.stderr


# As a whole


@pytest.mark.parametrize("flags", [["rpc"], ["--mode", "rpc"]])
def test_an_agent_says_that_there_is_one(flags: list[str], spawn: Callable[..., Agent], tmp_path: Path) -> None:
    env = {"LINNET_HOME": str(tmp_path / "home"), "TMPDIR": str(tmp_path)}
    plain = spawn(*flags, "--provider", "scripted", env=env)
    assert "sandbox" not in plain.ask("get_state")["data"]
    agent = spawn(*flags, "--provider", "scripted", "--sandbox", env=env)
    assert agent.ask("get_state")["data"]["sandbox"] == {"engine": "bubblewrap", "network": False}
    agent = spawn(*flags, "--provider", "scripted", "--sandbox", "--sandbox-network", env=env)
    assert agent.ask("get_state")["data"]["sandbox"] == {"engine": "bubblewrap", "network": True}


def test_the_model_and_a_host_are_told(tmp_path: Path, server: ModelServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LINNET_HOME", str(tmp_path / "home"))
    (tmp_path / "work").mkdir()
    with Runtime(cwd=tmp_path / "work", base_url=server.url, api_key="x", sandbox=True) as runtime:
        assert "Read-only file system" in runtime.bash("touch /etc/linnet-test").output
        runtime.run("hi")
        assert runtime.state().sandbox
    assert "Commands run in a sandbox" in str(server.requests[-1].body["system"])
    assert "cannot reach the network" in str(server.requests[-1].body["system"])


def asleep(mark: str) -> list[int]:
    return [pid for pid in marked(mark) if contents(f"/proc/{pid}/comm") == b"sleep\n"]


@pytest.mark.parametrize("end", ["abort", "stdin", "kill"])
def test_nothing_in_it_outlives_an_abort_or_the_agent(
    end: str, spawn: Callable[..., Agent], server: ModelServer, tmp_path: Path
) -> None:
    mark = f"mark-{os.urandom(8).hex()}"
    flags = ("rpc", "--base-url", server.url, "--api-key", "x", "--sandbox")
    agent = spawn(*flags, env={"LINNET_HOME": str(tmp_path / "home"), "TMPDIR": str(tmp_path)})
    stays = f"export MARK={mark}; (setsid sleep 600 >/dev/null 2>&1 &); sleep 601 & echo up"
    agent.prompt(f"!tool bash {json.dumps({'command': stays})}")
    wait_until(lambda: len(asleep(mark)) == 2)  # What is in the background goes on after its command.
    agent.send({"id": "1", "type": "prompt", "message": f"!tool bash {json.dumps({'command': stays + '; sleep 602'})}"})
    wait_until(lambda: len(asleep(mark)) == 5)
    if end == "abort":
        agent.send({"id": "2", "type": "abort"})
        agent.until("done")
        assert len(asleep(mark)) == 2  # Those of the command before.
        agent.end()
        agent.wait()
    elif end == "stdin":
        agent.send({"id": "2", "type": "abort"})
        agent.end()
        agent.wait()
    else:
        agent.process.kill()
    wait_until(lambda: not marked(mark))


def test_without_the_flag_nothing_of_it_is_imported() -> None:
    code = "import sys, linnet; linnet.Runtime(provider='scripted').close(); print([*filter(has, sys.modules)])"
    rooms = ("sandbox", "bounds", "protect", "proxy", "landlock", "files_only", "keepers", "lookup")
    code = f"has = lambda name: 'linnet' in name and any(word in name for word in {rooms})\n{code}"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_a_descriptor_is_checked_by_what_it_is(place: Place) -> None:
    with open(place.outside / "secret") as file, pytest.raises(ToolFailed):
        Bounds(place.sandbox.view).check_open(file.fileno())


def test_what_not_everybody_may_read_is_found(tmp_path: Path) -> None:
    for name, mode in (("open", 0o644), ("shut", 0o640), ("mine", 0o600)):
        (tmp_path / name).write_text(SECRET)
        (tmp_path / name).chmod(mode)
    for name, mode in (("folder", 0o755), ("private", 0o700)):
        (tmp_path / name).mkdir(mode)
        (tmp_path / name / "key").write_text(SECRET)
        (tmp_path / name / "key").chmod(0o400)
    (tmp_path / "link").symlink_to("mine")
    assert sorted(unshared(str(tmp_path))) == [
        f"{tmp_path}/{name}" for name in ("folder/key", "mine", "private", "shut")
    ]


def test_a_start_that_fails_leaves_no_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("work", "home", "tmp"):
        (tmp_path / name).mkdir()
    monkeypatch.setenv("LINNET_HOME", str(tmp_path / "home"))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "tmp"))
    with pytest.raises(SessionError):
        Runtime(provider="scripted", cwd=tmp_path / "work", sandbox=True, session="no-such-id")
    with Runtime(provider="scripted", cwd=tmp_path / "work", sandbox=True) as runtime:
        assert str(tmp_path / "tmp") in runtime.bash("echo $TMPDIR").output
    assert not os.listdir(tmp_path / "tmp")
