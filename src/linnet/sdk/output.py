"""An answer that has a form: how it is asked for, read and checked. Pure."""

from collections.abc import Mapping
from typing import Any, TypeAlias

import msgspec

from linnet.decoding import decoder_of, schema
from linnet.errors import BadInput
from linnet.sdk.json_schema import check_schema, problem
from linnet.sdk.result import Result

Schema: TypeAlias = Mapping[str, Any]
ASK = """

When the work is done, end with one JSON value and nothing else: no words before or after it, no code fence. \
It has to fit this JSON Schema:

{schema}"""
ASK_AGAIN = """Your last answer cannot be used: {reason}

Do no further work. Answer again with the JSON value alone; it has to fit this JSON Schema:

{schema}"""


class Output:
    """A form: a type that msgspec can check (a struct, a dataclass, a list of them, …) or a JSON Schema."""

    def __init__(self, form: Any) -> None:
        """Raises BadInput for what is neither."""
        self._form = form
        if isinstance(form, Mapping):
            check_schema(form)
            self._schema: Any = form
            return
        try:
            self._schema = schema(form)
        except (TypeError, RuntimeError) as error:
            raise BadInput(f"output must be a type that msgspec can check, or a JSON Schema: {error}") from None

    def question(self, text: str) -> str:
        return text + ASK.format(schema=self._shown)

    def question_again(self, reason: str) -> str:
        return ASK_AGAIN.format(reason=reason, schema=self._shown)

    def read(self, text: str) -> tuple[Any, str]:
        """Return the value and nothing, or nothing and why the text does not hold one that fits."""
        found = json_in(text)
        if found is None:
            return None, "it holds no JSON value" if text.strip() else "it is empty"
        try:
            if not isinstance(self._form, Mapping):
                return decoder_of(self._form).decode(found), ""
            value = msgspec.json.decode(found)
            return value, problem(value, self._form)
        except (msgspec.MsgspecError, ValueError, RecursionError) as error:
            return None, str(error)

    def read_into(self, result: Result[Any]) -> Result[Any]:
        """The result with its value, or with the reason why it has none."""
        value, reason = self.read(result.text)
        if not reason:
            return msgspec.structs.replace(result, _value=value)
        return msgspec.structs.replace(result, error=f"the answer does not fit: {reason}", code="bad_output")

    @property
    def _shown(self) -> str:
        return msgspec.json.encode(self._schema).decode()


def json_in(text: str) -> str | None:
    """The JSON value in a text: the whole of it, or what is inside its last code fence, or its outermost brackets."""
    whole = text.strip()
    if _is_json(whole):
        return whole
    fences = whole.split("```")
    if len(fences) >= 3:
        inside = fences[-2].removeprefix("json").strip()
        if _is_json(inside):
            return inside
    for opening, closing in ("{}", "[]"):
        begin, end = whole.find(opening), whole.rfind(closing)
        if 0 <= begin < end and _is_json(whole[begin : end + 1]):
            return whole[begin : end + 1]
    return None


def _is_json(text: str) -> bool:
    try:
        msgspec.json.decode(text)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return False
    return True
