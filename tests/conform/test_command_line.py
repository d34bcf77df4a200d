"""What `linnet conform` says, and in which forms."""

import json
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from linnet.conform.check import DIALECTS
from linnet.conform.reports import _text
from tests.conform.conftest import judged, linnet, misbehaving, run


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ((), "say which protocol to judge"),
        (("--dialect", "klingon", "--", "true"), "say which protocol to judge"),
        (("--dialect", "zot"), "which program?"),
        (("--dialect", "zot", "true"), "takes no words but a command after --"),
        (("--dialect", "zot", "--only", "nosuch", "--", "true"), "no check of zot is called 'nosuch'"),
        (("--dialect", "zot", "--jobs", "0", "--", "true"), "--jobs"),
    ],
)
def test_a_command_line_without_sense_is_one_sentence_and_2(words: tuple[str, ...], sentence: str) -> None:
    done = run(*words)
    assert done.returncode == 2
    assert sentence in done.stderr
    assert done.stderr.count("\n") == 1
    assert done.stdout == ""


@pytest.mark.parametrize("dialect", DIALECTS)
def test_the_list_has_ids_tiers_and_sentences_and_runs_nothing(dialect: str) -> None:
    done = run("--dialect", dialect, "--list")
    assert done.returncode == 0
    lines = done.stdout.splitlines()
    assert len(lines) % 2 == 0
    assert {line.split()[0] for line in lines[::2]} <= {"must", "should", "defect"}
    listed = [json.loads(line) for line in run("--dialect", dialect, "--list", "--json").stdout.splitlines()]
    assert [each["id"] for each in listed] == [line.split()[1] for line in lines[::2]]
    assert all(each["says"].endswith(".") for each in listed)


def test_checks_are_chosen_by_id_by_its_beginning_and_by_a_pattern() -> None:
    def chosen(*only: str) -> set[str]:
        words = [word for each in only for word in ("--only", each)]
        done = run("--dialect", "zot", "--list", *words)
        return {line.split()[1] for line in done.stdout.splitlines()[::2]}

    assert chosen("zot.command.ping") == {"zot.command.ping"}
    assert chosen("zot.auth") == {id for id in chosen("zot.*") if id.startswith("zot.auth.")}
    assert "zot.command.ping" in chosen("*ping")
    assert chosen("zot.command.ping", "zot.auth") == chosen("zot.auth") | {"zot.command.ping"}


def test_people_see_groups_failures_with_transcripts_and_counts() -> None:
    done = run("--dialect", "zot", "--only", "zot.event.turn_end", "--", *misbehaving("says end"))
    assert done.returncode == 1
    assert "FAIL  must    zot.event.turn_end.end_turn" in done.stdout
    assert "saw: `stop` was 'end'" in done.stdout
    assert '←     {"type": "turn_end", "stop": "end"}' in done.stdout
    assert done.stdout.splitlines()[-1].endswith("Some musts do not hold.")
    assert "\x1b" not in done.stdout


def test_junit_is_xml_with_a_case_for_each_check(tmp_path: Path) -> None:
    file = tmp_path / "junit.xml"
    only = ("--only", "zot.event.turn_end", "--only", "zot.wire")
    done = run("--dialect", "zot", "--junit", str(file), *only, "--", *misbehaving("says end"))
    assert done.returncode == 1
    (suite,) = ET.fromstring(file.read_text("utf-8"))
    cases = suite.findall("testcase")
    assert int(suite.attrib["tests"]) == len(cases) > 5
    failures = [case for case in cases if case.find("failure") is not None]
    assert int(suite.attrib["failures"]) == len(failures) > 0
    assert any("`stop` was 'end'" in str(case[0].get("message")) for case in failures)
    assert "turn_end" in str(failures[0][0].text)


def test_text_in_xml_has_no_character_that_xml_has_no_place_for() -> None:
    assert _text("a\x00<\ud800\x1b") == "a\ufffd&lt;\ufffd\ufffd"


def test_a_file_that_cannot_be_written_is_a_sentence_before_anything_is_run(tmp_path: Path) -> None:
    where = str(tmp_path / "absent" / "junit.xml")
    agent = ["touch", str(tmp_path / "ran")]
    done = run("--dialect", "zot", "--only", "zot.command.ping", "--junit", where, "--", *agent)
    assert (done.returncode, done.stdout) == (2, "")
    assert "cannot be written" in done.stderr
    assert not (tmp_path / "ran").exists()


def test_a_command_may_name_files_of_the_folder_it_is_judged_from(tmp_path: Path) -> None:
    (tmp_path / "agent.sh").write_text(f'exec {" ".join(linnet("zot"))} "$@"\n')
    only = ("--dialect", "zot", "--only", "zot.command.ping")
    assert run(*only, "--", "sh", "agent.sh", cwd=tmp_path).returncode == 0


def test_the_json_has_one_shape() -> None:
    report = judged("zot", misbehaving("says end"), "--only", "zot.event.turn_end")
    assert set(report) == {
        *("linnet", "dialect", "command", "passed", "seconds", "counts", "checks", "transcripts"),
    }
    assert set(report["counts"]) == {"must", "should", "defect"}
    check = report["checks"][0]
    assert {"id", "tier", "says", "source", "requirements", "scene", "outcome"} <= set(check)
    lines = report["transcripts"]["zot: a conversation"]
    assert {kind for line in lines for kind in line} == {"ms", "in", "out", "request", "note"}
