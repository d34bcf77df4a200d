"""Limits how much an MCP server may offer: leaves out what is beyond that, and says so. Pure."""

from collections.abc import Iterator, Sequence
from typing import TypeVar

from msgspec import MsgspecError, json

from linnet.core.text.printable import printable
from linnet.core.toolspec import LONGEST_DESCRIPTION, MOST_TOOLS, excess
from linnet.extensions.mcp.offers import OfferedPrompt, OfferedTool, Offers, Resource

LONGEST_NAME = 256
LONGEST_ADDRESS = 8 << 10
LARGEST_IN_ALL = 4 << 20  # Bytes of all that one server offers.
SHOWN = 80

T = TypeVar("T", OfferedTool, OfferedPrompt, Resource)


def bounded(offers: Offers) -> tuple[Offers, list[str]]:
    """Return what is accepted of the offers, and a sentence about each that is not, or about how many are not."""
    told: list[str] = []
    tools = tuple(_kept("tool", offers.tools, LARGEST_IN_ALL, told))
    prompts = tuple(_kept("prompt", offers.prompts, LARGEST_IN_ALL, told))
    return Offers(tools, prompts, tuple(_kept("resource", offers.resources, LARGEST_IN_ALL, told))), told


def _kept(kind: str, offered: Sequence[T], left: int, told: list[str]) -> Iterator[T]:
    """Yield what is accepted, of at most `left` bytes; append sentences about the rest to `told`."""
    for at, each in enumerate(offered):
        if problem := _problem(each):
            told.append(f'its {kind} "{printable(each.name[:SHOWN])}" is left out: {problem}')
            continue
        left -= len(json.encode(each))
        if at >= MOST_TOOLS or left < 0:
            most = f"{MOST_TOOLS} of them, and {LARGEST_IN_ALL >> 20} MiB"
            told.append(f"{len(offered) - at} of its {kind}s are left out: more than {most}, are not accepted")
            return
        yield each


def _problem(offer: OfferedTool | OfferedPrompt | Resource) -> str:
    """Say why an offer is not accepted; nothing if it is."""
    try:
        json.encode(offer)
    except (MsgspecError, UnicodeError, TypeError, RecursionError):
        return "it cannot be written as JSON"
    if len(offer.name) > LONGEST_NAME:
        return f"its name has {len(offer.name)} characters, and more than {LONGEST_NAME} are not accepted"
    if isinstance(offer, Resource) and len(offer.uri) > LONGEST_ADDRESS:
        return f"its address has {len(offer.uri)} characters, and more than {LONGEST_ADDRESS} are not accepted"
    if isinstance(offer, OfferedPrompt) and len(str(offer.arguments)) > LONGEST_DESCRIPTION:
        return f"its arguments take more than {LONGEST_DESCRIPTION} characters"
    return excess(offer.description, offer.schema if isinstance(offer, OfferedTool) else {})
