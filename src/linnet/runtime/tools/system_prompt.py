"""The system prompt: linnet's own words, hints for the tools, and what people add."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from linnet.runtime.project.instruction_files import InstructionFiles
    from linnet.runtime.settings.settings import Settings

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


def sections(
    cwd: str,
    tools: Sequence[str],
    replacement: str | None,
    addition: str | None,
    *,
    project_context: str = "",
    skills: str = "",
    sandbox: str = "",
    hints: Sequence[str] = (),
) -> dict[str, str]:
    """Return the sections of the system prompt by their names, for a model that has these tools: joined by empty lines,
    in this order, they are the prompt. `replacement` stands in for linnet's own words, `addition` follows whichever was
    used, `sandbox` says what commands cannot do, and `hints` what extensions say about their tools. The names are pi's,
    where pi has the same.
    """
    found = {"preamble": BASE if replacement is None else replacement}
    if replacement is None:
        lines = [f"- {TOOL_HINTS[name]}" for name in tools if name in TOOL_HINTS] + [f"- {hint}" for hint in hints]
        found["tools"] = "Your tools:\n" + "\n".join(lines) if lines else ""
        found["cwd"] = f"The working folder is {cwd}. Relative paths start there."
    found |= {"sandbox": sandbox, "addendum": addition or "", "project_context": project_context, "skills": skills}
    return {name: text for name, text in found.items() if text}


def put_together(
    settings: "Settings",
    tools: Sequence[str],
    hints: Sequence[str],
    files: "InstructionFiles",
    skills: str,
    sandbox: str,
) -> dict[str, str]:
    """Return the sections that the settings and the files of people come to."""
    replacement, addition = settings.system_prompt, settings.append_system_prompt
    return sections(
        settings.cwd,
        tools,
        files.system if replacement is None else replacement,
        files.addition if addition is None else addition,
        project_context=files.section,
        skills=skills,
        sandbox=sandbox,
        hints=hints,
    )
