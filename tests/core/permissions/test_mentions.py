"""What a rule that asks or denies is about: lines in which its words occur, however they are wrapped."""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from linnet.core.permissions.mentions import mentions, read
from linnet.core.permissions.shell_words import LONGEST

SPELLINGS = r"""
rm x
/bin/rm x
\rm x
"rm" x
'rm' x
r"m" x
r''m x
r\m x
command rm x
builtin command rm x
exec rm x
sudo rm x
sudo -u root rm x
doas rm x
env rm x
env A=1 rm x
env -i A=1 rm x
A=1 rm x
A=1 B=2 rm x
if ! rm x; then :; fi
if rm x; then :; fi
while rm x; do :; done
until rm x; do :; done
for i in 1; do rm x; done
case a in a) rm x;; esac
! rm x
time rm x
time -p rm x
nice -n 5 rm x
timeout 5 rm x
timeout -k 5 10s rm x
nohup rm x &
setsid rm x
stdbuf -oL rm x
ionice -c3 rm x
find . -exec rm {} ;
find . -exec rm {} +
ls | xargs rm
ls | xargs -n1 rm
ls | xargs -I{} rm {}
function f { rm x; }
f() { rm x; }; f
(rm x)
{ rm x; }
echo $(rm x)
echo `rm x`
echo "$(rm x)"
echo "`rm x`"
cat <(rm x)
tee >(rm x)
true && rm x
false || rm x
true; rm x
true & rm x
echo a | rm x
echo a |& rm x
sh -c "rm x"
sh -c 'rm x'
bash -lc 'cd /; rm x'
bash -c "sh -c 'rm x'"
bash -c 'sh -c "r\"\"m x"'
sh <<< "rm x"
sh <<< rm
echo rm x | sh
eval "rm x"
eval r''m x
coproc rm x
/bin/r? x
/bin/r* x
/bin/[r]m x
/bin/[[:alpha:]]m x
r? x
* x
sudo /bin/r? x
{rm,x}
{rm,-rf,x}
r{m,} x
r{m..m} x
$'rm' x
$'\x72m' x
$'\162\155' x
$'\u0072m' x
$"rm" x
trap 'rm x' EXIT
python3 -c "import os; os.system('rm x')"
perl -e 'system("rm","x")'
awk 'BEGIN{system("rm x")}'
busybox rm x
ssh host rm x
ssh host 'cd /; rm x'
echo ${X:-$(rm x)}
echo ${X:=rm}
. ${X:-rm}
. ${X-rm}
echo $(( $(rm x) ))
echo $[ $(rm x) ]
a=($(rm x))
a[$(rm x)]=1
[[ -n x ]]&&rm x
((1))&&rm x
((rm x); ls)
git status $[$'a[\x24\x28rm x\x29]']
printf -v 'a[$(rm x)]' %s y
test -v 'a[$(rm x)]'
env -S "rm x"
env -Srm
env -Srm\ x
git -c alias.x='!rm y' x
2>&1 rm x
<in rm x
&>out rm x
echo $(case a in a) echo;; esac; rm x)
alias x=rm; x y
. <(echo rm x)
echo 'r''m x' | sh
rm>x
rm;
tar --to-command=rm x
""".strip().split("\n")
IN_LINES = [
    "rm \\\n x",
    "r\\\nm x",
    "sh <<EOF\nrm x\nEOF",
    "cat <<'EOF' | sh\nrm x\nEOF",
    "cat <<EOF\nit's\nEOF\nrm x",
    "# don't\nrm x",
    "echo a\nrm x",
    "rm\tx",
    "if true\nthen\nrm x\nfi",
]
# Nobody can know what these run, so they count for any rule.
DARK = r"""
eval $X
eval "$(cat x)"
X=rm; $X x
${X} x
"$X" x
"$@"
$(echo rm) x
`echo rm` x
r$Y x
sudo $X
sudo -u root $X
sudo -n $X
env $X y
env A=1 $X
timeout 5 $X
xargs $X
find . -exec $X {} +
A=1 $X
>out $X
2>/dev/null $X
{fd}>x $X
if $X; then :; fi
while read l; do $l; done
function f { $X; }
f() { $X; }
bash -c "$X"
sh -c "true; $X"
trap "$X" EXIT
echo cm0geA== | base64 -d | sh
curl x | sudo bash
curl x | ssh host sh
curl x | rbash
curl x | (cd y; sh)
curl x | { read first; sh; }
curl x | if true; then sh; fi
curl x | while true; do bash; done
curl x | tee >(sh)
curl x | tee >(cd y; sh) log
curl x | xargs -0 sh -c
curl x | xargs -I% sh -c %
curl x | xargs -I{} bash -c '{}'
ssh host $x
flock lock $x
chroot jail $x
printf 'r%s' m | bash -s
bash <<< "$X"
bash -c $X
bash -ec $(cat x)
sh <(printf 'r%s x' m)
. <(printf 'r%s x' m)
source /dev/stdin <<< "$X"
bash < <(printf 'r%s x' m)
time $X
time -p $X
((ls); $X)
""".strip().split("\n")


@pytest.mark.parametrize("line", [*SPELLINGS, *IN_LINES, *DARK, "ls |\nsh"])
def test_a_denied_program_is_found_however_it_is_spelled(line: str) -> None:
    assert mentions(line, ("rm",))


@pytest.mark.parametrize("line", DARK)
def test_what_nobody_can_know_counts_for_every_rule(line: str) -> None:
    assert read(line).is_dark


@pytest.mark.parametrize(
    "line",
    [
        "ls | xargs sh -c 'wc \"$@\"' _",
        "flock lock make",
        "ls",
        "echo rmdir",
        "farm x",
        "ls *",
        "cat *.py",
        "git add *",
        "echo $HOME",
        'echo "$X" y',
        "FOO=$X make",
        "echo $((1+$X))",
        "(( $X > 1 )) && ls",
        "a=($X $Y)",
        "for i in $L; do echo $i; done",
        "case $X in a) ls;; esac",
        "nice -n 5 make $X",
        "[ $X = 1 ]",
        'git commit -m "$MSG"',
        "bash script.sh $X",
        "ls | bash -c 'cat'",
        "ls | wc; bash run.sh",
        "ls > $OUT",
    ],
)
def test_other_lines_do_not_fit(line: str) -> None:
    assert not mentions(line, ("rm",))


@pytest.mark.parametrize(
    ("line", "fits"),
    [
        ("git push", True),
        ("git -C . push", True),
        ("git --git-dir=x push origin", True),
        ("git $(echo -C .) push", True),
        ("git $(case a in a) echo -C;; esac) . push", True),
        ("git 2>&1 push", True),
        ("git >x push", True),
        ("git \"-C\" 'a;b' push", True),
        ("sh -c 'git -C . push'", True),
        ("git -c alias.p=push p", True),
        ("git p?sh", True),
        ("git pu$@sh", True),
        ("env git${IFS}push", True),
        ("/usr/bin/git push", True),
        ("git {push,origin}", True),
        ("git \\\n push", True),
        ("git status; echo push", False),
        ("git log && push", False),
        ("git log\npush", False),
        ("push git", False),
        ("gitk push", False),
        ("git pull", False),
        ("git status | grep push", False),
    ],
)
def test_words_count_in_their_order_within_one_command(line: str, fits: bool) -> None:
    assert mentions(line, ("git", "push")) is fits


@pytest.mark.parametrize(
    ("words", "line", "fits"),
    [
        (("git*push",), "git -C . push", True),
        (("git*push",), "git pull", False),
        (("echo*",), "echoes", True),
        (("*rm*",), "farms", True),
        (("git", "*", "--force"), "git push -v --force", True),
        (("git", "*", "--force"), "git --force", True),
        (("git", "*", "--force"), "git push", False),
        (("/bin/rm",), "rm x", True),
        (("cat", "/etc/passwd"), "cat /etc/pass*", True),
        (("cat", ".env"), "cat ./.env", True),
        (("cat", ".env"), "cat x.env", False),
    ],
)
def test_a_star_is_anything_and_a_path_has_an_end(words: tuple[str, ...], line: str, fits: bool) -> None:
    assert mentions(line, words) is fits


def _double(line: str) -> str:
    return '"' + "".join(f"\\{sign}" if sign in '"\\$`' else sign for sign in line) + '"'


def _single(line: str) -> str:
    return "'" + line.replace("'", "'\\''") + "'"


def _ansi(line: str) -> str:
    return "$'" + "".join(f"\\x{ord(sign):02x}" if sign.isascii() else sign for sign in line) + "'"


WRAPPERS: list[Callable[[str], str]] = [
    lambda line: f"sh -c {_single(line)}",
    lambda line: f"bash -lc {_double(line)}",
    lambda line: f"sh -c {_ansi(line)}",
    lambda line: f"({line})",
    lambda line: f"{{ {line}; }}",
    lambda line: f"if ! {line}; then :; fi",
    lambda line: f"true && {line}",
    lambda line: f"echo a | {line}",
    lambda line: f"echo $({line})",
    lambda line: f'echo "$({line})"',
    lambda line: f"cat <({line})",
    lambda line: f"f() {{ {line}; }}; f",
    lambda line: f"function f {{ {line}; }}",
    lambda line: f"for i in 1 2; do {line}; done",
    lambda line: f"case a in a) {line};; esac",
    lambda line: f"A=1 B='2 3' {line}",
    lambda line: f"env -i A=1 {line}",
    lambda line: f"timeout 5 {line}",
    lambda line: f"nice -n 5 {line}",
    lambda line: f"ls | xargs -n1 {line}",
    lambda line: f"find . -exec {line} +",
    lambda line: f">out 2>&1 {line}",
    lambda line: f"{line} # as always",
    lambda line: f"cat <<E | sh\n{line}\nE",
    lambda line: f"echo it\\'s\n{line}",
    lambda line: f"eval {_single(line)}",
    lambda line: f"ssh host {_single(line)}",
    lambda line: f"echo {_single(line)} | sh",
]
spellings = st.sampled_from(["git push", "git -C . push", "/usr/bin/git push -f", "'git' \"push\"", "g\\it pu''sh"])


@given(spellings, st.lists(st.sampled_from(WRAPPERS), max_size=4))
def test_any_wrapping_of_a_denied_command_is_denied(line: str, wrappers: list[Callable[[str], str]]) -> None:
    for wrap in wrappers:
        line = wrap(line)
    assert mentions(line, ("git", "push"))


signs = st.sampled_from(
    [*"$`\\;&|<>(){}[]!#\n\t'\"*?~= ab", "$(", "${", "$((", "((", "<<<", "$'", "case ", "esac", "git "]
)


@given(st.lists(signs, max_size=30).map("".join))
def test_any_line_can_be_read(line: str) -> None:
    mentions(line, ("git", "push"))


@given(st.lists(signs, max_size=12).map("".join))
def test_whatever_stands_around_it_a_command_on_its_own_line_is_found(noise: str) -> None:
    """Unless what stands there makes another word of it."""
    if noise.endswith(("\\", "$")):
        return
    assert mentions(f"{noise}\nrm x\n{noise}", ("rm",))


@pytest.mark.parametrize(
    "part", ["(", "(( ", "$((", "'", '"', "`", "a ", "a;", "{a,b}", "\\", "$", "git a ", "x", "${", "<(", "\"'a b'\""]
)
def test_a_line_that_is_too_much_counts_for_every_rule(part: str) -> None:
    assert mentions(part * (LONGEST // len(part) + 1), ("rm",))


CORES = [
    "rm x",
    "r''m",
    "\\rm",
    "$'\\x72m' x",
    "{rm,x}",
    "$X x",
    "${Y:-rm} x",
    "r?",
    "'rm x'",
    "$(echo rm)",
    "`echo rm`",
]
BEFORE = [
    "",
    "X=rm; ",
    "X=rm\n",
    "! ",
    "if ",
    "{ ",
    "( ",
    "(",
    "eval ",
    "sh -c ",
    "command ",
    "exec ",
    "time -p ",
    "a=1 ",
    ">y ",
    "<x ",
]
BEFORE += [
    "2>&1 ",
    "true && ",
    "false || ",
    "echo ",
    "echo | ",
    "echo $(",
    "echo `",
    'echo "$(',
    "cat <(",
    ". <(echo ",
    "f() { ",
]
BEFORE += [
    "function f { ",
    "case a in a) ",
    "for i in 1; do ",
    "test -v ",
    "coproc ",
    "shopt -s extglob\n",
    "cat <<< ",
    "# don't\n",
]
AFTER = [
    "",
    "; }",
    ")",
    "`",
    ')"',
    ";; esac",
    "; done",
    "; then :; fi",
    "; f",
    " }; f",
    " | sh",
    " &",
    " # y",
    "\n",
    " >y",
    "]",
    "'",
    '"',
]


@pytest.fixture(scope="module")
def bin_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of programs in which `rm` only says that it ran."""
    folder = tmp_path_factory.mktemp("bin")
    (folder / "rm").write_text('#!/bin/bash\necho ran >&"$TOLD"\n')
    (folder / "rm").chmod(0o755)
    for name in ("sh", "cat"):
        (folder / name).symlink_to(str(shutil.which(name)))
    return folder


def runs(line: str, bin_folder: Path) -> bool:
    """Whether a real shell runs `rm` for this line."""
    told, tell = os.pipe()
    with tempfile.TemporaryDirectory() as folder, open(told, "rb") as hearing:
        for name in ("rm", "x"):
            Path(folder, name).touch()  # So that `r?` is a name.
        try:
            process = subprocess.Popen(
                ["/bin/bash", "--norc", "--noprofile", "-c", line],
                cwd=folder,
                env={"PATH": str(bin_folder), "TOLD": str(tell)},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                pass_fds=(tell,),
                start_new_session=True,
            )
        finally:
            os.close(tell)
        ran = hearing.read()  # Until the last that it has started is gone.
        process.wait(60)
    return bool(ran)


@settings(max_examples=150)
@given(
    st.lists(st.sampled_from(BEFORE), max_size=3).map("".join),
    st.sampled_from(CORES),
    st.lists(st.sampled_from(AFTER), max_size=3).map("".join),
)
@example("", "rm x", "")
@example("# don't\n", r"$'\x72m' x", "")
def test_whatever_makes_a_real_shell_run_it_is_denied(bin_folder: Path, before: str, core: str, after: str) -> None:
    line = before + core + after
    ran = runs(line, bin_folder)
    assert ran or line != "rm x", "it is heard when it runs"
    assert not ran or mentions(line, ("rm",))
