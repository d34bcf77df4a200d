"""How an agent is opened from words, and opened again as it was."""

from pathlib import Path

import pytest

from linnet.errors import BadInput, LinnetError
from linnet.serve.agents.recipe import OpenRequest, Recipe, again, understood
from linnet.serve.agents.record import Chosen, Record, load, save
from linnet.serve.agents.summary import Summary

DEFAULTS = ("--provider", "scripted", "--permission", "ask", "--api-key", "the-server's")


def opened(*words: str, dialect: str | None = None, cwd: str | None = "/work") -> Recipe:
    return understood(OpenRequest(flags=words, dialect=dialect, cwd=cwd), DEFAULTS)


def record(recipe: Recipe, **changes: str) -> Record:
    shown = Summary(id="a", session_id="s", name="n")
    chosen = Chosen(**changes)  # type: ignore[arg-type]
    return Record(id="a", words=recipe.words, dialect=recipe.dialect, cwd=recipe.cwd, chosen=chosen, summary=shown)


def test_words_are_those_that_would_follow_linnet() -> None:
    assert opened("rpc").dialect == "zot"
    assert opened("--mode", "rpc").dialect == "pi"
    assert opened("--mode", "rpc", "--pi-version", "1.5").dialect == "pi-1"
    assert opened("rpc", dialect="pi-1").dialect == "pi-1"


def test_what_is_asked_for_wins_over_what_the_server_begins_with() -> None:
    config = opened("--permission", "deny").flags.config
    assert config["permission"] == "deny"
    assert config["provider"] == "scripted"
    assert config["cwd"] == "/work"
    assert opened("--cwd", "below").flags.config["cwd"] == "/work/below"


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("-p",), "opens no agent: give --mode rpc"),
        (("--help",), "neither -p nor --help"),
        (("say this",), "prompts as commands, not on a command line: 'say this'"),
        (("--mode", "json"), "for one prompt"),
        (("--output-schema", "f"), "outputSchema"),
        (("--modle", "x"), "--model"),
    ],
)
def test_what_is_no_agent_is_refused_in_words(words: tuple[str, ...], sentence: str) -> None:
    with pytest.raises(LinnetError, match=sentence):
        opened(*words)


def test_a_folder_or_a_dialect_that_cannot_be_is_refused() -> None:
    with pytest.raises(BadInput, match="absolute"):
        opened(cwd="here")
    with pytest.raises(BadInput, match="zot, pi"):
        opened(dialect="pie")
    with pytest.raises(BadInput, match="linnet-zot"):
        understood(OpenRequest(program="pi"))


def test_no_key_is_written_down() -> None:
    recipe = opened("--api-key", "secret", "--model", "m")
    assert recipe.flags.config["api_key"] == "secret"
    assert recipe.words == ("--model", "m")
    assert opened("--api-key=secret").words == ()


def test_a_flag_whose_value_looks_like_that_of_a_key_hides_none() -> None:
    recipe = opened("--append-system-prompt", "--api-key", "--api-key", "secret", "--name", "x")
    assert recipe.flags.config["api_key"] == "secret"
    assert recipe.words == ("--append-system-prompt", "--api-key", "--name", "x")


def test_a_record_with_half_a_surrogate_pair_can_be_read_again(tmp_path: Path) -> None:
    kept = record(opened())
    kept.summary.last = "half a pair: \ud83d"
    save(str(tmp_path), kept)
    assert load(str(tmp_path)).summary.last == "half a pair: \ufffd"


def test_it_is_opened_again_with_the_words_of_the_server_that_runs_now() -> None:
    recipe = opened("--model", "m", "--session", "x", "--name", "first")
    anew = again(record(recipe), "/file", ("--provider", "scripted", "--deny", "bash"), "key")
    config = anew.flags.config
    assert (config["session"], config["api_key"], config["cwd"]) == ("/file", "key", "/work")
    assert "session_name" not in config
    assert "permission" not in config
    assert anew.resumes


def test_what_was_set_holds_again() -> None:
    set_since = record(opened("--provider", "scripted"), model="anthropic/m", reasoning="high", steering_mode="all")
    before = again(set_since, None, (), None).flags.config
    assert (before["model"], before["reasoning"], before["steering_mode"]) == ("anthropic/m", "high", "all")
    assert (before["session_id"], before["session_name"]) == ("s", "n")
    assert "provider" not in before
    written = again(set_since, "/file", (), None).flags.config
    assert "model" not in written
    assert written["steering_mode"] == "all"
