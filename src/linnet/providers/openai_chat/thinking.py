"""Says how much a model is to think, in the fields that each server of the Chat Completions API wants it in."""

from collections.abc import Mapping
from typing import Any, assert_never

from linnet.core.models import Reasoning
from linnet.providers.base import Request
from linnet.providers.openai_chat.quirks import Quirks
from linnet.providers.output_limit import thinking_room


def thinking_fields(request: Request, quirks: Quirks) -> dict[str, Any]:
    """Return the fields of a request that say how much the model is to think; none for a model that does not."""
    model, level = request.model, request.level
    if not model.reasoning:
        return {}
    told, thinks = model.levels.get(level, ""), level != "off"
    fields = _mode(quirks, told, thinks=thinks, level=level)
    if thinks and quirks.budget_field:
        fields[quirks.budget_field] = thinking_room(level)
    return fields


def _mode(quirks: Quirks, told: str | int, *, thinks: bool, level: Reasoning) -> dict[str, Any]:
    effort: dict[str, Any] = {"reasoning_effort": told} if told and quirks.supports_reasoning_effort else {}
    match quirks.thinking_format:
        case "openai":
            return effort
        case "deepseek":
            return {"thinking": {"type": "enabled" if thinks else "disabled"}, **(effort if thinks else {})}
        case "zai":
            mode = {"type": "enabled", "clear_thinking": False} if thinks else {"type": "disabled"}
            return {"thinking": mode, **(effort if thinks else {})}
        case "openrouter":
            return {"reasoning": {"effort": told}} if told else {"reasoning": {"enabled": thinks}}
        case "together":
            return {"reasoning": {"enabled": thinks}, **(effort if thinks else {})}
        case "ant-ling":
            return {"reasoning": {"effort": told}} if told else {}
        case "string-thinking":
            return {"thinking": told} if told else {}
        case "qwen":
            return {"enable_thinking": thinks}
        case "qwen-chat-template":
            return {"chat_template_kwargs": {"enable_thinking": thinks, "preserve_thinking": True}}
        case "chat-template":
            values = _filled(quirks.chat_template_kwargs, told, level, thinks=thinks)
            return {"chat_template_kwargs": values} if values else {}
        case "baseten":
            values = _filled(quirks.chat_template_args, told, level, thinks=thinks)
            return {**({"chat_template_args": values} if values else {}), **effort}
        case _:
            assert_never(quirks.thinking_format)


def _filled(template: Mapping[str, Any], told: str | int, level: Reasoning, *, thinks: bool) -> dict[str, Any]:
    """Return the values, with what was asked in the place of each `$var`. What has no value is left out."""
    known = {
        "thinking.enabled": thinks,
        "thinking.effort": told or None,
        "thinking.budget": thinking_room(level) if thinks else None,
    }
    filled: dict[str, Any] = {}
    for name, value in template.items():
        if not isinstance(value, dict):
            filled[name] = value
        elif not (value.get("omitWhenOff") and not thinks):
            found = known.get(value.get("$var", ""))
            if found is not None:
                filled[name] = found
    return filled
