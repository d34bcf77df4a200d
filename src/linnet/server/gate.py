"""The token that a spawner may ask for before anything else is done."""

from linnet.core.commands import Hello
from linnet.wire.dialect import Asked, Rejected

VARIABLE = "ZOTCORE_RPC_TOKEN"


class Gate:
    """Opens once, for the first line, if that is a hello with the right token."""

    def __init__(self, token: str) -> None:
        self._token = token

    def refusal(self, asked: Asked | Rejected) -> str:
        """Why this first line does not open the gate; empty if it does."""
        if isinstance(asked, Rejected):
            return asked.reason
        if not isinstance(asked.command, Hello):
            return "auth required: send hello with token first"
        from hmac import compare_digest  # Takes the same time however much of the token is right.

        return "" if compare_digest(asked.command.token.encode(), self._token.encode()) else "invalid token"
