"""The files of the page, as browsers get them. They are read once: there are few, and they do not change."""

from hashlib import sha256
from pathlib import Path
from typing import Final

from msgspec import Struct
from starlette.requests import Request
from starlette.responses import Response

from linnet.serve import page
from linnet.serve.http.replies import Problem

FOLDER: Final = Path(page.__file__).parent
INDEX: Final = "index.html"
_TYPES: Final = {
    ".html": "text/html",
    ".js": "text/javascript",
    ".css": "text/css",
    ".svg": "image/svg+xml",
    ".png": "image/png",
    ".ico": "image/vnd.microsoft.icon",
    ".json": "application/json",
    ".webmanifest": "application/manifest+json",
    ".txt": "text/plain",
    ".woff2": "font/woff2",
}


class PageFile(Struct, frozen=True):
    content: bytes
    type: str
    tag: str


class PageFiles:
    """Invariant: only files are sent that were in the folder at the start; a name is looked up, and is never a path."""

    def __init__(self, folder: Path = FOLDER) -> None:
        self.files = {
            path.relative_to(folder).as_posix(): _read(path)
            for path in sorted(folder.rglob("*"))
            if path.suffix in _TYPES and path.is_file()
        }

    async def index(self, request: Request) -> Response:
        return self._sent(request, INDEX)

    async def file(self, request: Request) -> Response:
        return self._sent(request, request.path_params["name"])

    def _sent(self, request: Request, name: str) -> Response:
        found = self.files.get(name)
        if found is None:
            raise Problem(404, "not_found", "There is no such file.")
        headers = {"etag": found.tag, "cache-control": "no-cache"}
        if found.tag in (tag.strip().removeprefix("W/") for tag in request.headers.get("if-none-match", "").split(",")):
            return Response(status_code=304, headers=headers)
        return Response(found.content, 200, headers, found.type)


def _read(path: Path) -> PageFile:
    content = path.read_bytes()
    return PageFile(content, _TYPES[path.suffix], f'"{sha256(content).hexdigest()[:32]}"')
