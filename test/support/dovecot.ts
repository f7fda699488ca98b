import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  writeFileSync,
} from "node:fs";
import { userInfo } from "node:os";
import { join } from "node:path";
import { unusedPort } from "./free-port.ts";
import { makeTempDir } from "./temp-dir.ts";

/** Dovecot on loopback with one mailbox. */
export interface MailboxPeer {
  port: number;
  securePort: number;
  username: string;
  password: string;
  /** Its certificate, in PEM. */
  certificate: string;
  /** Puts a mail into the inbox, as the delivery agent of a mail server does. */
  deliver(mail: string): void;
  /** Flags of all mails in the order of their delivery, such as `S` for seen and `FS` for flagged and seen. */
  flags(): string[];
  stop(): Promise<void>;
}

/** Starts one; the test stops it. */
export async function startDovecot(): Promise<MailboxPeer> {
  const folder = makeTempDir();
  chmodSync(folder, 0o755);
  const [port, securePort] = [await unusedPort(), await unusedPort()];
  const password = "correct-horse-mailbox";
  const mails = join(folder, "Maildir");
  for (const name of ["new", "cur", "tmp"]) mkdirSync(join(mails, name), { recursive: true });
  const keyArguments = ["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "30", "-subj", "/CN=localhost"];
  const files = ["-keyout", join(folder, "key.pem"), "-out", join(folder, "cert.pem")];
  execFileSync("openssl", [...keyArguments, ...files, "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"], {
    stdio: "pipe",
  });
  const isRoot = process.getuid?.() === 0;
  const owner = isRoot ? numbersOf("nobody") : numbersOf();
  if (isRoot) execFileSync("chown", ["-R", `${owner.uid}:${owner.gid}`, mails]);
  const settings = join(folder, "dovecot.conf");
  writeFileSync(settings, dovecotSettings({ folder, mails, port, securePort, password, owner, isRoot }));
  const program = spawn("dovecot", ["-F", "-c", settings], { stdio: "ignore" });
  await ready(program, join(folder, "run", "master.pid"));
  let delivered = 0;
  const nameOf = (at: number): string => `${1_700_000_000 + at}.M${at}.test`;
  return {
    ...{ port, securePort, username: "bells", password },
    certificate: readFileSync(join(folder, "cert.pem"), "utf8"),
    deliver(mail) {
      const name = nameOf(delivered++);
      const path = join(mails, "tmp", name);
      writeFileSync(path, mail.replace(/\r?\n/g, "\r\n"));
      if (isRoot) chownSync(path, owner.uid, owner.gid);
      renameSync(path, join(mails, "new", name));
    },
    flags: () =>
      Array.from({ length: delivered }, (_, at) => {
        const found = readdirSync(join(mails, "cur")).find((name) => name.startsWith(nameOf(at)));
        return found?.split(":2,")[1] ?? "";
      }),
    stop: () =>
      new Promise((done) => {
        if (program.exitCode !== null) return done();
        program.once("exit", () => done());
        program.kill();
      }),
  };
}

/** Of the files in the mailbox. */
interface Owner {
  uid: number;
  gid: number;
}

function numbersOf(...user: string[]): Owner {
  const number = (flag: string): number => Number(execFileSync("id", [flag, ...user], { encoding: "utf8" }));
  return { uid: number("-u"), gid: number("-g") };
}

interface Setting {
  folder: string;
  mails: string;
  port: number;
  securePort: number;
  password: string;
  owner: Owner;
  isRoot: boolean;
}

function dovecotSettings({ folder, mails, port, securePort, password, owner, isRoot }: Setting): string {
  const name = userInfo().username;
  const users = isRoot ? [] : [`default_internal_user = ${name}`, `default_login_user = ${name}`];
  return `${[
    ...users,
    `base_dir = ${join(folder, "run")}`,
    `state_dir = ${join(folder, "state")}`,
    `log_path = ${join(folder, "dovecot.log")}`,
    "protocols = imap",
    "listen = 127.0.0.1",
    "first_valid_uid = 1",
    "ssl = yes",
    `ssl_cert = <${join(folder, "cert.pem")}`,
    `ssl_key = <${join(folder, "key.pem")}`,
    "disable_plaintext_auth = no",
    `mail_location = maildir:${mails}`,
    "passdb {",
    "  driver = static",
    `  args = password={PLAIN}${password}`,
    "}",
    "userdb {",
    "  driver = static",
    `  args = uid=${owner.uid} gid=${owner.gid} home=${folder}`,
    "}",
    "service imap-login {",
    "  chroot =",
    `  inet_listener imap {\n    port = ${port}\n  }`,
    `  inet_listener imaps {\n    port = ${securePort}\n    ssl = yes\n  }`,
    "}",
    "service anvil {\n  chroot =\n}",
    "service stats {\n  chroot =\n}",
  ].join("\n")}\n`;
}

/** It opens its ports before it writes its number. */
async function ready(program: ChildProcess, pidFile: string): Promise<void> {
  while (!existsSync(pidFile)) {
    if (program.exitCode !== null) throw new Error(`dovecot ended with ${program.exitCode}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
