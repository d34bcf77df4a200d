"""What came of all checks: for people, as one JSON object, and as JUnit's XML."""

from collections import Counter
from collections.abc import Sequence
from typing import Any, Final
from xml.sax.saxutils import escape, quoteattr

from msgspec import Struct

from linnet import __version__
from linnet.conform.check import TIERS, Check, Dialect, brief
from linnet.conform.judging import Outcome, Verdict
from linnet.conform.seen import Line

TIER_WORDS: Final = {"must": "must", "should": "should", "defect": "known defect of the original"}
SHOWN_LINES: Final = 24  # Of a transcript, for people.
SHOWN_WIDTH: Final = 160


class Report(Struct, frozen=True):
    """Everything that came of judging one program."""

    dialect: Dialect
    command: list[str]
    verdicts: list[Verdict]
    transcripts: dict[str, list[Line]]
    """By scene, of those in which a check failed."""
    seconds: float

    @property
    def passed(self) -> bool:
        """Whether all musts hold that were judged."""
        return not any(each.outcome == "failed" and each.check.tier == "must" for each in self.verdicts)

    def counts(self) -> dict[str, dict[str, int]]:
        """How many checks of each tier came out how."""
        found = Counter((each.check.tier, each.outcome) for each in self.verdicts)
        outcomes: tuple[Outcome, ...] = ("passed", "failed", "not judged")
        return {tier: {outcome: found[tier, outcome] for outcome in outcomes} for tier in TIERS}


def as_json(report: Report) -> dict[str, Any]:
    """Return the object that `--json` prints."""
    return {
        "linnet": __version__,
        "dialect": report.dialect,
        "command": report.command,
        "passed": report.passed,
        "seconds": round(report.seconds, 3),
        "counts": {
            tier: {outcome.replace(" ", "_"): number for outcome, number in found.items()}
            for tier, found in report.counts().items()
        },
        "checks": [_check(each) for each in report.verdicts],
        "transcripts": {
            scene: [{"ms": line.ms, line.kind: line.text} for line in lines]
            for scene, lines in report.transcripts.items()
        },
    }


def described(check: Check) -> dict[str, Any]:
    """Return what `--list --json` says of a check."""
    return {
        "id": check.id,
        "tier": check.tier,
        "says": check.says,
        "source": check.source,
        "requirements": list(check.of),
        "scene": check.scene.name,
    }


def _check(verdict: Verdict) -> dict[str, Any]:
    said = described(verdict.check) | {"outcome": verdict.outcome}
    return said | ({"saw": verdict.saw} if verdict.saw else {})


def table(report: Report) -> str:
    """Return what people are shown: every check in its group, the failures with what was seen, and the counts."""
    lines: list[str] = []
    group = ""
    shown: set[str] = set()
    for verdict in report.verdicts:
        check = verdict.check
        if check.scene.name != group:
            group = check.scene.name
            lines += ["", group]
        mark = {"passed": "ok  ", "failed": "FAIL", "not judged": "  – "}[verdict.outcome]
        lines.append(f"  {mark}  {check.tier:6}  {check.id}")
        if verdict.outcome == "failed":
            lines += [f"                {check.says}", f"                saw: {verdict.saw}"]
            transcript = report.transcripts.get(group, [])
            if transcript and group not in shown:
                shown.add(group)
                lines += [f"                | {line}" for line in shortened(transcript)]
        elif verdict.outcome == "not judged":
            lines.append(f"                {verdict.saw}")
    lines += ["", *_summary(report)]
    return "\n".join(lines[1:])


def _summary(report: Report) -> list[str]:
    lines = [f"{'':30}{'passed':>8}{'failed':>8}{'not judged':>12}"]
    for tier, found in report.counts().items():
        lines.append(f"{TIER_WORDS[tier]:30}{found['passed']:8}{found['failed']:8}{found['not judged']:12}")
    words = "All musts hold." if report.passed else "Some musts do not hold."
    return [*lines, f"{report.dialect}: {len(report.verdicts)} checks in {report.seconds:.1f} s. {words}"]


def shortened(transcript: Sequence[Line]) -> list[str]:
    """Return the last lines of a transcript, for people."""
    arrows = {"in": "→", "out": "←", "request": "model", "note": "·"}
    shown = [
        f"{line.ms:9.1f} {arrows[line.kind]:5} {brief(line.text, SHOWN_WIDTH)}" for line in transcript[-SHOWN_LINES:]
    ]
    left_out = len(transcript) - len(shown)
    return [*([f"({left_out} lines before)"] if left_out > 0 else []), *shown]


def junit(report: Report) -> str:
    """Return the same as XML that CI servers read. Only musts are failures; others that fail are skipped, with why."""
    failures = sum(1 for each in report.verdicts if each.outcome == "failed" and each.check.tier == "must")
    skipped = sum(1 for each in report.verdicts if each.outcome != "passed") - failures
    head = (
        f'<testsuite name={quoteattr("linnet conform " + report.dialect)} tests="{len(report.verdicts)}" '
        f'failures="{failures}" errors="0" skipped="{skipped}" time="{report.seconds:.3f}">'
    )
    cases = [_case(report, each) for each in report.verdicts]
    return "\n".join(
        ['<?xml version="1.0" encoding="UTF-8"?>', "<testsuites>", head, *cases, "</testsuite>", "</testsuites>", ""]
    )


def _case(report: Report, verdict: Verdict) -> str:
    check = verdict.check
    opening = f"<testcase name={_attribute(check.id)} classname={_attribute(f'{report.dialect}.{check.scene.name}')}"
    if verdict.outcome == "passed":
        return f"{opening}/>"
    message = _attribute(verdict.saw)
    if verdict.outcome == "failed" and check.tier == "must":
        lines = [check.says, f"source: {check.source}", *shortened(report.transcripts.get(check.scene.name, []))]
        return f"{opening}><failure message={message}>{_text(chr(10).join(lines))}</failure></testcase>"
    return f"{opening}><skipped message={_attribute(f'{check.tier}: {verdict.saw}')}/></testcase>"


def _text(text: str) -> str:
    """Return text for XML, which has no place for most control characters, nor for half surrogate pairs."""
    return escape("".join(each if _is_xml(each) else "\ufffd" for each in text))


def _attribute(text: str) -> str:
    return quoteattr("".join(each if _is_xml(each) else "\ufffd" for each in text))


def _is_xml(each: str) -> bool:
    code = ord(each)
    return each in "\t\n\r" or 0x20 <= code < 0xD800 or 0xE000 <= code < 0xFFFE or code > 0xFFFF
