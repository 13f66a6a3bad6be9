"""Setting up a consortium: a party's request, the coordinator's consortium, and a party's acceptance.

Each step writes all of its files or none. Private keys stay where they were made.
"""

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path

from secfc.agreement.consortium import Consortium, Member, roster_of, roster_text
from secfc.agreement.job_file import Agreement, read_job
from secfc.agreement.key_files import COORDINATOR_KEY, read_key, write_new_key
from secfc.agreement.schemas import MADE_HERE
from secfc.agreement.secret_files import OWNER_ONLY, read_private_text, write_new
from secfc.agreement.site_file import Site
from secfc.drivers.flare.certificates import (
    Authority,
    check_certificate,
    new_key,
    read_tls_key,
    requested_key,
    signing_request,
)
from secfc.drivers.flare.hand_overs import (
    COORDINATOR,
    JOB,
    ROSTER,
    SCHEMAS,
    ConsortiumSchema,
    check_address,
    check_job_names,
    check_party,
    read_consortium,
    read_request,
    request_text,
)
from secfc.drivers.flare.kits import ADMIN, SERVER, SITE_FILE, check_path, use_site_file
from secfc.drivers.flare.provision import Address, issue_kit, make_kit
from secfc.errors import ParameterError, SecFCError
from secfc.tables.outputs import check_new_folder, whole_folder
from secfc.tables.toml_file import TomlFile, as_toml, read_text, toml_text

CONSORTIUM = "consortium.toml"  # the file that the coordinator hands over, in the consortium's folder
FOLDER = "consortium"  # name of that folder, at the coordinator and at each site
ADMIN_KIT = "admin"  # the coordinator's kit that submits jobs, in that folder
KIT = "kit"  # a site's startup kit, in that folder
IDENTITY_KEY, TLS_KEY = "identity.key", "tls.key"  # in the folder of the site file
_LOCAL = "localhost"  # the coordinator's own address of its server

_SITE = """\
# The settings of this site. Do not send this file to others. docs/agreeing-on-a-job.md explains its keys.
party = {party}
job = "{folder}/{job}"
key = "{key}"
results = "results"
{data}
[limits]
smallest_set = 1
"""


def request(
    folder: Path,
    member_name: str,
    *,
    organisation: str = "",
    data: dict[str, str] | None,
    helper: bool = False,
) -> Path:
    """Make a party's keys, its site file and its request in a folder. Return the request's path.

    `data` is the table [data] of the site file. Without it the party is a helper, or in a committee.
    """
    check_party(member_name, organisation)
    check_path(folder / FOLDER / KIT)
    paths = [folder / name for name in (IDENTITY_KEY, TLS_KEY, SITE_FILE, f"{member_name}.request")]
    there = [path for path in paths if path.exists()]
    if there:
        raise ParameterError(f"{there[0]}: it exists and is left as it is; use another folder")
    identity_key, tls_key, site_file, handed = paths
    table = "" if data is None else toml_text("\n[data]", data)
    text = _SITE.format(party=as_toml(member_name), folder=FOLDER, job=JOB, key=IDENTITY_KEY, data=table)
    key, pem = new_key()
    with ExitStack() as undo:
        identity = write_new_key(identity_key)
        undo.callback(identity_key.unlink)
        member = Member(name=member_name, organisation=organisation, key=identity.public)
        tls = signing_request(key, member_name)
        asked = request_text(member, identity, tls=tls, helper=helper)
        for path, content, mode in (
            (tls_key, pem, OWNER_ONLY),
            (site_file, text, 0o666),
            (handed, asked, 0o666),
        ):
            write_new(path, content.encode(), mode=mode)
            undo.callback(path.unlink)
        undo.pop_all()
    return handed


def found(job: Path, requests: Sequence[Path], out: Path, *, address: Address) -> Agreement:
    """Make a consortium of the parties that requested it: its keys, its kits and the file to hand over.

    The order of requests is that of client numbers.
    """
    check_new_folder("--out", out)
    check_path(out / SERVER)
    check_address(address, name="the server")
    file = TomlFile(job)
    named = [key for key in SCHEMAS if key in file.values]
    check_job_names(file, given=named)
    asked = [read_request(path) for path in requests]
    publics = {
        one.name: requested_key(one.tls, party=one.name, name=str(path))
        for path, one in zip(requests, asked, strict=True)
    }
    members = [one.member for one in asked if not one.helper]
    helpers = [one.member for one in asked if one.helper]
    if not members:
        raise ParameterError("REQUESTS: a party with rows is needed")
    with whole_folder("--out", out) as draft:
        identity = write_new_key(draft / COORDINATOR_KEY)
        coordinator = Member(name=COORDINATOR, key=identity.public)
        roster = roster_text(members, coordinator, helpers)
        consortium = roster_of(TomlFile(Path("the requests"), roster))
        schemas = {key: read_text(job.with_name(SCHEMAS[key])) for key in named}
        agreement = _write_job(draft, read_text(job), roster, schemas, before=f"{job.parent}/")
        authority = Authority.new(address.project)
        _write_server(draft, authority, address)
        certificates = {
            name: authority.certify(publics[name], name=name, role="client") for name in consortium.names
        }
        handed = ConsortiumSchema(
            format="secfc consortium 1",
            **MADE_HERE,
            project=address.project,
            host=address.host,
            port=address.port,
            roster=roster,
            job=read_text(job),
            prepare=schemas.get("prepare"),
            describe=schemas.get("describe"),
            authority=authority.pem,
            certificates=certificates,
            signature="",
        )
        write_new(draft / CONSORTIUM, handed.signed_text(identity).encode())
        read_consortium(draft / CONSORTIUM)
    return agreement


def accept(file: Path, site: Site) -> Consortium:
    """Accept a consortium file: write job, roster and startup kit into the new folder of the site's job."""
    schema, consortium = read_consortium(file)
    consortium.number_of(site.party, read_key(site.key).public, file=site.key)
    tls_key = site.key.with_name(TLS_KEY)
    pem = read_private_text(tls_key, what="a private key")
    key = read_tls_key(pem, name=str(tls_key))
    certificate = schema.certificates[site.party]
    check_certificate(certificate, schema.authority, key, party=site.party, name=str(file))
    if site.job.name != JOB:
        raise ParameterError(f'{site.path}: job: a path that ends in "{JOB}" is needed')
    folder = site.job.parent
    if folder == site.path.absolute().parent:
        raise ParameterError(f"{site.path}: job: a folder of its own is needed, such as {FOLDER}/{JOB}")
    check_path(folder / KIT)
    with whole_folder("job", folder) as draft:
        _write_job(draft, schema.job, schema.roster, schema.schemas, before=f"{file}: ")
        files = {"key": pem, "certificate": certificate, "authority": schema.authority}
        make_kit(
            draft / KIT,
            name=site.party,
            role="client",
            address=schema.address,
            files=files,
        )
        use_site_file(draft / KIT, site.path, home=folder / KIT)
    return consortium


def _write_job(draft: Path, job: str, roster: str, schemas: Mapping[str, str], *, before: str) -> Agreement:
    """Write the files of a job and read them. In errors `before` replaces the draft folder in file names."""
    for name, text in {
        JOB: job,
        ROSTER: roster,
        **{SCHEMAS[key]: one for key, one in schemas.items()},
    }.items():
        (draft / name).write_text(text, encoding="utf-8")
    try:
        return read_job(draft / JOB)
    except SecFCError as error:
        raise type(error)(str(error).replace(f"{draft}/", before), code=error.code) from None


def _write_server(draft: Path, authority: Authority, address: Address) -> None:
    write_new(draft / "authority.key", authority.key_pem.encode(), mode=OWNER_ONLY)
    write_new(draft / "authority.pem", authority.pem.encode())
    hosts = tuple(dict.fromkeys((address.host, _LOCAL)))
    issue_kit(draft / SERVER, authority, name=SERVER, role="server", address=address, hosts=hosts)
    own = Address(project=address.project, host=_LOCAL, port=address.port)
    issue_kit(draft / ADMIN_KIT, authority, name=ADMIN, role="lead", address=own)
    (draft / SERVER / "local" / COORDINATOR_KEY).symlink_to(Path("..", "..", COORDINATOR_KEY))
