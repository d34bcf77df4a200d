"""How a protocol wants its runs looked after. The conversation is the same; who retries and when to compact is not."""

from typing import Literal

from msgspec import Struct


class Policy(Struct, frozen=True, kw_only=True):
    """`retries_runs`: a run that failed for a passing reason is run again, and the client is told; otherwise the
    provider tries its request again, and nobody is. `keep_messages`: a compaction keeps so many; otherwise it keeps
    `keep_tokens` worth. `wording`: in whose words tools answer. `saves`: sessions are kept on disk, unless somebody
    says otherwise.
    """

    wording: Literal["zot", "pi"] = "zot"

    retries_runs: bool = False
    max_attempts: int = 3
    retry_delay: float = 2.0
    auto_compacts: bool = False
    reserve_tokens: int = 16_384
    keep_tokens: int = 20_000
    keep_messages: int | None = None
    saves: bool = False
    calls_at_once: int = 1


ZOT = Policy(keep_messages=4)
PI = Policy(wording="pi", retries_runs=True, auto_compacts=True, saves=True)
