"""Reads grammars in llama.cpp's notation, and draws texts that they admit, without llama.cpp."""

import re
from random import Random
from typing import Any, TypeAlias

Node: TypeAlias = tuple[str, Any]
_TOKEN = re.compile(r'\s*(::=|"(?:\\.|[^"\\])*"|\[(?:\\.|[^\]\\])*\]|\{\d+(?:,\d*)?\}|[A-Za-z0-9-]+|[|()*+?])')
_CHARACTERS = "aZ09 _-./:,<>tolca{}[]\"'\\/\n\r\té漢😀\u2028\x7f"
_ENOUGH = 400  # Choices, after which the shortest way out is taken.


class Grammar:
    """The rules of a grammar."""

    def __init__(self, text: str) -> None:
        self.rules: dict[str, Node] = {}
        for line in text.strip("\n").split("\n"):  # Nothing else ends a line.
            name, body = line.split(" ::= ", 1)
            tokens = _tokens(body)
            self.rules[name] = _choice(tokens)
            assert not tokens, f"{name}: {tokens} was not understood"
            assert name

    def drawn(self, random: Random, first: str = "root") -> str:
        """Return a text that the rule admits."""
        self._made = 0
        return self._drawn(self.rules[first], random)

    def _drawn(self, node: Node, random: Random) -> str:
        kind, what = node
        match kind, what:
            case "text", str(text):
                return text
            case "set", str(allowed):
                return random.choice(allowed)
            case "rule", str(name):
                return self._drawn(self.rules[name], random)
            case "row", list(nodes):
                return "".join(self._drawn(each, random) for each in nodes)
            case "choice", list(nodes):
                self._made += 1
                return self._drawn(nodes[0] if self._made > _ENOUGH else random.choice(nodes), random)
            case "times", (inner, int(least), most):
                self._made += 1
                top = least + 3 if most is None else min(most, least + 3)
                if isinstance(most, int) and random.random() < 0.1:
                    top = most  # The limit itself.
                count = least if self._made > _ENOUGH else random.randint(least, top)
                return "".join(self._drawn(inner, random) for _ in range(count))
            case _:
                raise AssertionError(node)


def _tokens(body: str) -> list[str]:
    tokens: list[str] = []
    at = 0
    while at < len(body.rstrip()):
        found = _TOKEN.match(body, at)
        assert found, f"not understood: {body[at:]}"
        tokens.append(found[1])
        at = found.end()
    return tokens


def _choice(tokens: list[str]) -> Node:
    choices = [_row(tokens)]
    while tokens and tokens[0] == "|":
        tokens.pop(0)
        choices.append(_row(tokens))
    return choices[0] if len(choices) == 1 else ("choice", choices)


def _row(tokens: list[str]) -> Node:
    nodes: list[Node] = []
    while tokens and tokens[0] not in "|)":
        nodes.append(_repeated(_one(tokens.pop(0), tokens), tokens))
    return "row", nodes


def _one(token: str, tokens: list[str]) -> Node:
    if token == "(":
        inner = _choice(tokens)
        assert tokens.pop(0) == ")"
        return inner
    if token.startswith('"'):
        return "text", _plain(token[1:-1])
    if token.startswith("["):
        return "set", _set(token[1:-1])
    return "rule", token


def _repeated(node: Node, tokens: list[str]) -> Node:
    if not tokens or tokens[0][0] not in "*+?{":
        return node
    token = tokens.pop(0)
    if token in "*+?":
        return "times", (node, int(token == "+"), 1 if token == "?" else None)
    least, comma, most = token[1:-1].partition(",")
    return "times", (node, int(least), int(most) if most else None if comma else int(least))


def _set(inner: str) -> str:
    other = inner.startswith("^")
    pieces = re.findall(r"\\x[0-9A-F]{2}|\\.|.", inner[other:], re.DOTALL)
    named: set[str] = set()
    at = 0
    while at < len(pieces):
        if at + 2 < len(pieces) and pieces[at + 1] == "-":
            first, last = ord(_plain(pieces[at])), ord(_plain(pieces[at + 2]))
            named |= {chr(each) for each in range(first, last + 1)}
            at += 3
        else:
            named.add(_plain(pieces[at]))
            at += 1
    return "".join(each for each in _CHARACTERS if each not in named) if other else "".join(sorted(named))


def _plain(text: str) -> str:
    escapes = {"n": "\n", "r": "\r", "t": "\t"}

    def one(found: re.Match[str]) -> str:
        word = found[1]
        return chr(int(word[1:], 16)) if word.startswith("x") else escapes.get(word, word)

    return re.sub(r"\\(x[0-9A-F]{2}|.)", one, text, flags=re.DOTALL)
