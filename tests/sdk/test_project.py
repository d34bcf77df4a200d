"""What a person and a project bring, in one's own process."""

from pathlib import Path
from typing import Any

import pytest

from linnet import Runtime
from linnet.errors import BadInput, ConfigError
from linnet.testing.model_server import ModelServer


@pytest.fixture
def template(tmp_path: Path) -> Path:
    path = tmp_path / "review.md"
    path.write_text("---\ndescription: Reviews.\n---\nReview ${1:-everything}.")
    (tmp_path / "nothing.md").write_text("$1")
    return path


def test_a_prompt_may_name_a_template_or_a_skill(tmp_path: Path, template: Path, server: ModelServer) -> None:
    skill = tmp_path / "sums" / "SKILL.md"
    skill.parent.mkdir()
    skill.write_text("---\ndescription: adds\n---\nAdd.")
    (tmp_path / "AGENTS.md").write_text("Speak in rhymes.")
    options: dict[str, Any] = {"provider": "anthropic", "base_url": server.url, "api_key": "x"}
    with Runtime(
        cwd=tmp_path, template_paths=[template], skill_paths=[skill], context_files=False, skills=False, **options
    ) as runtime:
        for typed, said in {
            "/review": "Review everything.",
            "/review src/a.py": "Review src/a.py.",
            "/nothing": "/nothing",
        }.items():
            runtime.run(typed)
            assert server.requests[-1].body["messages"][-1]["content"][-1]["text"] == said
        runtime.run("/skill:sums 1")
        assert "Add.\n</skill>\n\n1" in server.requests[-1].body["messages"][-1]["content"][-1]["text"]
        assert "rhymes" not in str(server.requests[-1].body["system"])
        assert "skill" in {tool["name"] for tool in server.requests[-1].body["tools"]}


def test_an_empty_message_is_refused_and_a_missing_file_is_an_error(tmp_path: Path, template: Path) -> None:
    with Runtime(provider="scripted", cwd=tmp_path, template_paths=[tmp_path]) as runtime, pytest.raises(BadInput):
        runtime.run("/nothing")
    with pytest.raises(ConfigError, match=r"^template_paths .* is not there"):
        Runtime(provider="scripted", cwd=tmp_path, template_paths=[tmp_path / "gone.md"])
