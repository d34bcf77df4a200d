"""Reads the keys in pi's `auth.json`. Logins of subscriptions are pi's own, and nothing in the file is ever changed.

A key is a word, `$NAME` or `${NAME}` of a variable, or `!` and a command that prints it.
"""

import os
import re
from collections.abc import Mapping
from typing import Any

from linnet.core.json.checked import checked
from linnet.errors import ConfigError
from linnet.files.pi_files import understood
from linnet.runtime.models.keys import COMMAND, Key, Signature, state_of

_REFERENCE = re.compile(r"\$(?:([$!])|\{([A-Za-z_][A-Za-z0-9_]*)\}|([A-Za-z_][A-Za-z0-9_]*))")


class PiKeys:
    """The file is read when it is first needed, and again when it has changed: somebody may log in with pi meanwhile.
    What cannot be understood of it is no key, and the reason is told where a key is missed.
    """

    def __init__(self, home: str, environ: Mapping[str, str]) -> None:
        self.path = os.path.join(home, "auth.json")
        self._environ = environ
        self._entries: dict[str, Any] = {}
        self._problem = ""
        self._seen: Signature | None = None

    def key(self, provider: str) -> Key:
        """Return the provider's key; an empty one, with the reason, if what is there cannot be used. Never raises."""
        state = state_of(self.path)
        if state != self._seen:
            self._seen = state
            self._read()
        if self._problem:
            return Key(source="file", place=self.path, problem=self._problem)
        match self._entries.get(provider):
            case None:
                return Key()
            case {"type": "api_key", "key": str(word), **rest} if word.strip():
                env = rest.get("env")
                return self._resolved(word.strip(), env if isinstance(env, dict) else {})
            case {"type": "oauth"}:
                why = f"its entry in {self.path} is the login of a subscription, which only pi itself uses"
                return Key(source="file", place=self.path, problem=why)
            case _:
                return Key(source="file", place=self.path, problem=f"its entry in {self.path} is no key")

    def _read(self) -> None:
        self._entries, self._problem = {}, ""
        try:
            self._entries = understood(self.path, lambda text: checked(text, dict[str, Any], self.path)) or {}
        except ConfigError as error:
            self._problem = str(error)

    def _resolved(self, word: str, env: Mapping[str, Any]) -> Key:
        """Return the key that a word stands for. `env` are variables of the entry, which come before ours."""
        if word.startswith(COMMAND):
            return Key(word, "file", self.path)
        missing: list[str] = []

        def value(found: re.Match[str]) -> str:
            name = found[2] or found[3]
            if not name:
                return found[1]
            said = env.get(name) or self._environ.get(name, "")
            missing.extend([] if said else [name])
            return str(said)

        key = _REFERENCE.sub(value, word)
        if missing:
            return Key(source="file", place=self.path, problem=f"{self.path} names {missing[0]}, which is not set")
        return Key(key, "file", self.path)
