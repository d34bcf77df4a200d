"""Decides which tool calls may run: rules, how they are written, and which calls they fit.

`rule` has what a rule is, and is all that a start without rules imports. `rule_syntax` reads one, or says what is wrong
with it. `decision` has what is asked before a call runs. `plain_command` is the strict reader of shell lines, for rules
that allow; `shell_words` and `mentions` are the generous one, for rules that ask or deny. `path_globs` is about paths.
"""
