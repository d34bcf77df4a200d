"""Instructions, templates and skills on disk: which are found, which win, and what a stranger's folder may bring."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from linnet.errors import BadInput, ConfigError
from linnet.runtime.config.config import Config
from linnet.runtime.project.instruction_files import MOST_OF_ONE, InstructionFiles
from linnet.runtime.project.project import folders, repository
from linnet.runtime.project.resource_folders import ResourceFolders
from linnet.runtime.project.skills import DEEPEST, Skills
from linnet.runtime.project.templates import Templates
from linnet.runtime.settings.settings import resolve

Build = Callable[..., ResourceFolders]


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path / "me"))
    return tmp_path / "me"


@pytest.fixture
def build(tmp_path: Path, home: Path) -> Build:
    """What holds in the folder `top/repo/work`, of which `top/repo` is a repository."""
    work = tmp_path / "top" / "repo" / "work"
    work.mkdir(parents=True)
    (tmp_path / "top" / "repo" / ".git").mkdir()

    def build(**said: Any) -> ResourceFolders:
        asked = Config(provider="scripted", **{"cwd": work, **said})
        return resolve(asked, {"LINNET_HOME": str(tmp_path / "home")}).resource_folders

    return build


def put(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def skill(folder: Path, description: str = "does it") -> Path:
    return put(folder / "SKILL.md", f"---\ndescription: {description}\n---\nbody of {folder.name}\n")


def lines(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records]


def names(skills: Skills) -> list[str]:
    skills.look()
    return [each.skill.name for each in skills.found]


def told(resource_folders: ResourceFolders) -> list[str]:
    instruction_files = InstructionFiles(resource_folders)
    instruction_files.look()
    return [each.text for each in instruction_files.instructions]


def test_instructions_come_from_home_and_from_the_root_of_the_repository_down(build: Build, tmp_path: Path) -> None:
    put(tmp_path / "top" / "AGENTS.md", "above the repository")
    put(tmp_path / "top" / "repo" / "work" / "AGENTS.md", "nearest")
    put(tmp_path / "top" / "repo" / "CLAUDE.md", "root")
    put(tmp_path / "home" / "AGENTS.md", "mine")
    put(tmp_path / "home" / "CLAUDE.md", "not read beside the other")
    assert told(build()) == ["mine", "root", "nearest"]
    assert told(build(context_files=False)) == []


def test_without_a_repository_only_the_folder_itself_is_asked(build: Build, tmp_path: Path) -> None:
    (tmp_path / "top" / "repo" / ".git").rmdir()
    put(tmp_path / "top" / "repo" / "AGENTS.md", "above")
    put(tmp_path / "top" / "repo" / "work" / "AGENTS.md", "here")
    assert told(build()) == ["here"]


def test_where_linnet_stands_in_for_pi_instructions_come_from_the_root_of_the_disk(
    build: Build, tmp_path: Path, home: Path
) -> None:
    put(tmp_path / "top" / "AGENTS.md", "top")
    put(tmp_path / "top" / "repo" / "AGENTS.override.md", "overridden")
    put(tmp_path / "top" / "repo" / "AGENTS.md", "not read")
    put(home / ".pi" / "agent" / "AGENTS.md", "pi's")
    put(tmp_path / "home" / "AGENTS.md", "mine")
    assert told(build(stands_in_for="pi")) == ["mine", "pi's", "top", "overridden"]


def test_instructions_are_read_again_when_they_have_changed(build: Build, tmp_path: Path) -> None:
    path = tmp_path / "top" / "repo" / "work" / "AGENTS.md"
    instruction_files = InstructionFiles(build())
    assert instruction_files.section == ""
    for text in ("one", "two and more", ""):
        put(path, text)
        instruction_files.look()
        assert [each.text for each in instruction_files.instructions] == [text]
        assert text in instruction_files.section
        assert (str(path) in instruction_files.section) == bool(text)
    path.unlink()
    instruction_files.look()
    assert instruction_files.section == ""


def test_instructions_that_are_long_are_cut_with_a_note(build: Build, tmp_path: Path) -> None:
    put(tmp_path / "top" / "repo" / "AGENTS.md", "x" * (MOST_OF_ONE + 1))
    instruction_files = InstructionFiles(build())
    instruction_files.look()
    assert [len(each.text) for each in instruction_files.instructions] == [MOST_OF_ONE]
    assert "longer" in instruction_files.section.rpartition("x")[2]


def test_a_strangers_instructions_cannot_show_the_model_a_file_of_the_users(
    build: Build, tmp_path: Path, home: Path, caplog: pytest.LogCaptureFixture
) -> None:
    key = put(home / ".ssh" / "id", "key")
    (tmp_path / "top" / "repo" / "AGENTS.md").symlink_to(key)
    put(tmp_path / "top" / "repo" / "docs" / "agents.md", "shared")
    (tmp_path / "top" / "repo" / "work" / "AGENTS.md").symlink_to("../docs/agents.md")
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "AGENTS.md").symlink_to(put(home / "dotfiles" / "AGENTS.md", "mine"))
    assert told(build()) == ["mine", "shared"]
    assert len(lines(caplog)) == 1
    assert told(build(trust=True)) == ["mine", "key", "shared"]


def test_a_repository_that_holds_the_users_home_is_no_reason_to_follow_a_link_into_it(
    build: Build, tmp_path: Path, home: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (home / ".git").mkdir(parents=True)
    key = put(home / ".ssh" / "id", "key")
    put(home / "AGENTS.md", "mine")
    (home / "stranger").mkdir()
    (home / "stranger" / "AGENTS.md").symlink_to(key)
    assert told(build(cwd=home / "stranger")) == ["mine"]
    assert len(lines(caplog)) == 1


def test_system_prompt_files_are_the_projects_if_it_is_trusted_and_the_users_otherwise(
    build: Build, tmp_path: Path, home: Path
) -> None:
    def system(**said: Any) -> tuple[str | None, str | None]:
        instruction_files = InstructionFiles(build(**said))
        instruction_files.look()
        return instruction_files.system, instruction_files.addition

    work = tmp_path / "top" / "repo" / "work"
    assert system() == (None, None)
    put(home / ".pi" / "agent" / "SYSTEM.md", "pi's")
    assert system() == (None, None)
    assert system(stands_in_for="pi") == ("pi's", None)
    put(tmp_path / "home" / "SYSTEM.md", " mine \n")
    put(tmp_path / "home" / "APPEND_SYSTEM.md", "more")
    assert system(stands_in_for="pi") == ("mine", "more")
    put(work / ".linnet" / "SYSTEM.md", "the project's")
    assert system() == ("mine", "more")
    assert system(trust=True) == ("the project's", "more")
    put(work / ".linnet" / "SYSTEM.md", "")
    assert system(trust=True) == ("mine", "more")


def test_of_templates_with_one_name_a_flags_wins_over_the_projects_and_that_over_the_users(
    build: Build, tmp_path: Path
) -> None:
    work = tmp_path / "top" / "repo" / "work"
    put(tmp_path / "home" / "prompts" / "t.md", "mine $1")
    put(work / ".linnet" / "prompts" / "t.md", "the project's $1")
    flagged = put(tmp_path / "else" / "t.md", "named $1")

    def expanded(**said: Any) -> tuple[str | None, list[Any]]:
        templates = Templates(build(**said))
        listed = [(command.description, command.location) for command in templates.commands()]
        return templates.expanded("t", "x"), listed

    assert expanded() == ("mine x", [("mine $1", "user")])
    assert expanded(trust=True) == ("the project's x", [("the project's $1", "project")])
    for path in (flagged, flagged.parent):
        assert expanded(trust=True, template_paths=[path]) == ("named x", [("named $1", "path")])
    assert expanded(templates=False) == (None, [])
    assert expanded(templates=False, template_paths=[flagged]) == ("named x", [("named $1", "path")])


def test_templates_are_listed_as_pi_lists_them(build: Build, tmp_path: Path) -> None:
    work = tmp_path / "top" / "repo" / "work"
    mine = tmp_path / "home" / "prompts"
    for name in ("b", "Upper", "a", "with space"):
        put(mine / f"{name}.md", name)
    put(mine / "deep" / "no.md", "one level only")
    put(mine / "note.txt", "no Markdown")
    put(work / ".linnet" / "prompts" / "p.md", "the project's")
    templates = Templates(build(trust=True, template_paths=[put(tmp_path / "else" / "cli.md", "named")]))
    listed = [(each.name, each.location, each.base) for each in templates.commands()]
    assert listed == [
        ("p", "project", str(work / ".linnet")),
        *((name, "user", str(tmp_path / "home")) for name in ("Upper", "a", "b", "with space")),
        ("cli", "path", str(tmp_path / "else")),
    ]


def test_a_file_that_is_named_need_not_end_in_md(build: Build, tmp_path: Path) -> None:
    templates = Templates(build(template_paths=[put(tmp_path / "t.txt", "text $1")]))
    assert [command.name for command in templates.commands()] == ["t.txt"]
    assert templates.expanded("t.txt", "x") == "text x"
    assert templates.expanded("t", "x") is None


@pytest.mark.parametrize("name", ["T", "../secret", "a/b", "", "t.md", ".", "..", "\0", "x" * 5000, "\ud800"])
def test_a_name_that_is_no_templates_is_not_known(build: Build, tmp_path: Path, name: str) -> None:
    put(tmp_path / "home" / "prompts" / "t.md", "text")
    put(tmp_path / "home" / "secret.md", "text")
    put(tmp_path / "home" / "prompts" / "a" / "b.md", "text")
    assert Templates(build()).expanded(name, "") is None


def test_a_broken_template_is_named_and_left_out_and_the_others_stay(
    build: Build, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    folder = tmp_path / "home" / "prompts"
    bad = put(folder / "bad.md", "---\ndescription: [x\n---\nbody")
    put(folder / "good.md", "text")
    (folder / "loop.md").symlink_to("loop.md")
    os.mkfifo(folder / "pipe.md")
    templates = Templates(build())
    assert [command.name for command in templates.commands()] == ["good"]
    assert templates.expanded("bad", "") is None
    assert len(lines(caplog)) == 3
    assert lines(caplog)[0] == f"linnet: {bad} is left out: line 2: a list in brackets is never closed"
    put(bad, "now it is fine")
    assert templates.expanded("bad", "") == "now it is fine"


def test_skills_of_a_project_are_found_only_where_it_is_trusted(build: Build, tmp_path: Path, home: Path) -> None:
    repo = tmp_path / "top" / "repo"
    skill(repo / "work" / ".linnet" / "skills" / "own")
    skill(repo / "work" / ".agents" / "skills" / "shared")
    skill(repo / ".agents" / "skills" / "root")
    skill(tmp_path / "top" / ".agents" / "skills" / "above")
    skill(tmp_path / "home" / "skills" / "mine")
    skill(home / ".agents" / "skills" / "everybody")
    assert names(Skills(build())) == ["mine"]
    assert names(Skills(build(trust=True))) == ["own", "shared", "root", "mine"]
    assert names(Skills(build(trust=True, skills=False))) == []


def test_trust_that_is_given_later_counts_from_then_on(build: Build, tmp_path: Path) -> None:
    work = tmp_path / "top" / "repo" / "work"
    skill(work / ".linnet" / "skills" / "own")
    put(work / ".linnet" / "prompts" / "t.md", "text")
    resource_folders = build()
    skills, templates = Skills(resource_folders), Templates(resource_folders)
    assert (names(skills), templates.expanded("t", "")) == ([], None)
    resource_folders.project.trusted = True
    assert (names(skills), templates.expanded("t", "")) == (["own"], "text")


def test_where_linnet_stands_in_for_another_its_folders_count_too(build: Build, tmp_path: Path, home: Path) -> None:
    work = tmp_path / "top" / "repo" / "work"
    skill(work / ".pi" / "skills" / "pi-project")
    put(work / ".pi" / "skills" / "loose.md", "---\nname: loose-one\ndescription: a file alone\n---\n")
    skill(home / ".pi" / "agent" / "skills" / "pi-user")
    skill(home / ".agents" / "skills" / "everybody")
    skill(work / ".zot" / "skills" / "zot-project")
    skill(work / ".claude" / "skills" / "claude-project")
    skill(home / ".local" / "state" / "zot" / "skills" / "zot-user")
    skill(home / ".claude" / "skills" / "claude-user")
    assert names(Skills(build(stands_in_for="pi", trust=True))) == ["loose-one", "pi-project", "pi-user", "everybody"]
    assert names(Skills(build(stands_in_for="pi"))) == ["pi-user", "everybody"]
    zots = ["zot-project", "claude-project", "zot-user", "claude-user", "everybody"]
    assert names(Skills(build(stands_in_for="zot", trust=True))) == zots
    assert names(Skills(build(trust=True))) == []


def test_a_skill_may_be_named_as_a_file_a_folder_or_a_folder_of_folders(build: Build, tmp_path: Path) -> None:
    one = skill(tmp_path / "else" / "one")
    skill(tmp_path / "else" / "nest" / "two")
    skill(tmp_path / "else" / "one" / "below")
    skill(tmp_path / "else" / "node_modules" / "three")
    skill(tmp_path / "else" / ".hidden" / "four")
    for path, found in ((one, ["one"]), (one.parent, ["one"]), (tmp_path / "else", ["two", "one"])):
        assert names(Skills(build(skills=False, skill_paths=[path]))) == found
    with pytest.raises(ConfigError, match=r"--skill .*/gone is not there"):
        build(skill_paths=[tmp_path / "gone"])


def test_broken_skills_are_named_and_left_out(build: Build, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    folder = tmp_path / "home" / "skills"
    skill(folder / "good")
    skill(folder / "mute", "")
    put(folder / "head" / "SKILL.md", "---\nno key\n---\n")
    os.mkfifo(put(folder / "pipe" / "x", "").parent / "SKILL.md")
    (folder / "loop").symlink_to(folder)
    deep = folder
    for _ in range(DEEPEST + 2):
        deep = deep / "d"
    skill(deep / "too-deep")
    assert names(Skills(build())) == ["good"]
    problems = ["line 2: expected `key: value`, not 'no key'", "it has no description", "it is not a plain file"]
    files = [folder / name / "SKILL.md" for name in ("head", "mute", "pipe")]
    assert lines(caplog) == [f"linnet: {path} is left out: {why}" for path, why in zip(files, problems, strict=True)]
    assert names(Skills(build(), lenient=True)) == ["good", "mute"]


def test_a_skill_is_read_when_it_is_asked_for(build: Build, tmp_path: Path) -> None:
    path = skill(tmp_path / "home" / "skills" / "one")
    skills = Skills(build())
    text = skills.asked_for("one", "and more")
    assert text is not None
    assert f'location="{path}"' in text
    assert text.endswith("body of one\n</skill>\n\nand more")
    assert skills.asked_for("two", "") is None
    put(path, "---\ndescription: d\n---\nanother body")
    found = skills.named("one")
    assert found is not None
    assert skills.body(found) == "another body"
    path.unlink()
    with pytest.raises(BadInput, match="cannot be used"):
        skills.body(found)
    assert skills.asked_for("one", "") is None


def test_a_repository_is_the_nearest_folder_with_a_git(tmp_path: Path) -> None:
    inner = tmp_path / "a" / "b" / "c"
    inner.mkdir(parents=True)
    assert repository(str(inner)) == str(inner)
    put(tmp_path / "a" / "b" / ".git", "gitdir: elsewhere")
    (tmp_path / ".git").mkdir()
    assert repository(str(inner)) == str(tmp_path / "a" / "b")
    assert folders("/a/b", "/") == ["/", "/a", "/a/b"]
    assert folders("/a/b", "/a/b") == ["/a/b"]
