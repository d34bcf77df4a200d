"""Tells by a vendor's words whether a conversation no longer fits its model: few of them have a code for it."""

CODES = frozenset(
    (
        "contextlengthexceeded",  # OpenAI, and most who speak like it
        "contextwindowexceedederror",  # LiteLLM
        "exceedcontextsizeerror",  # llama.cpp
        "requesttoolarge",  # Anthropic
    )
)
"""Codes and types, without underscores and in lower case."""

WORDS: tuple[tuple[str, str], ...] = (
    ("several", r"too many tokens"),
    ("several", r"token limit exceeded"),
    ("Anthropic", r"prompt is too long"),
    ("Anthropic", r"exceed context limit"),
    ("OpenAI", r"maximum context length"),
    ("OpenAI", r"exceeds the context window"),
    ("OpenAI", r"context_length_exceeded"),
    ("Google", r"input token count.{0,80}exceeds the maximum"),
    ("Bedrock", r"input is too long for requested model"),
    ("Copilot", r"exceeds the limit of [\d,]{4,}(?![\d,]|\s*(?:bytes|characters|pixels|px|[km]i?b)\b)"),
    ("Groq", r"reduce the length of the messages"),
    ("Kimi", r"exceeded model token limit"),
    ("LiteLLM", r"context window exceeded"),
    ("llama.cpp", r"exceeds the available context size"),
    ("LM Studio", r"greater than the context length"),
    ("MiniMax", r"context window exceeds limit"),
    ("Ollama", r"exceeded max context length"),
    ("Qwen", r"range of input length should be"),
    ("Together", r"is longer than the model's context length"),
    ("xAI", r"maximum prompt length is \d"),
    ("Z.ai", r"prompt too long"),
    ("Z.ai", r"prompt exceeds max length"),
)
"""Who says it, and a pattern for text in lower case."""

OTHERWISE = (
    r"rate limit|too many requests|throttl|please wait before trying again|max\w{0,20}_tokens\W.*exceeds the limit of"
)
"""Sentences that are alike, and about something else: the pace, or how long an answer may be."""

_READ = 4096  # So many characters are enough, and a server that goes on for longer costs no time.


def told_by(message: str) -> bool:
    """Return whether these words of a vendor say that a conversation does not fit."""
    import re  # What only a failure needs.

    words = message[:_READ].lower()
    if re.search(OTHERWISE, words):
        return False
    return any(re.search(pattern, words) for _, pattern in WORDS)
