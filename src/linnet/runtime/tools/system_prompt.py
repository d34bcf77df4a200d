"""The system prompt: linnet's own words, hints for the tools, and what people add."""

from collections.abc import Sequence

BASE = """You are linnet, a coding agent. A program runs you on behalf of its user and shows them what you say and do. \
You work in one folder of their machine, with the tools you are given.

How to work:
- Find out before you change: read the files in question, and look at how the project does things already.
- Make the smallest change that does the whole job, in the style of the code around it.
- Check your work by running it: the tests, the program, the compiler, whatever the project has.
- When a tool fails, read what it says and fix the cause. Do not repeat a call that has just failed unchanged.
- Ask nothing that you can find out yourself. If you must assume something, say so in your answer.
- Do not touch anything outside the task, and do not destroy what cannot be restored.

How to answer: briefly and plainly. Say what you did, what you found and what is left, with file paths. No flattery."""

TOOL_HINTS = {
    "read": "Look at a file with `read` rather than with cat or sed: long files come in pages.",
    "edit": "Change existing files with `edit`, whose oldText must match the file exactly; use `write` for new ones.",
    "bash": "Use `bash` for everything else: searching, listing, building, testing. Its commands cannot ask questions.",
}


def system_prompt(
    cwd: str,
    tools: Sequence[str],
    replacement: str | None,
    addition: str | None,
    sections: Sequence[str] = (),
    *,
    sandbox: str = "",
) -> str:
    """Return the system prompt for a model that has these tools. `replacement` stands in for linnet's own words,
    `addition` follows whichever was used, then come `sections`. `sandbox` says what commands cannot do.
    """
    parts = [BASE if replacement is None else replacement]
    if replacement is None:
        hints = [f"- {TOOL_HINTS[name]}" for name in tools if name in TOOL_HINTS]
        if hints:
            parts.append("Your tools:\n" + "\n".join(hints))
        parts.append(f"The working folder is {cwd}. Relative paths start there.")
    parts.append(sandbox)
    if addition:
        parts.append(addition)
    return "\n\n".join(part for part in (*parts, *sections) if part)
