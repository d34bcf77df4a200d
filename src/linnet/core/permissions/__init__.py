"""Which tool calls may run: rules, how they are written, and what they fit. Pure.

`rule` is what a rule is, and all that a start without rules imports; `spelling` reads one, or says what is wrong with
it; `decision` is what the gate asks. `plain_command` is the strict reader of shell lines, for rules that allow;
`shell_words` and `mentions` are the generous one, for rules that ask or deny; `path_globs` is about paths.
"""
