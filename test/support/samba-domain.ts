import { execFileSync, spawn } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { makeCertificate, reachable, stopProgram } from "./directory-peer.ts";
import { makeTempDir } from "./temp-dir.ts";

export const AD_BASE = "DC=school,DC=test";

/** An entry that the domain begins with. `dn` and `member` are without the domain; the rest are attributes. */
export interface DomainEntry {
  dn: string;
  objectClass: "user" | "group" | "computer" | "organizationalUnit";
  password?: string | undefined;
  member?: readonly string[];
  [attribute: string]: string | readonly string[] | undefined;
}

/** A domain controller of Active Directory on a loopback address. */
export interface SambaDomain {
  url: string;
  secureUrl: string;
  /** The authority of its certificate, in PEM form. */
  authority: string;
  bindDn: string;
  bindPassword: string;
  /** Carries out changes in LDIF. */
  change(ldif: string): void;
  /** The first value of an attribute; in Base64 where it is binary. */
  read(dn: string, attribute: string): string;
  stop(): Promise<void>;
}

/** Makes a domain with these entries and starts its controller, which needs root for its ports. */
export async function startSambaDomain(entries: readonly DomainEntry[]): Promise<SambaDomain> {
  const folder = makeTempDir();
  // A test process has its own address, since the ports are fixed.
  const address = `127.66.${(process.pid >> 8) & 255}.${process.pid & 255 || 255}`;
  const bindPassword = "What only the appliance knows 1";
  makeCertificate(folder, address);
  const settings = {
    realm: "SCHOOL.TEST",
    workgroup: "SCHOOL",
    "netbios name": "DC1",
    "server role": "active directory domain controller",
    "server services": "ldap",
    interfaces: `${address}/8`,
    "bind interfaces only": "yes",
    "ldap server require strong auth": "no",
    "pid directory": folder,
    "ncalrpc dir": join(folder, "rpc"),
    "log file": join(folder, "log"),
    "tls certfile": join(folder, "cert.pem"),
    "tls keyfile": join(folder, "key.pem"),
    "tls cafile": "",
  };
  const lines = Object.entries(settings).map(([name, value]) => `${name} = ${value}\n`);
  writeFileSync(join(folder, "smb.conf"), `[global]\n${lines.join("")}`);
  const description = { folder, address, realm: "school.test", domain: "SCHOOL", password: bindPassword, entries };
  // The one of the system: Samba's modules are for it.
  execFileSync("/usr/bin/python3", [join(import.meta.dirname, "samba-domain.py")], {
    input: JSON.stringify(description),
    stdio: "pipe",
  });
  const samba = spawn("samba", ["-i", "-M", "single", "-s", join(folder, "etc/smb.conf")], { stdio: "ignore" });
  await reachable(389, samba, address);
  const urls = { url: `ldap://${address}`, secureUrl: `ldaps://${address}` };
  const bindDn = `CN=Administrator,CN=Users,${AD_BASE}`;
  writeFileSync(join(folder, "password"), bindPassword, { mode: 0o600 });
  const bound = ["-x", "-H", urls.secureUrl, "-D", bindDn, "-y", join(folder, "password")];
  const env = { ...process.env, LDAPTLS_CACERT: join(folder, "cert.pem") };
  return {
    ...urls,
    ...{ bindDn, bindPassword, authority: readFileSync(join(folder, "cert.pem"), "utf8") },
    change(ldif) {
      const file = join(folder, "change.ldif");
      writeFileSync(file, ldif);
      execFileSync("ldapmodify", [...bound, "-f", file], { env, stdio: "pipe" });
    },
    read(dn, attribute) {
      const asked = ["-LLL", "-o", "ldif-wrap=no", "-b", dn, "-s", "base", "(objectClass=*)", attribute];
      const found = execFileSync("ldapsearch", [...bound, ...asked], { env, encoding: "utf8", stdio: "pipe" });
      return new RegExp(`^${attribute}::? (.*)$`, "m").exec(found)?.[1] ?? "";
    },
    stop: () => stopProgram(samba),
  };
}
