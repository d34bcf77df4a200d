"""Checks requests for Google's API as Google does, for the models and paths of both of its servers. Pure."""

import re
from typing import Any

from linnet.testing.vendors.gemini_wire import signs

_PATH = re.compile(r"/v1(?:beta)?(?:/projects/[^/]+/locations/[^/]+/publishers/google)?/models/([^/:]+):(\w+)")
_EXPRESS = re.compile(r"/v1/publishers/google/models/([^/:]+):(\w+)")
_CLAUDE = re.compile(r"/v1(?:/projects/[^/]+/locations/[^/]+)?/publishers/anthropic/models/([^/:]+):streamRawPredict")
_NAME = re.compile(r"[A-Za-z_][\w.:-]{0,127}", re.ASCII)
_BASE64 = re.compile(r"[A-Za-z0-9+/_-]+={0,2}")
_FIELDS = {
    *("contents", "systemInstruction", "tools", "toolConfig", "generationConfig", "safetySettings"),
    *("cachedContent", "continuationToken"),
}
_DATA = ("text", "inlineData", "fileData", "functionCall", "functionResponse")
_FROM_LOW = ("gemini-3.1-pro-preview", "gemini-3.7-flash", "gemini-3.8-flash", "gemini-4-argon")


class _Refused(Exception):
    pass


def model_in(path: str) -> str | None:
    """Return the model that a path asks to stream a reply; None for any other path."""
    plain, _, query = path.partition("?")
    found = _PATH.fullmatch(plain) or _EXPRESS.fullmatch(plain)
    return found[1] if found and found[2] == "streamGenerateContent" and query == "alt=sse" else None


def unwrapped(path: str, body: Any) -> Any:
    """Return a request for one of Anthropic's models as Anthropic itself would get it: the path names the model. Any
    other is returned as it is; so is one that says its version wrongly, or names a model, and is refused then.
    """
    found = _CLAUDE.fullmatch(path.partition("?")[0])
    if not found or not isinstance(body, dict) or "model" in body:
        return body
    if body.get("anthropic_version") != "vertex-2023-10-16":
        return body
    return {"model": found[1], **{key: value for key, value in body.items() if key != "anthropic_version"}}


def check_gemini(body: dict[str, Any], model: str) -> str | None:
    """Return why Google would refuse a request; None if it would not."""
    try:
        _known(body, _FIELDS, "the request")
        _limits(body.get("generationConfig", {}), model)
        _tools(body)
        _contents(body["contents"], model)
        for part in body.get("systemInstruction", {"parts": [{"text": "-"}]})["parts"]:
            _demand(part["text"].strip(), "system_instruction: text must not be empty")
    except _Refused as refused:
        return str(refused)
    except (KeyError, TypeError, AttributeError, IndexError) as broken:
        return f"malformed request: {broken!r}"
    return None


def _demand(condition: object, otherwise: str) -> None:
    if not condition:
        raise _Refused(otherwise)


def _known(value: dict[str, Any], names: set[str], where: str) -> None:
    for name in value:
        _demand(name in names, f'Invalid JSON payload received. Unknown name "{name}" at {where}')


def _limits(limits: dict[str, Any], model: str) -> None:
    _known(limits, {"maxOutputTokens", "thinkingConfig"}, "generation_config")
    most = limits.get("maxOutputTokens", 1)
    _demand(isinstance(most, int) and most > 0, "max_output_tokens must be positive")
    thinking = limits.get("thinkingConfig")
    if thinking is None:
        return
    _known(thinking, {"includeThoughts", "thinkingLevel", "thinkingBudget"}, "thinking_config")
    _demand(not {"thinkingLevel", "thinkingBudget"} <= thinking.keys(), "You can only set one of budget and level.")
    if "thinkingLevel" in thinking:
        words = ("LOW", "MEDIUM", "HIGH") if model in _FROM_LOW else ("MINIMAL", "LOW", "MEDIUM", "HIGH")
        _demand(signs(model), "Thinking level is not supported for this model.")
        _demand(thinking["thinkingLevel"] in words, f"Thinking level {thinking['thinkingLevel']} is not supported.")
    if "thinkingBudget" in thinking:
        least = 0 if "flash" in model else 128
        _demand(not signs(model), "Thinking budget is not supported for this model.")
        _demand(least <= thinking["thinkingBudget"] <= 32768, "The thinking budget is invalid.")
        _demand(thinking["thinkingBudget"] < most, "The thinking budget leaves no tokens for the answer.")


def _tools(body: dict[str, Any]) -> None:
    for tool in body.get("tools", ()):
        _known(tool, {"functionDeclarations"}, "tools")
        names = [each["name"] for each in tool["functionDeclarations"]]
        _demand(len(names) == len(set(names)), "Duplicate function declaration found")
        for each in tool["functionDeclarations"]:
            _known(each, {"name", "description", "parametersJsonSchema"}, "function_declarations")
            _demand(_NAME.fullmatch(each["name"]), f"Invalid function name {each['name']!r}")
            _demand(each["parametersJsonSchema"].get("type") == "object", "parameters: the type must be object")


def _contents(contents: list[dict[str, Any]], model: str) -> None:
    _demand(contents, "contents is not specified")
    _demand(contents[0]["role"] == "user", "Please ensure that a conversation begins with a user turn.")
    _demand(contents[-1]["role"] == "user", "Please ensure that a conversation ends with a user turn.")
    calls: list[dict[str, Any]] = []  # Of the turn before.
    for at, content in enumerate(contents):
        _known(content, {"role", "parts"}, f"contents[{at}]")
        role, parts = content["role"], content["parts"]
        _demand(role in ("user", "model"), "Please use a valid role: user, model.")
        _demand(parts, f"contents[{at}].parts must not be empty")
        for part in parts:
            _part(part, role, f"contents[{at}]", model)
        answers = [part["functionResponse"] for part in parts if "functionResponse" in part]
        _demand(not answers or len(answers) == len(parts), f"contents[{at}]: results are in a turn of their own")
        _answered(calls, answers, model)
        calls = [part["functionCall"] for part in parts if "functionCall" in part]
        _demand(not calls or contents[at - 1]["role"] == "user", "A function call turn comes after a user turn.")
        if calls and signs(model):
            first = next(part for part in parts if "functionCall" in part)
            _demand(
                first.get("thoughtSignature"),
                "Function call is missing a thought_signature in functionCall parts. This is required for tools to "
                f"work correctly: function call `default_api:{first['functionCall']['name']}`, position {at + 1}.",
            )


def _answered(calls: list[dict[str, Any]], answers: list[dict[str, Any]], model: str) -> None:
    _demand(
        len(calls) == len(answers),
        "Please ensure that the number of function response parts is equal to the number of function call parts of "
        "the function call turn.",
    )
    for call, answer in zip(calls, answers, strict=True):
        _demand(call["name"] == answer["name"], "a function response has the name of another function")
        _demand(call.get("id") == answer.get("id"), "a function response has the id of another call")
        _demand(signs(model) == ("id" in call), "function_call.id: required, or not known, depending on the model")


def _part(part: dict[str, Any], role: str, where: str, model: str) -> None:
    _known(part, {*_DATA, "thought", "thoughtSignature"}, where)
    kinds = [name for name in _DATA if name in part]
    _demand(len(kinds) == 1, f"{where}: a part has exactly one kind of data")
    signature = part.get("thoughtSignature")
    _demand(signature is None or role == "model", f"{where}: only a reply is signed")
    _demand(signature is None or _BASE64.fullmatch(signature), f"{where}: Corrupted thought signature.")
    match kinds[0]:
        case "text":
            _demand(part["text"] or signature, f"{where}: it has an empty text parameter")
        case "inlineData":
            _known(part["inlineData"], {"mimeType", "data"}, where)
        case "functionCall":
            _demand(role == "model", f"{where}: a function call is the model's")
            _known(part["functionCall"], {"id", "name", "args"}, where)
            _demand(_NAME.fullmatch(part["functionCall"]["name"]), f"{where}: bad function name")
            _demand(isinstance(part["functionCall"]["args"], dict), f"{where}: args must be an object")
        case "functionResponse":
            answer = part["functionResponse"]
            _demand(role == "user", f"{where}: a function response is the user's")
            _known(answer, {"id", "name", "response", "parts"}, where)
            _demand(isinstance(answer["response"], dict), f"{where}: response must be an object")
            _demand(signs(model) or "parts" not in answer, f"{where}: parts are not supported for this model")
        case _:
            pass
