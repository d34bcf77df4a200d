"""The syntax tree of a regular expression, and how it is written for Python's `re`.

Lines are searched one at a time, and all that counts is whether a line matches: groups have no numbers, nothing is
greedy, and no class has a line feed in it.
"""

from typing import Literal, NamedTuple, TypeAlias

from linnet.tools.search.char_ranges import Ranges, ascii_only, class_text, common, complement, folded, named, union


class Named(NamedTuple):
    """Characters of a class that has a name."""

    name: str
    negated: bool


class Chars(NamedTuple):
    """One character of a set."""

    items: tuple[tuple[int, int] | Named, ...]
    negated: bool
    fold: bool  # Whether it takes in those that differ by case only.

    def ranges(self, *, ascii: bool) -> Ranges:
        """Return the set; with `ascii`, only the ASCII characters in it."""
        ranges = union(*(_ranges(item, ascii) for item in self.items))
        if self.fold:
            ranges = folded(ranges, ascii=ascii)
        ranges = common(complement(ranges) if self.negated else ranges, _NO_LINE_FEED)
        return ascii_only(ranges) if ascii else ranges


def _ranges(item: tuple[int, int] | Named, ascii: bool) -> Ranges:
    """Return the set that an item of a class stands for."""
    if not isinstance(item, Named):
        return (item,)
    ranges = named(item.name, ascii=ascii)
    return complement(ranges) if item.negated else ranges


class At(NamedTuple):
    """A place between characters."""

    where: Literal["^", "$", "b", "B"]


class Repeat(NamedTuple):
    """A node, several times."""

    node: "Node"
    least: int
    most: int | None  # None is any number.


class Sequence(NamedTuple):
    """Nodes, one after the other."""

    nodes: "tuple[Node, ...]"


class Choice(NamedTuple):
    """One of several nodes."""

    nodes: "tuple[Node, ...]"


Node: TypeAlias = Chars | At | Repeat | Sequence | Choice

_NO_LINE_FEED = complement(((10, 10),))
DOT = Chars(((0, 0x10FFFF),), negated=False, fold=False)


def python(node: Node, *, ascii: bool) -> str:
    """Return the expression for Python's `re`; with `ascii`, one that is faster, for text that is all ASCII."""
    match node:
        case Chars():
            return class_text(node.ranges(ascii=ascii))
        case At("^" | "$" as where):
            return f"(?m:{where})"
        case At(where):
            if ascii:
                return f"(?a:\\{where})"
            word = class_text(named("w"))
            if where == "b":
                return f"(?:(?<={word})(?!{word})|(?<!{word})(?={word}))"
            return f"(?:(?<={word})(?={word})|(?<!{word})(?!{word}))"
        case Repeat(inner, least, most):
            return f"(?:{python(inner, ascii=ascii)}){{{least},{'' if most is None else most}}}"
        case Sequence(nodes):
            return "".join(python(each, ascii=ascii) for each in nodes)
        case Choice(nodes):
            return f"(?:{'|'.join(python(each, ascii=ascii) for each in nodes)})"
