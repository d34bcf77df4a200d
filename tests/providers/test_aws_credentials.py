"""AWS credentials are found where AWS's own programs find them, and are fetched again before they expire."""

import json
import os
from collections.abc import Mapping, Sequence
from hashlib import sha1
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from linnet.concurrency.cancel import CancelToken
from linnet.core.cancel import Cancel
from linnet.errors import ConfigError, ProviderError, ProviderRejected
from linnet.providers.bedrock import aws_files
from linnet.providers.bedrock.credentials import KeptCredentials, region, seen
from linnet.providers.bedrock.lenders import Lenders
from linnet.providers.bedrock.sigv4 import Credentials
from tests.providers.aws import ROLE, Asked, Lender

NOW = 1_800_000_000.0  # 2027-01-15T08:00:00Z
SOON = "2027-01-15T08:04:00Z"
LATER = "2027-01-15T09:00:00Z"
KEYS = {"AWS_ACCESS_KEY_ID": "AKID", "AWS_SECRET_ACCESS_KEY": "secret"}


class Home:
    """A home folder with AWS's files, and the variables that lead there."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / ".aws"
        self.folder.mkdir()
        self.environ: dict[str, str] = {"HOME": str(folder)}
        self.now = NOW
        self._kept: KeptCredentials | None = None

    def write(self, name: str, text: str) -> None:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def get(self, run: Any = None) -> Credentials | None:
        if self._kept is None:
            self._kept = KeptCredentials(self.environ, lambda: self.now)
        lenders = Lenders("bedrock", self.environ, region(self.environ), lambda: self.now, run)
        return self._kept.get(lenders, CancelToken())


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path)


def lent(asked: Asked) -> tuple[int, str]:
    return 200, ROLE.format(key="LENT", expires=LATER)


def test_variables_come_first(home: Home) -> None:
    home.write("credentials", "[default]\naws_access_key_id = FILE\naws_secret_access_key = x\n")
    home.environ |= KEYS | {"AWS_SESSION_TOKEN": "token"}
    assert home.get() == Credentials("AKID", "secret", "token")
    assert seen(home.environ).place == "AWS_ACCESS_KEY_ID"


def test_half_a_pair_of_keys_is_none(home: Home) -> None:
    home.environ["AWS_ACCESS_KEY_ID"] = "AKID"
    assert home.get() is None
    assert "no AWS credentials" in seen(home.environ).problem


@pytest.mark.parametrize("variable", ["AWS_PROFILE", "AWS_DEFAULT_PROFILE"])
def test_a_profile_is_chosen_by_its_variable(home: Home, variable: str) -> None:
    home.write("credentials", "[work]\naws_access_key_id=A\naws_secret_access_key=B\naws_session_token=C\n")
    assert home.get() is None
    home.environ[variable] = "work"
    assert Home.get(_again(home)) == Credentials("A", "B", "C")
    assert seen(home.environ).place == "the profile work"


def _again(home: Home) -> Home:
    """The same home, looked at anew."""
    home._kept = None
    return home


def test_a_profile_that_is_not_there_is_named(home: Home) -> None:
    home.environ["AWS_PROFILE"] = "wrok"
    with pytest.raises(ConfigError, match='no profile is called "wrok"'):
        home.get()
    assert "wrok" in seen(home.environ).problem
    assert seen(home.environ).place == ""


def test_files_may_be_elsewhere(home: Home, tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("[default]\naws_access_key_id=A\naws_secret_access_key=B\n")
    (tmp_path / "conf").write_text("[default]\nregion = eu-west-3\n")
    home.environ |= {"AWS_SHARED_CREDENTIALS_FILE": "~/mine", "AWS_CONFIG_FILE": str(tmp_path / "conf")}
    assert home.get() == Credentials("A", "B")
    assert region(home.environ) == "eu-west-3"


def test_a_file_that_has_changed_is_read_again(home: Home) -> None:
    home.write("credentials", "[default]\naws_access_key_id=A\naws_secret_access_key=B\n")
    assert home.get() == Credentials("A", "B")
    home.write("credentials", "[default]\naws_access_key_id=LONGER\naws_secret_access_key=B\n")
    assert home.get() == Credentials("LONGER", "B")


def test_the_region_is_that_of_the_arn_then_of_variables_then_of_the_profile(home: Home) -> None:
    assert region(home.environ) == "us-east-1"
    home.write("config", "[profile work]\nregion = eu-west-1\n")
    home.environ["AWS_PROFILE"] = "work"
    assert region(home.environ) == "eu-west-1"
    home.environ["AWS_DEFAULT_REGION"] = "eu-west-2"
    assert region(home.environ) == "eu-west-2"
    home.environ["AWS_REGION"] = "eu-west-3"
    assert region(home.environ) == "eu-west-3"
    arn = "arn:aws:bedrock:ap-south-1:123456789012:inference-profile/x"
    assert region(home.environ, arn) == "ap-south-1"


def test_a_role_is_taken_on_by_those_who_may(home: Home) -> None:
    home.write("credentials", "[base]\naws_access_key_id=BASE\naws_secret_access_key=B\n")
    home.write(
        "config",
        "[profile work]\nrole_arn = arn:aws:iam::1:role/r\nsource_profile = base\n"
        "external_id = e\nregion = eu-west-1\n",
    )
    with Lender(lent) as sts:
        home.environ |= {"AWS_PROFILE": "work", "AWS_ENDPOINT_URL_STS": sts.url}
        assert home.get() == Credentials("LENT", "lent-secret", "lent+token/==", NOW + 3600)
        assert home.get() is home.get()
    (asked,) = sts.asked
    assert asked.fields == {
        "Action": "AssumeRole",
        "Version": "2011-06-15",
        "RoleArn": "arn:aws:iam::1:role/r",
        "RoleSessionName": "linnet",
        "ExternalId": "e",
    }
    assert "Credential=BASE/20270115/eu-west-1/sts/aws4_request" in asked.headers["authorization"]


def test_roles_may_be_chained(home: Home) -> None:
    home.write(
        "config",
        "[default]\nrole_arn = two\nsource_profile = one\n"
        "[profile one]\nrole_arn = one\nsource_profile = one\naws_access_key_id = BASE\naws_secret_access_key = B\n",
    )
    with Lender(lambda asked: (200, ROLE.format(key=asked.fields["RoleArn"], expires=LATER))) as sts:
        home.environ["AWS_ENDPOINT_URL_STS"] = sts.url
        found = home.get()
    assert found is not None
    assert found.access_key == "two"
    assert [asked.headers["authorization"].partition("Credential=")[2].partition("/")[0] for asked in sts.asked] == [
        "BASE",
        "one",
    ]
    assert sts.asked[1].headers["x-amz-security-token"] == "lent+token/=="


@pytest.mark.parametrize(
    ("config", "problem"),
    [
        ("role_arn = r\nsource_profile = none\n", 'source_profile "none", which is not there'),
        ("role_arn = r\n", "neither a source_profile nor"),
        ("role_arn = r\nsource_profile = default\n", "its own source_profile"),
        ("role_arn = r\nsource_profile = default\nmfa_serial = x\n", "mfa_serial"),
        ("role_arn = r\ncredential_source = Environment\n", "neither a source_profile nor"),
    ],
)
def test_a_role_that_nobody_can_take_on_is_told_of_in_words(home: Home, config: str, problem: str) -> None:
    home.write("config", f"[default]\n{config}")
    with pytest.raises(ConfigError, match=problem):
        home.get()
    assert problem in seen(home.environ).problem


def test_credentials_are_fetched_again_before_they_expire(home: Home) -> None:
    home.write(
        "config", "[default]\nrole_arn = r\nweb_identity_token_file = TOKEN\n".replace("TOKEN", str(home.folder / "t"))
    )
    home.write("t", "jwt\n")
    answers = iter([("FIRST", LATER), ("SECOND", "2027-01-15T10:00:00Z")])

    def answer(asked: Asked) -> tuple[int, str]:
        key, expires = next(answers, ("", ""))
        return (200, ROLE.format(key=key, expires=expires)) if key else (500, "down")

    def key() -> str:
        found = home.get()
        assert found is not None
        return found.access_key

    with Lender(answer) as sts:
        home.environ["AWS_ENDPOINT_URL_STS"] = sts.url
        assert key() == "FIRST"
        home.now = NOW + 3600 - 301
        assert key() == "FIRST"
        home.now = NOW + 3600 - 299
        assert key() == "SECOND"
        home.now = NOW + 7200 - 10
        assert key() == "SECOND"  # The lender is down, and they are still good.
        home.now = NOW + 7200
        with pytest.raises(ProviderError, match="while credentials were asked for"):
            key()


def test_a_web_identity_is_a_role_too_and_its_token_is_told_to_nobody_else(home: Home) -> None:
    home.write("token", "eyJ-very-secret\n")
    with Lender(lambda asked: (403, f"<Error>bad token {asked.fields['WebIdentityToken']}</Error>")) as sts:
        home.environ |= {
            "AWS_WEB_IDENTITY_TOKEN_FILE": str(home.folder / "token"),
            "AWS_ROLE_ARN": "arn:r",
            "AWS_ROLE_SESSION_NAME": "me",
            "AWS_ENDPOINT_URL": sts.url,
        }
        with pytest.raises(ProviderRejected) as told:
            home.get()
    assert "bad token" in str(told.value)
    assert "very-secret" not in str(told.value)
    assert sts.asked[0].fields["Action"] == "AssumeRoleWithWebIdentity"
    assert sts.asked[0].fields["RoleSessionName"] == "me"
    assert "authorization" not in sts.asked[0].headers
    assert seen(home.environ).place == "AWS_WEB_IDENTITY_TOKEN_FILE"


def test_a_container_has_credentials(home: Home) -> None:
    said = {"AccessKeyId": "A", "SecretAccessKey": "B", "Token": "C", "Expiration": LATER}
    with Lender(lambda asked: (200, json.dumps(said))) as server:
        home.environ |= {
            "AWS_CONTAINER_CREDENTIALS_FULL_URI": f"{server.url}/creds?id=1",
            "AWS_CONTAINER_AUTHORIZATION_TOKEN": "Basic abc",
        }
        assert home.get() == Credentials("A", "B", "C", NOW + 3600)
    (asked,) = server.asked
    assert (asked.method, asked.path) == ("GET", "/creds?id=1")
    assert asked.headers["authorization"] == "Basic abc"


def test_a_container_is_not_asked_at_a_strangers(home: Home) -> None:
    home.environ["AWS_CONTAINER_CREDENTIALS_FULL_URI"] = "http://evil.test/creds"
    with pytest.raises(ConfigError, match=r"evil\.test, which may not be asked"):
        home.get()


def test_a_machine_is_asked_only_where_somebody_says_so(home: Home) -> None:
    def answer(asked: Asked) -> tuple[int, str]:
        if asked.path == "/latest/api/token":
            return (200, "pass") if asked.method == "PUT" else (405, "")
        if asked.headers.get("x-aws-ec2-metadata-token") != "pass":
            return 401, ""
        if asked.path.endswith("/security-credentials/"):
            return 200, "my-role\n"
        said = {"Code": "Success", "AccessKeyId": "A", "SecretAccessKey": "B", "Token": "C", "Expiration": LATER}
        return (200, json.dumps(said)) if asked.path.endswith("/my-role") else (404, "")

    with Lender(answer) as server:
        home.environ["AWS_EC2_METADATA_SERVICE_ENDPOINT"] = server.url
        assert home.get() is None
        assert server.asked == []
        home.environ["AWS_EC2_METADATA_DISABLED"] = "false"
        assert _again(home).get() == Credentials("A", "B", "C", NOW + 3600)


def test_a_login_of_sso_is_used_while_it_lasts(home: Home) -> None:
    home.write(
        "config",
        "[default]\nsso_session = mine\nsso_account_id = 12\nsso_role_name = dev\n"
        "[sso-session mine]\nsso_region = eu-west-1\nsso_start_url = https://x\n",
    )
    with pytest.raises(ConfigError, match="aws sso login"):
        home.get()
    cache = f"sso/cache/{sha1(b'mine').hexdigest()}.json"
    home.write(cache, json.dumps({"accessToken": "tok", "expiresAt": LATER}))
    said = {"accessKeyId": "A", "secretAccessKey": "B", "sessionToken": "C", "expiration": int(NOW + 60) * 1000}
    with Lender(lambda asked: (200, json.dumps({"roleCredentials": said}))) as portal:
        home.environ["AWS_ENDPOINT_URL_SSO"] = portal.url
        assert home.get() == Credentials("A", "B", "C", NOW + 60)
    assert portal.asked[0].path == "/federation/credentials?role_name=dev&account_id=12"
    assert portal.asked[0].headers["x-amz-sso_bearer_token"] == "tok"
    home.now = NOW + 4000
    with pytest.raises(ConfigError, match="has ended"):
        home.get()


def test_a_program_may_print_them(home: Home) -> None:
    home.write("config", "[default]\ncredential_process = /bin/print 'my keys'\n")
    ran: list[Sequence[str]] = []

    def run(argv: Sequence[str], cancel: Cancel) -> bytes:
        ran.append(argv)
        return b'{"Version": 1, "AccessKeyId": "A", "SecretAccessKey": "B", "SessionToken": "C"}'

    assert home.get(run) == Credentials("A", "B", "C")
    assert ran == [["/bin/print", "my keys"]]
    with pytest.raises(ConfigError, match="cannot be run from here"):
        _again(home).get()
    with pytest.raises(ConfigError, match="not of version 1"):
        _again(home).get(lambda argv, cancel: b"{}")


@pytest.mark.parametrize("said", ["", "{}", "[]", '{"AccessKeyId": "A"}', '{"AccessKeyId": 1, "SecretAccessKey": "B"}'])
def test_what_are_no_credentials_is_said_and_not_shown(home: Home, said: str) -> None:
    with Lender(lambda asked: (200, said)) as server:
        home.environ["AWS_CONTAINER_CREDENTIALS_FULL_URI"] = server.url
        with pytest.raises(ConfigError, match="credentials"):
            home.get()


LINES = [
    *("[default]", "[profile work]", '[profile "a b"]', "[other]", "  [other]", "# remark", "; remark", ""),
    *("region = eu-west-1", "role_arn=arn:aws:iam::1:role/r", "Key : value", "aws_access_key_id = A #B"),
    *("s3 =", "  nested = 1", "    nested = 2"),
]
FILES = st.lists(st.sampled_from(LINES), max_size=12)


@pytest.mark.foreign
@pytest.mark.xdist_group("vendors")
@given(FILES)
def test_their_parser_reads_the_same_out_of_a_file(lines: list[str]) -> None:
    from configparser import RawConfigParser

    text = "\n".join(["[default]", *lines, ""])
    theirs = RawConfigParser(strict=False)  # What botocore reads files with.
    theirs.read_string(text)
    plain = {
        name: {key: value for key, value in theirs[name].items() if "\n" not in value} for name in theirs.sections()
    }
    nested = {name: {key for key, value in theirs[name].items() if "\n" in value} for name in theirs.sections()}
    ours = aws_files.sections(text)
    assert {name: {k: v for k, v in values.items() if k not in nested[name]} for name, values in ours.items()} == plain


@pytest.mark.foreign
@pytest.mark.xdist_group("vendors")
def test_their_chain_finds_the_same_keys(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    from botocore.session import Session

    home.write("credentials", "[work]\naws_access_key_id = A=/+\naws_secret_access_key = B#x ;y\n")
    home.write("config", '[profile "work"]\nregion = eu-west-3\naws_access_key_id = OTHER\n')
    home.environ["AWS_PROFILE"] = "work"
    for name in [each for each in os.environ if each.startswith("AWS_")]:
        monkeypatch.delenv(name)
    for name, value in home.environ.items():
        monkeypatch.setenv(name, value)
    session: Any = Session()
    theirs = session.get_credentials()
    ours = home.get()
    assert ours is not None
    assert (ours.access_key, ours.secret_key) == (theirs.access_key, theirs.secret_key)
    assert region(home.environ) == session.get_config_variable("region")


def test_nothing_is_asked_to_know_whether_there_are_any(home: Home) -> None:
    variables: Mapping[str, str] = {
        **home.environ,
        "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI": "/x",
    }
    assert seen(variables).place == "the container"
