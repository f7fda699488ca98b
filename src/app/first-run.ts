import { hash, randomInt } from "node:crypto";
import { readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { hashPassword } from "../access/passwords.ts";
import type { Access } from "../access/principal.ts";
import type { SignIn } from "../access/sign-in.ts";
import type { Clock } from "../base/clock.ts";
import { CallerError, ConflictError } from "../base/errors.ts";
import type { FirstRun } from "../rest/needs.ts";
import type { Reader, Store } from "../store/store.ts";
import { openDataOffline } from "./appliance.ts";
import { writeAdministrator, writeGround } from "./init.ts";

/** Name of the file, in the data directory, that holds the one-time code. */
const CODE_FILE = "setup-code";
/** Signs that nobody takes for another. @source Crockford's Base32 */
const SIGNS = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";
/** 50 bits: with the waits of log-in beyond any guessing. */
const CODE_LENGTH = 10;

/**
 * Where `dataDir` is empty or missing, makes an appliance in it that waits for its administrator; does nothing anywhere
 * else. Throws what opening the data throws.
 */
export async function prepareFirstRun(dataDir: string, clock: Clock): Promise<void> {
  if (!isEmpty(dataDir)) return;
  const data = await openDataOffline(dataDir, clock);
  try {
    const by = data.access.systemBy("first-run");
    await data.store.write((tx) => void writeGround(tx, by));
  } finally {
    await data.close();
  }
}

/** What `createFirstRun` needs. */
export interface FirstRunNeeds {
  dataDir: string;
  store: Store;
  access: Access;
  clock: Clock;
  signIn: SignIn;
}

/**
 * Makes the set-up by browser: the code lies in DIR/setup-code, for its owner alone, as long as there is no
 * administrator. It is proof of having access to the machine.
 */
export function createFirstRun({ dataDir, store, access, clock, signIn }: FirstRunNeeds): FirstRun {
  const by = access.systemBy("first-run");
  const needed = (): boolean => !hasAdministrator(store);
  if (!needed()) rmSync(join(dataDir, CODE_FILE), { force: true });
  else if (readSetupCode(dataDir) === null) writeCode(dataDir);
  return {
    needed,
    async setUp({ code, email, password, name }, address) {
      if (!needed()) throw alreadyDone();
      const takeBack = signIn.attemptFrom(address);
      if (!isRight(code, readSetupCode(dataDir))) throw wrongCode();
      takeBack();
      const passwordHash = await hashPassword(password);
      const userId = await store.write((tx) => {
        // Somebody else may have been faster while the password was hashed.
        if (hasAdministrator(tx)) throw alreadyDone();
        return writeAdministrator(tx, by, { name: name?.trim() || null, email, passwordHash, now: clock.now() });
      });
      rmSync(join(dataDir, CODE_FILE), { force: true });
      return signIn.asUser(userId, address);
    },
  };
}

/** The code of an appliance that waits for its administrator; null when it has one. */
export function readSetupCode(dataDir: string): string | null {
  try {
    return readFileSync(join(dataDir, CODE_FILE), "utf8").trim() || null;
  } catch {
    return null;
  }
}

function writeCode(dataDir: string): void {
  const signs = Array.from({ length: CODE_LENGTH }, () => SIGNS[randomInt(SIGNS.length)]).join("");
  const code = `${signs.slice(0, CODE_LENGTH / 2)}-${signs.slice(CODE_LENGTH / 2)}`;
  writeFileSync(join(dataDir, CODE_FILE), `${code}\n`, { mode: 0o600 });
}

function hasAdministrator(reader: Reader): boolean {
  const sql = `SELECT m.pk FROM security_group_members m JOIN security_groups g ON g.pk = m.security_group_pk
    WHERE g.super_group = 1 LIMIT 1`;
  return reader.one(sql) !== null;
}

/** Case, blanks and hyphens don't count. Digests are compared, which tells nothing about the code. */
function isRight(given: string, code: string | null): boolean {
  const digest = (text: string): string => hash("sha256", text.toUpperCase().replace(/[\s-]/g, ""), "hex");
  return code !== null && digest(given) === digest(code);
}

function isEmpty(dataDir: string): boolean {
  try {
    return readdirSync(dataDir).length === 0;
  } catch (error) {
    return (error as { code?: string }).code === "ENOENT";
  }
}

function wrongCode(): CallerError {
  return new CallerError(
    "unauthorized",
    "The code is not right. It stands in the file setup-code of the data directory.",
  );
}

function alreadyDone(): ConflictError {
  return new ConflictError("This appliance has its administrator already: log in.");
}
