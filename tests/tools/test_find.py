import os
from typing import TYPE_CHECKING, Any

import pytest

from linnet.concurrency.cancel import CancelToken
from linnet.core.messages import Text
from linnet.errors import ToolFailed
from linnet.tools.context import ToolContext
from linnet.tools.find import find
from linnet.tools.spec import ToolOutput

if TYPE_CHECKING:
    from tests.tools.bench import Bench


def in_pis_words(bench: "Bench", **args: Any) -> ToolOutput:
    return find.run(args, ToolContext(bench.cwd, CancelToken(), print, bench.processes, "pi"))


@pytest.fixture
def tree(bench: "Bench") -> "Bench":
    for name in ("README.md", "src/a.ts", "src/x/b.spec.ts", "src/x/readme.MD", "docs/src/c.ts", ".env", "out/d.ts"):
        path = bench.cwd / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    (bench.cwd / "empty").mkdir()
    (bench.cwd / ".gitignore").write_text("/out\n")
    (bench.cwd / "loop").symlink_to("src")
    return bench


@pytest.mark.parametrize(
    ("pattern", "found"),
    [
        ("*.ts", ["docs/src/c.ts", "src/a.ts", "src/x/b.spec.ts"]),
        ("readme*", ["README.md", "src/x/readme.MD"]),
        ("README*", ["README.md"]),
        ("src", ["docs/src/", "src/"]),
        ("src/*.ts", ["docs/src/c.ts", "src/a.ts"]),
        ("src/**/*.ts", ["docs/src/c.ts", "src/a.ts", "src/x/b.spec.ts"]),
        ("**/x/*", ["src/x/b.spec.ts", "src/x/readme.MD"]),
        ("x/", ["src/x/"]),
        (".*", [".env", ".gitignore"]),
        ("{empty,loop}", ["empty/", "loop"]),
        ("!{src,docs,*.md}", [".env", ".gitignore", "empty/", "loop"]),
    ],
)
def test_names_are_matched_and_a_slash_matches_the_end_of_a_path(tree: "Bench", pattern: str, found: list[str]) -> None:
    assert tree.ok("find", pattern=pattern).split("\n") == found


def test_a_path_from_the_root_is_matched_as_it_is(tree: "Bench") -> None:
    assert tree.ok("find", pattern=f"{tree.cwd}/src/*.ts") == "src/a.ts"


def test_paths_start_below_the_folder_that_was_searched(tree: "Bench") -> None:
    assert tree.ok("find", pattern="*.ts", path="src") == "a.ts\nx/b.spec.ts"
    assert tree.ok("find", pattern="*.ts", path="out") == "d.ts"  # Who asks for an ignored folder gets it.
    assert tree.ok("find", pattern="nothing") == "No files found matching pattern"


def test_a_limit_is_told_in_pis_words(tree: "Bench") -> None:
    output = in_pis_words(tree, pattern="*", limit=2)
    (part,) = output.content
    assert isinstance(part, Text)
    assert part.text == ".env\n.gitignore\n\n[2 results limit reached. Use limit=4 for more, or refine pattern]"
    assert output.details == {"resultLimitReached": 2}


def test_what_cannot_be_searched_is_told(tree: "Bench") -> None:
    assert tree.fails("find", pattern="*", path="nope") == "nope does not exist."
    assert tree.fails("find", pattern="*", path=".env").endswith(".env is not a directory.")
    assert "is not a glob" in tree.fails("find", pattern="[")
    with pytest.raises(ToolFailed, match=f"^Path not found: {tree.cwd}/nope$"):
        in_pis_words(tree, pattern="*", path="nope")


def test_more_paths_than_fit_are_cut_at_a_whole_one(bench: "Bench") -> None:
    names = [f"{number:03}{'x' * 150}" for number in range(500)]
    for name in names:
        (bench.cwd / name).touch()
    *lines, _, note = bench.ok("find", pattern="*").split("\n")
    assert note == "[50.0KB limit reached]"
    assert lines == names[: len(lines)]
    assert len("\n".join(lines)) <= 50 * 1024 < len("\n".join(names[: len(lines) + 1]))


def test_names_may_be_anything(bench: "Bench") -> None:
    for name in (b"-x", b"\xff", b"a\nb", "é".encode()):
        os.mkdir(os.path.join(os.fsencode(bench.cwd), name))
    assert bench.ok("find", pattern="*") == "-x/\na\\nb/\né/\n\ufffd/"


def test_a_glob_with_many_stars_takes_no_time(bench: "Bench") -> None:
    (bench.cwd / ("a" * 200)).touch()
    (bench.cwd / ".gitignore").write_text("*a" * 12 + "*b\n")
    assert bench.ok("find", pattern="*a" * 12 + "*b") == "No files found matching pattern"
