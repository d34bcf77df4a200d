"""Layers of configuration, and what is left when they lie on top of each other."""

from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from linnet.runtime.config.config import DEFAULTS, PI, ZOT, Config
from linnet.runtime.config.merged_layers import layered
from linnet.runtime.settings.settings import resolve

values: dict[str, st.SearchStrategy[Any]] = {
    "model": st.sampled_from(["a", "b", ""]),
    "max_steps": st.integers(0, 3),
    "tools": st.sampled_from([[], ["read"]]),
    "save": st.booleans(),
    "confine": st.booleans(),
    "retry_delay": st.sampled_from([0.0, 1.0]),
}
layers = st.fixed_dictionaries({}, optional=values)


@given(st.lists(layers, max_size=5))
def test_the_last_layer_that_says_something_wins_field_by_field(said: list[dict[str, Any]]) -> None:
    merged = layered(*(Config(**layer) for layer in said))
    for name in Config.__struct_fields__:
        told = [layer[name] for layer in said if name in layer]
        assert getattr(merged, name) == (told[-1] if told else None)


@given(layers, layers, layers)
def test_layers_can_be_merged_in_any_grouping(one: Any, two: Any, three: Any) -> None:
    a, b, c = Config(**one), Config(**two), Config(**three)
    assert layered(a, b, c) == layered(layered(a, b), c) == layered(a, layered(b, c))


def test_what_a_protocol_is_used_to_gives_way_to_what_was_asked_for(tmp_path: Path) -> None:
    environ = {"LINNET_HOME": str(tmp_path)}
    for habits in (ZOT, PI):
        asked = Config(provider="scripted", cwd=tmp_path, retry_runs=not habits.retry_runs, keep_messages=9)
        settings = resolve(asked, environ, habits)
        assert settings.retry_runs is not bool(habits.retry_runs)
        assert settings.keep_messages == 9
        assert settings.wording == (habits.wording or DEFAULTS.wording)


def test_only_what_was_asked_for_wins_over_a_session(tmp_path: Path) -> None:
    file = Config(model="scripted-2", reasoning="high")
    settings = resolve(Config(provider="scripted", cwd=tmp_path), {"LINNET_HOME": str(tmp_path)}, PI, file)
    assert (settings.model.id, settings.reasoning) == ("scripted-2", "high")
    assert (settings.asked.model, settings.asked.reasoning) == (None, None)


def test_an_agent_without_sessions_on_disk_has_one_in_memory_where_its_protocol_wants_one(tmp_path: Path) -> None:
    def options(asked: Config, habits: Config) -> tuple[bool, bool, bool]:
        found = resolve(asked, {"LINNET_HOME": str(tmp_path)}, habits).sessions
        return found.wanted, found.saves, found.insists

    base: dict[str, Any] = {"provider": "scripted", "cwd": tmp_path}
    assert options(Config(**base), PI) == (True, True, False)
    assert options(Config(**base, save=False), PI) == (True, False, False)
    assert options(Config(**base), ZOT) == (False, False, False)
    assert options(Config(**base, save=True), ZOT) == (True, True, True)
    assert options(Config(**base, session="x.jsonl"), ZOT) == (True, True, True)


def test_a_function_may_be_said_for_the_mode() -> None:
    def decide(call: object, preview: str) -> bool:
        return True

    assert Config(permission=decide) == Config(permission_callback=decide)
