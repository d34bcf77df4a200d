"""Words that people try on the command line."""

import pytest

from linnet.cli.main import run
from linnet.flags.drop_in import PI, ZOT
from linnet.flags.flags import LINNET, Program, UnknownFlag, parse


@pytest.mark.parametrize(
    ("argv", "says"),
    [
        (["help"], "linnet: a coding agent on a pipe"),
        (["help", "rpc"], "linnet: a coding agent on a pipe"),
        (["help", "models"], "linnet models: "),
        (["version"], "linnet "),
    ],
)
def test_help_and_version_are_words_too(argv: list[str], says: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(argv) == 0
    assert capsys.readouterr().out.startswith(says)


@pytest.mark.parametrize("program", [LINNET, PI, ZOT])
def test_json_is_a_mode_whatever_the_program(program: Program) -> None:
    flags = parse(["--json", "say hi"], program)
    assert (flags.mode, flags.words) == ("json", ["say hi"])


def test_a_hook_of_pis_is_an_extension() -> None:
    assert parse(["--hook", "gate.py", "-e", "b.py"], PI).config["extensions"] == ["gate.py", "b.py"]


@pytest.mark.parametrize(
    ("flag", "meant"), [("--modle", "--model"), ("--hook", "--extension"), ("--thniking", "--thinking")]
)
def test_the_nearest_flag_is_the_one_that_was_meant(flag: str, meant: str) -> None:
    with pytest.raises(UnknownFlag, match=rf"unknown flag {flag} \(did you mean {meant}\?\)"):
        parse([flag, "x"])
