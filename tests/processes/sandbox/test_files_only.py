"""The weaker wall: what commands may read and write, where the kernel has Landlock; and the words where it has not."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from linnet import Runtime
from linnet.errors import ConfigError
from linnet.processes.sandbox import landlock
from linnet.processes.sandbox.files_only import FilesOnly, lacking
from linnet.testing.agent import Agent
from linnet.testing.confined import SECRET, Place

needs_landlock = pytest.mark.skipif(landlock.version() < landlock.LEAST, reason="the kernel has no Landlock")


@pytest.fixture
def walled(tmp_path: Path) -> Iterator[Place]:
    place = Place(tmp_path, files_only=True)
    yield place
    place.processes.close()
    assert not os.path.exists(place.sandbox.temporary)


@needs_landlock
def test_work_goes_on(walled: Place) -> None:
    said = walled.bash(
        "git init -q . && echo hi > a && git add a && git commit -qm first && git log --format='%an %ae'"
    )
    assert "Ada ada@example.org" in said
    assert "FAILED" not in walled.bash(
        "mkdir d; mv a d/b; ln -s d/b l; cat l; rm -r d; python3 -c 'print(1)' > /dev/null"
    )
    assert "kept" in walled.bash("echo kept > $TMPDIR/f; echo kept > ~/f") + walled.bash("cat $TMPDIR/f ~/f")
    assert "err" in walled.bash("echo err > /dev/stderr; true | cat")
    assert "exit 7" in walled.bash("exit 7")


@needs_landlock
@pytest.mark.parametrize(
    "attempt",
    [
        "cat {out}/secret",
        "ln -s {out} l; cat l/secret; echo x > l/secret",
        "ln {out}/secret hard; cat hard; echo x > hard",
        "echo x > {out}/secret; echo x > {out}/new; mkdir {out}/folder; truncate -s 0 {out}/secret",
        "rm -rf {out}/secret; mv {out}/secret .; touch f; mv f {out}/",
        "cat /proc/self/root{out}/secret; cat /proc/$PPID/root{out}/secret",
        "ls -R {home}; cat {home}/.gitconfig; echo x >> {home}/.bashrc",
        "cat /etc/shadow | head -1 | sed s/.*/{secret}/",
        "echo x > /tmp/linnet-files-only; ls /tmp/linnet-files-only && echo {secret}",
        "mkdir m; mount -t tmpfs none m && echo {secret}",
        "touch s; chmod u+s s && echo {secret}",
        "python3 -c 'import os; os.open(\"{out}\", os.O_TMPFILE | os.O_RDWR)' && echo {secret}",
    ],
)
def test_files_elsewhere_are_neither_read_nor_changed(attempt: str, walled: Place) -> None:
    said = walled.bash(attempt.format(out=walled.outside, home=walled.home, secret=SECRET))
    assert SECRET not in said.partition("\n\n")[2]
    assert (walled.outside / "secret").read_text() == SECRET
    assert os.listdir(walled.outside) == ["secret"]
    assert sorted(os.listdir(walled.home)) == [".gitconfig"]


@needs_landlock
def test_those_that_watch_a_command_are_not_signalled(walled: Place) -> None:
    if landlock.version() < 6:
        pytest.skip("older kernels let it")
    assert "FAILED" in walled.bash("kill -0 $PPID || exit 1")


@needs_landlock
def test_tools_keep_to_the_same_bounds(walled: Place) -> None:
    assert "is outside of the sandbox" in walled.call("read", path=str(walled.outside / "secret"))
    assert "cannot be written in the sandbox" in walled.call("write", path=".envrc", content="x")
    assert "Successfully" in walled.call("write", path="new", content="x")


@needs_landlock
@pytest.mark.parametrize("flags", [["rpc"], ["--mode", "rpc"]])
def test_an_agent_says_that_it_is_the_weaker_one(flags: list[str], spawn: Callable[..., Agent], tmp_path: Path) -> None:
    env = {"LINNET_HOME": str(tmp_path / "home"), "TMPDIR": str(tmp_path), "PATH": "/nowhere"}
    agent = spawn(*flags, "--provider", "scripted", "--sandbox-files", env=env)
    assert agent.ask("get_state")["data"]["sandbox"] == {"engine": "landlock", "network": True}


@needs_landlock
def test_a_program_that_hosts_it_may_ask_for_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LINNET_HOME", str(tmp_path / "home"))
    (tmp_path / "work").mkdir()
    (tmp_path / "secret").write_text(SECRET)
    with Runtime(provider="scripted", cwd=tmp_path / "work", sandbox_files=True) as runtime:
        assert "Permission denied" in runtime.bash(f"cat {tmp_path}/secret").output


@pytest.mark.parametrize(
    ("version", "words"),
    [
        (0, "and the kernel has none"),
        (1, "and the kernel has version 1 of it, which lets files be cut off"),
        (2, "version 2"),
    ],
)
def test_where_the_kernel_has_none_it_is_refused_in_words(
    version: int, words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(landlock, "version", lambda: version)
    with pytest.raises(ConfigError, match=f"--sandbox-files needs Landlock as in Linux 6.2 or later, .*{words}"):
        FilesOnly(str(tmp_path), str(tmp_path / "own"), os.environ)
    assert lacking(version)


def test_it_never_stands_in_for_the_other(spawn: Callable[..., Agent], tmp_path: Path) -> None:
    agent = spawn("rpc", "--provider", "scripted", "--sandbox", env={"PATH": "/nowhere", "LINNET_HOME": str(tmp_path)})
    assert agent.wait() == 1
    assert "no bwrap in PATH; --sandbox-files is weaker" in agent.stderr


def test_what_a_version_refuses() -> None:
    assert [landlock.handled(version).bit_length() for version in (1, 2, 3, 4, 5, 6, 7)] == [13, 14, 15, 15, 16, 16, 16]


def test_what_is_veiled_is_in_no_rule(tmp_path: Path) -> None:
    for name in ("a/open", "a/b/open", "a/b/shut/key"):
        (tmp_path / name).mkdir(parents=True)
    shut = str(tmp_path / "a/b/shut")
    rules = dict(landlock.rules(["/w"], [str(tmp_path)], [shut], 5))
    assert rules["/w"] & landlock.WRITE_FILE
    assert not rules["/w"] & (landlock.MAKE_BLOCK | landlock.MAKE_CHAR)
    assert rules[str(tmp_path / "a/b/open")] == rules[str(tmp_path / "a/open")] == landlock.READ
    assert rules[str(tmp_path / "a/b")] == landlock.READ_DIR
    assert not any(path.startswith(shut) for path in rules)


paths = st.lists(st.sampled_from("abc"), min_size=1, max_size=4).map(lambda parts: "/" + "/".join(parts))


@given(paths, st.lists(paths, max_size=3))
def test_no_rule_lets_files_be_read_that_are_veiled(read: str, veiled: list[str]) -> None:
    for path, rights in landlock.rules([], [read], veiled, 5):
        if not path.startswith(("/dev", "/proc")) and rights & landlock.READ_FILE:
            assert not any(each == path or each.startswith(f"{path}/") for each in veiled)
