"""Makes commands of what a program says to the model: a text, images, and the form that the answer is to have."""

import os
from base64 import b64encode
from collections.abc import Iterable, Sequence
from typing import Any, Literal, TypeAlias

from linnet.core import commands
from linnet.core.form import Form
from linnet.core.images import checked_image, image, sniffed
from linnet.core.messages import Image
from linnet.errors import BadInput, ConfigError
from linnet.files.reading import contents

Picture: TypeAlias = str | os.PathLike[str] | bytes | Image
"""A path, relative to the folder that the program runs in; or the bytes of a file; or an image."""

LARGEST = 32 << 20  # Bytes of a file; no vendor takes as much.
MOST_SAID = 200  # Characters of a path in an error: it may be something else, and long.


def prompt_command(text: str, images: Sequence[Picture], output: Any = None) -> commands.Prompt:
    """Return the command for a prompt. `output` is a type or a JSON Schema, which the answer is to fit.

    Raises BadInput for a prompt that says nothing, for what is no image, and for an output that is neither.
    """
    if not text.strip() and not images:
        raise BadInput("a prompt needs a message or an image")
    return commands.Prompt(text, pictures(images), form=None if output is None else _form(output))


def message_command(text: str, images: Sequence[Picture], when: Literal["steer", "follow_up"]) -> commands.Prompt:
    """Return the command for something that is said to a run, and refused if there is none. Raises BadInput."""
    prompt = prompt_command(text, images)
    return commands.Prompt(prompt.text, prompt.images, when, "refuse", slash="refuse")


def pictures(given: Sequence[Picture]) -> tuple[Image, ...]:
    """Return the images as they are sent. Raises BadInput as `read` does, and for a single one instead of a list: a
    text would be taken for a list of letters.
    """
    images: Any = given
    if isinstance(images, str | bytes) or not isinstance(images, Iterable):
        raise BadInput(f"images is a list of paths, bytes or Images, not one {type(images).__name__}")
    return tuple(map(read, images))


def read(picture: Picture) -> Image:
    """Return an image as it is sent. Raises BadInput for what is no image, and for a file that cannot be read."""
    given: Any = picture
    if isinstance(given, Image):
        return checked_image(given)
    if isinstance(given, str | os.PathLike):
        given = _file(os.fspath(given))
    elif not isinstance(given, bytes):
        raise BadInput(f"an image is a path, bytes or an Image, not {type(given).__name__}")
    return image(b64encode(given).decode())


def _file(path: str) -> bytes:
    """Return the content of an image file. Raises BadInput."""
    shown = path if len(path) <= MOST_SAID else f"{path[:MOST_SAID]}…"
    try:
        data = contents(path, LARGEST)
    except ConfigError as error:
        raise BadInput(str(error).replace(path, shown)) from None
    if data is None:
        raise BadInput(f"there is no image {shown}")
    if not sniffed(data[:16]):
        raise BadInput(f"{shown} is no image that models see: PNG, JPEG, GIF or WebP")
    return data


def _form(output: Any) -> Form:
    from linnet.core.context.formed_output import Output  # Most prompts ask for words.

    return Output(output)
