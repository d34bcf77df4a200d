"""Paths through entries that may follow anything at all: one that is missing, one that follows them, or nothing."""

import sys

from hypothesis import given, settings
from hypothesis import strategies as st

from linnet.core.messages import AssistantMessage, BashRun, Cost, Text, Usage, UserMessage
from linnet.store.entries import Content, Custom, Labelled, Moved, Named, Ran, Said
from linnet.store.lines import Glance, entry_line, glance
from linnet.store.tree import Index, Node, Tree

patient = settings(deadline=None)  # How long anything takes is not what is tested here.

ids = st.sampled_from("abcdefgh")
links = st.lists(st.tuples(ids, st.none() | ids | st.just("missing")), max_size=20)


def planted(links: list[tuple[str, str | None]]) -> Tree:
    tree = Tree()
    for id, parent in links:
        tree.add(id, parent, "", "custom")
    return tree


@patient
@given(links, ids)
def test_a_path_leads_from_a_root_to_its_leaf_and_passes_nothing_twice(
    links: list[tuple[str, str | None]], leaf: str
) -> None:
    tree = planted(links)
    path = tree.path(leaf)
    there = dict(links)
    assert bool(path) == (leaf in there)
    if path:
        assert path[-1].id == leaf
        passed = [node.id for node in path]
        assert len(set(passed)) == len(passed)
        assert [node.parent for node in path[1:]] == passed[:-1]
        first = path[0].parent
        assert first is None or first not in there or first in passed  # A root, or where a circle closes.


@patient
@given(links)
def test_the_newest_entry_is_the_leaf_and_the_one_that_its_id_means(links: list[tuple[str, str | None]]) -> None:
    tree = planted(links)
    assert len(tree) == len(tree.nodes) == len(links)
    assert [node.index for node in tree.nodes] == list(range(len(links)))
    assert tree.leaf == (links[-1][0] if links else None)
    last = {id: index for index, (id, _) in enumerate(links)}
    for id in "abcdefgh":
        found = tree.find(id)
        assert (id in tree) == (id in last)
        assert (None if found is None else found.index) == last.get(id)


def test_there_is_no_path_to_nothing() -> None:
    tree = planted([("a", None)])
    assert tree.path(None) == []
    assert tree.path("unheard of") == []


def test_an_entry_that_follows_itself_is_a_root() -> None:
    assert planted([("a", "a")]).path("a") == [Node("a", "a", "", "custom", "", False, 0)]


def test_a_tree_may_be_far_deeper_than_python_can_recur() -> None:
    depth = 100_000
    assert depth > sys.getrecursionlimit()
    tree = Tree()
    for index in range(depth):
        tree.add(str(index), str(index - 1), "", "custom")
    assert [node.index for node in tree.path(str(depth - 1))] == list(range(depth))


def seen(id: str, parent: str | None, content: Content) -> Glance:
    found = glance(entry_line(id, parent, "", content))
    assert found is not None
    return found


MESSAGES: list[Content] = [
    Said(UserMessage((Text("hello"),), 1)),
    Said(AssistantMessage((Text("hi"),), 1, "p", "m", Usage(10, 5, 2, 3, Cost(0.1, 0.2)))),
    Said(AssistantMessage((), 1, "p", "m", stop="error", error="no")),
    Said(BashRun("ls", "a", 1, 0)),
]
OTHERS: list[Content] = [
    Named("a name"),
    Labelled("a", "here"),
    Labelled("a", ""),
    Moved(),
    Ran(BashRun("ls", "a", 1, 0)),
    Custom("kind", {}),
]


def lists_of(contents: list[Content]) -> st.SearchStrategy[list[Glance]]:
    return st.lists(st.builds(seen, ids, st.none() | ids, st.sampled_from(contents)), max_size=20)


@patient
@given(lists_of(MESSAGES) | lists_of([*MESSAGES, *OTHERS]))
def test_an_index_that_grew_one_by_one_is_that_of_all_entries_at_once(entries: list[Glance]) -> None:
    whole, grown = Index(entries), Index()
    for each in entries:
        grown.append(each)
    assert grown.tree.nodes == whole.tree.nodes
    assert grown.tree.leaf == whole.tree.leaf
    assert [grown.tree.find(id) for id in "abcdefgh"] == [whole.tree.find(id) for id in "abcdefgh"]
    for name in ("name", "labels", "marks", "pending", "messages", "spent"):
        assert getattr(grown, name) == getattr(whole, name), name
