"""Makes an Active Directory domain in a folder; stdin has its description as JSON, see samba-domain.ts."""

import json
import logging
import sys

from samba import param
from samba.auth import system_session
from samba.provision import FILL_FULL, provision
from samba.samdb import SamDB

given = json.load(sys.stdin)
config = given["folder"] + "/smb.conf"
settings = param.LoadParm()
settings.load(config)
logging.basicConfig(level=logging.ERROR)
made = provision(
    logging.getLogger("provision"),
    system_session(),
    smbconf=config,
    targetdir=given["folder"],
    samdb_fill=FILL_FULL,
    realm=given["realm"],
    domain=given["domain"],
    hostname="dc1",
    hostip=given["address"],
    adminpass=given["password"],
    serverrole="active directory domain controller",
    dns_backend="NONE",
    dom_for_fun_level=2,
    lp=settings,
    batch_mode=True,
)
base = ",DC=".join(["", *given["realm"].split(".")])
database = SamDB(url=given["folder"] + "/private/sam.ldb", session_info=system_session(), lp=made.lp)
database.transaction_start()
for entry in given["entries"]:
    values = {name: value for name, value in entry.items() if value}
    values["dn"] += base
    if "password" in entry:
        values["unicodePwd"] = '"{}"'.format(values.pop("password")).encode("utf-16-le")
    if entry.get("member"):
        values["member"] = [each + base for each in entry["member"]]
    database.add(values)
database.transaction_commit()
