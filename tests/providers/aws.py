"""AWS's lenders of credentials on loopback: what they are asked is kept, what they answer is given."""

import socket
from collections.abc import Callable
from urllib.parse import parse_qs

from msgspec import Struct

from linnet.testing.model_http import read_request
from tests.providers.loopback import Listening

ROLE = """<AssumeRoleResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><AssumeRoleResult><Credentials>
<AccessKeyId>{key}</AccessKeyId><SecretAccessKey>lent-secret</SecretAccessKey><SessionToken>lent+token/==</SessionToken>
<Expiration>{expires}</Expiration></Credentials></AssumeRoleResult></AssumeRoleResponse>"""


class Asked(Struct, frozen=True):
    """One question."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes

    @property
    def fields(self) -> dict[str, str]:
        return {name: values[0] for name, values in parse_qs(self.body.decode()).items()}


Answer = Callable[[Asked], tuple[int, str]]


class Lender(Listening):
    """Answers each request on a connection of its own, while entered."""

    def __init__(self, answer: Answer) -> None:
        super().__init__()
        self.asked: list[Asked] = []
        self._answer = answer

    def reply(self, connection: socket.socket) -> None:
        with connection.makefile("rb") as stream:
            request = read_request(stream)
            if request is None:
                return
            asked = Asked(*request)
            self.asked.append(asked)
            status, text = self._answer(asked)
            body = text.encode()
            head = f"HTTP/1.1 {status} Scripted\r\nContent-Type: text/xml\r\nConnection: close\r\n"
            connection.sendall(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)
