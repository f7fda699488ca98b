import { readdirSync } from "node:fs";
import type { LoginService } from "../auth/login.ts";
import type { NewPasswords } from "../auth/new-passwords.ts";
import { readPasswordNames } from "../auth/password-names.ts";
import type { AccessControl } from "../auth/principal.ts";
import type { FirstRun } from "../http/dependencies.ts";
import type { Clock } from "../lib/clock.ts";
import { CallerError, ConflictError } from "../lib/errors.ts";
import { sentence } from "../lib/sentences/sentences.ts";
import type { Store, StoreReader } from "../store/store.ts";
import { openApplianceDataOffline } from "./appliance-data.ts";
import { seedInitialData, writeAdministrator } from "./init.ts";
import { isSetupCodeCorrect, readSetupCode, removeSetupCode, writeSetupCode } from "./setup-code.ts";

/**
 * If `dataDir` is empty or missing, creates an appliance that waits for its administrator; otherwise does nothing. Throws
 * what opening the data throws.
 */
export async function prepareFirstRun(dataDir: string, clock: Clock): Promise<void> {
  if (!isEmptyFolder(dataDir)) return;
  const data = await openApplianceDataOffline(dataDir, clock);
  try {
    const by = data.access.systemContext("first-run");
    await data.store.write((tx) => void seedInitialData(tx, by));
  } finally {
    await data.close();
  }
}

export interface FirstRunDeps {
  dataDir: string;
  store: Store;
  access: AccessControl;
  clock: Clock;
  signIn: LoginService;
  passwords: Pick<NewPasswords, "hash">;
}

/**
 * Browser setup: the code is in DIR/setup-code, readable by its owner only, until there is an administrator. Knowing it proves
 * access to the machine.
 */
export function createFirstRunSetup({
  dataDir,
  store,
  access,
  clock,
  signIn,
  passwords,
}: FirstRunDeps): FirstRun & { start(): void } {
  const by = access.systemContext("first-run");
  const isNeeded = (): boolean => !hasAdministrator(store);
  return {
    start() {
      if (!isNeeded()) removeSetupCode(dataDir);
      else if (readSetupCode(dataDir) === null) writeSetupCode(dataDir);
    },
    needed: isNeeded,
    async setUp({ code, email, password, name }, address) {
      if (!isNeeded()) throw alreadySetUpError();
      const cancelAttempt = signIn.registerAttempt(address);
      if (!isSetupCodeCorrect(code, readSetupCode(dataDir))) throw wrongSetupCodeError();
      cancelAttempt();
      const passwordHash = await passwords.hash(password, readPasswordNames(store, { name: name ?? "", email }));
      const userId = await store.write((tx) => {
        // A concurrent request may have won while the password was hashed.
        if (hasAdministrator(tx)) throw alreadySetUpError();
        return writeAdministrator(tx, by, { name: name?.trim() || null, email, passwordHash, now: clock.now() });
      });
      removeSetupCode(dataDir);
      return signIn.loginVerifiedUser(userId, address);
    },
  };
}

function hasAdministrator(reader: StoreReader): boolean {
  const sql = `SELECT m.pk FROM security_group_members m JOIN security_groups g ON g.pk = m.security_group_pk
    WHERE g.super_group = 1 LIMIT 1`;
  return reader.one(sql) !== null;
}

function isEmptyFolder(dataDir: string): boolean {
  try {
    return readdirSync(dataDir).length === 0;
  } catch (error) {
    return (error as { code?: string }).code === "ENOENT";
  }
}

function wrongSetupCodeError(): CallerError {
  return new CallerError(
    "unauthorized",
    sentence("error.wrong-code-the-code-is-in-the-file-setup-code-of-the-data-directory"),
  );
}

function alreadySetUpError(): ConflictError {
  return new ConflictError(sentence("error.this-appliance-already-has-an-administrator-log-in"));
}
