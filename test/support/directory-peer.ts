import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import { unusedPort } from "./free-port.ts";
import { makeTempDir } from "./temp-dir.ts";

/** A directory on loopback: people below ou=people, groups below ou=groups. */
export interface LdapPeer {
  url: string;
  secureUrl: string;
  /** The authority of its certificate, in PEM form. */
  authority: string;
  /** May search and write. */
  bindDn: string;
  bindPassword: string;
  /** Carries out changes in LDIF. */
  change(ldif: string): void;
  stop(): Promise<void>;
}

export const LDAP_BASE = "dc=example,dc=org";

/** Starts one with these people and groups, each group with the uids of its members; all passwords are `pass-<uid>`. */
export async function startLdapPeer(
  people: Readonly<Record<string, string>>,
  groups: Readonly<Record<string, readonly string[]>>,
): Promise<LdapPeer> {
  const folder = makeTempDir();
  const [port, securePort] = [await unusedPort(), await unusedPort()];
  makeCertificate(folder);
  mkdirSync(join(folder, "data"));
  const bindDn = `cn=admin,${LDAP_BASE}`;
  const bindPassword = "what only the appliance knows";
  writeFileSync(join(folder, "slapd.conf"), settings(folder, bindDn, bindPassword));
  writeFileSync(join(folder, "first.ldif"), firstEntries(people, groups));
  execFileSync("slapadd", ["-f", join(folder, "slapd.conf"), "-l", join(folder, "first.ldif")], { stdio: "pipe" });
  const urls = { url: `ldap://127.0.0.1:${port}`, secureUrl: `ldaps://127.0.0.1:${securePort}` };
  const listens = `${urls.url}/ ${urls.secureUrl}/`;
  const slapd = spawn("slapd", ["-f", join(folder, "slapd.conf"), "-h", listens, "-d", "0"], { stdio: "ignore" });
  await reachable(port, slapd);
  return {
    ...urls,
    ...{ bindDn, bindPassword, authority: readFileSync(join(folder, "cert.pem"), "utf8") },
    change(ldif) {
      writeFileSync(join(folder, "password"), bindPassword, { mode: 0o600 });
      const file = join(folder, "change.ldif");
      writeFileSync(file, ldif);
      const given = ["-x", "-H", urls.url, "-D", bindDn, "-y", join(folder, "password"), "-f", file];
      execFileSync("ldapmodify", given, { stdio: "pipe" });
    },
    stop: () => stopProgram(slapd),
  };
}

function settings(folder: string, bindDn: string, bindPassword: string): string {
  const modules = "/usr/lib/ldap";
  return [
    ...["core", "cosine", "inetorgperson"].map((name) => `include /etc/ldap/schema/${name}.schema`),
    "attributetype ( 1.2.840.113556.1.4.8 NAME 'userAccountControl' SYNTAX '1.3.6.1.4.1.1466.115.121.1.27' SINGLE-VALUE )",
    "attributetype ( 1.2.840.113556.1.4.159 NAME 'accountExpires' SYNTAX '1.3.6.1.4.1.1466.115.121.1.27' SINGLE-VALUE )",
    "objectclass ( 1.3.6.1.4.1.99999.1 NAME 'switchable' SUP top AUXILIARY MAY ( userAccountControl $ accountExpires ) )",
    ...(existsSync(join(modules, "back_mdb.la")) ? [`modulepath ${modules}`, "moduleload back_mdb"] : []),
    `pidfile ${join(folder, "slapd.pid")}`,
    `TLSCertificateFile ${join(folder, "cert.pem")}`,
    `TLSCertificateKeyFile ${join(folder, "key.pem")}`,
    // Who names nobody may not look around.
    "access to * by anonymous auth by users read",
    "database mdb",
    `suffix "${LDAP_BASE}"`,
    `rootdn "${bindDn}"`,
    `rootpw "${bindPassword}"`,
    `directory ${join(folder, "data")}`,
    "index objectClass eq",
    "",
  ].join("\n");
}

function firstEntries(
  people: Readonly<Record<string, string>>,
  groups: Readonly<Record<string, readonly string[]>>,
): string {
  const units = ["people", "groups"].map(
    (ou) => `dn: ou=${ou},${LDAP_BASE}\nobjectClass: organizationalUnit\nou: ${ou}`,
  );
  return [
    `dn: ${LDAP_BASE}\nobjectClass: dcObject\nobjectClass: organization\no: Example\ndc: example`,
    ...units,
    ...Object.entries(people).map(([uid, name]) => personEntry(uid, name)),
    ...Object.entries(groups).map(([cn, uids]) =>
      [`dn: cn=${cn},ou=groups,${LDAP_BASE}`, "objectClass: groupOfNames", `cn: ${cn}`, ...uids.map(memberLine)].join(
        "\n",
      ),
    ),
  ]
    .map((entry) => `${entry}\n\n`)
    .join("");
}

function personEntry(uid: string, name: string): string {
  const values = [`uid: ${uid}`, `cn: ${name}`, `sn: ${name}`, `mail: ${uid}@example.org`, `userPassword: pass-${uid}`];
  return [`dn: uid=${uid},ou=people,${LDAP_BASE}`, "objectClass: inetOrgPerson", ...values].join("\n");
}

/** The line of a group that names a person. */
export function memberLine(uid: string): string {
  return `member: uid=${uid},ou=people,${LDAP_BASE}`;
}

/** Writes a certificate for an address of this machine and its key, `cert.pem` and `key.pem`. */
export function makeCertificate(folder: string, address = "127.0.0.1"): void {
  const files = ["-keyout", join(folder, "key.pem"), "-out", join(folder, "cert.pem")];
  const kind = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2"];
  const names = ["-subj", `/CN=${address}`, "-addext", `subjectAltName=IP:${address}`];
  execFileSync("openssl", ["req", "-x509", ...kind, ...files, ...names], { stdio: "pipe" });
}

/** Resolves once the port answers; rejects when the program ended. */
export function reachable(port: number, program: ChildProcess, address = "127.0.0.1"): Promise<void> {
  return new Promise((done, fail) => {
    const ended = (): void => fail(new Error(`${program.spawnfile} ended at once.`));
    program.once("exit", ended);
    const ask = (): void => {
      const socket = connect(port, address);
      socket.once("connect", () => {
        socket.destroy();
        program.off("exit", ended);
        done();
      });
      socket.once("error", () => program.exitCode === null && setTimeout(ask, 20));
    };
    ask();
  });
}

/** Ends a program and waits for it. */
export function stopProgram(program: ChildProcess): Promise<void> {
  return new Promise((done) => {
    if (program.exitCode !== null || program.signalCode !== null) return done();
    program.once("exit", () => done());
    program.kill();
  });
}
