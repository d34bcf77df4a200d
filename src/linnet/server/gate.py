"""Checks the token that a client has to send first, if whoever started the process asks for one."""

import os

from linnet.core.commands import Hello
from linnet.server.concealed import take_variable
from linnet.wire.dialect import Asked, Rejected

VARIABLE = "ZOTCORE_RPC_TOKEN"


class TokenGate:
    """Is opened by the first line, if that is a hello with the right token, and not needed after that."""

    def __init__(self, token: str) -> None:
        self._token = token

    def refusal(self, asked: Asked | Rejected) -> str:
        """Return why this first line does not open the gate; empty if it does."""
        if isinstance(asked, Rejected):
            return asked.reason
        if not isinstance(asked.command, Hello):
            return "auth required: send hello with token first"
        from hmac import compare_digest  # Takes the same time however much of the token is right.

        return "" if compare_digest(asked.command.token.encode(), self._token.encode()) else "invalid token"


def take_token() -> str:
    """Return the token from the environment, and remove it there: for children, and in /proc. Empty if there
    is none.
    """
    return take_variable(VARIABLE) if VARIABLE in os.environ else ""
