"""The `skill` tool, with which the model loads a skill by name: zot has it, and in a sandbox other tools see
no skills.
"""

from collections.abc import Sequence

from linnet.core.messages import Text, ToolCall
from linnet.core.project import skill
from linnet.core.toolspec import ToolSpec
from linnet.errors import BadInput
from linnet.runtime.project.skills import Skills
from linnet.tools.context import ToolContext
from linnet.tools.spec import ToolOutput

NAME = "skill"
SPEC = ToolSpec(
    NAME,
    "Load a skill: the full instructions that belong to a name in the system prompt's list of skills.",
    {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]},
)
_KINDS = {
    bool: "a boolean",
    int: "a number",
    float: "a number",
    list: "an array",
    dict: "an object",
    type(None): "null",
}


class SkillTool:
    """A Toolset with one tool, or with none while there are no skills."""

    def __init__(self, skills: Skills) -> None:
        self._skills = skills

    @property
    def specs(self) -> Sequence[ToolSpec]:
        return (SPEC,) if any(not each.skill.hidden for each in self._skills.found) else ()

    def run(self, call: ToolCall, context: ToolContext) -> ToolOutput:
        try:
            return ToolOutput((Text(self._loaded(call)),))
        except BadInput as error:
            return ToolOutput((Text(f"{NAME}: {error}"),), is_error=True)

    def _loaded(self, call: ToolCall) -> str:
        """Return the text of the skill that the call names. Raises BadInput."""
        if call.unparsed:
            raise BadInput(f"invalid args: not a JSON object: {call.unparsed[:200]}")
        name = call.args.get("name", "")
        if not isinstance(name, str):
            raise BadInput(f"invalid args: name must be a string, not {_KINDS[type(name)]}")
        if not name:
            raise BadInput("name is required")
        found = self._skills.named(name)
        if found is None or found.hidden:
            known = sorted(each.skill.name for each in self._skills.found if not each.skill.hidden)
            raise BadInput(f'no skill named "{name}" (there are: {", ".join(known)})')
        return skill.loaded(found, self._skills.body(found))
