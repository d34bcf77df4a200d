"""The token that a spawner may ask for before anything else is done."""

import os

from linnet.core.commands import Hello
from linnet.server.concealed import take_variable
from linnet.wire.dialect import Asked, Rejected

VARIABLE = "ZOTCORE_RPC_TOKEN"


class TokenGate:
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


def take_token() -> str:
    """The token from the environment, which from here on does not have it: neither for children nor for who looks."""
    return take_variable(VARIABLE) if VARIABLE in os.environ else ""
