import { copyFileSync, existsSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import Database from "better-sqlite3";
import { beforeEach, describe, expect, it } from "vitest";
import { systemClock } from "../../../src/lib/clock.ts";
import { OPERATION_STATE } from "../../../src/ops/operation-state.ts";
import { PLUGIN_STATE } from "../../../src/plugin-host/plugin-state.ts";
import { createCatalogue } from "../../../src/schema/catalogue.ts";
import type { AnyResource } from "../../../src/schema/resource.ts";
import { createSecrets, keyFingerprint, readKeyFile } from "../../../src/store/secrets.ts";
import type { Secrets } from "../../../src/store/store.ts";
import { buildTableLayout } from "../../../src/store/table-layout.ts";
import { openApplianceDataOffline } from "../../../src/wiring/appliance-data.ts";
import { initAppliance } from "../../../src/wiring/init.ts";
import { BUILT_IN_DECLARATIONS, loadDeclarations } from "../../../src/wiring/load-declarations.ts";
import { rotateKey } from "../../../src/wiring/rotate-key.ts";
import { TEST_ADMIN } from "../../support/daemon.ts";
import { makeTempDir } from "../../support/temp-dir.ts";

const keep = (): void => undefined;
const options = { keep, clock: systemClock };

let dataDir: string;
let keyFile: string;
let old: Buffer;

beforeEach(async () => {
  dataDir = makeTempDir();
  keyFile = join(dataDir, "secret-key");
  await initAppliance(dataDir, TEST_ADMIN, systemClock);
  const data = await openApplianceDataOffline(dataDir, systemClock, undefined, [PLUGIN_STATE, OPERATION_STATE]);
  await data.close();
  old = readKeyFile(keyFile);
});

/** Fields whose values are sealed, of every declaration. */
async function sealedFields(): Promise<{ resource: AnyResource; table: string; column: string }[]> {
  const declarations = await loadDeclarations([BUILT_IN_DECLARATIONS]);
  const catalogue = createCatalogue(declarations);
  return declarations.flatMap((resource) => {
    const { table, columnOf } = buildTableLayout(resource, catalogue);
    return Object.entries(resource.fields).flatMap(([field, spec]) => {
      const column = spec.kind === "secret" && spec.stored !== "hash" ? columnOf(field)?.name : undefined;
      return column === undefined ? [] : [{ resource, table, column }];
    });
  });
}

/** A row with `values`, and something in every other column that needs it. */
function insert(db: Database.Database, table: string, values: Readonly<Record<string, string>>): void {
  const columns = db.pragma(`table_info(${table})`) as {
    name: string;
    type: string;
    notnull: number;
    dflt_value: string | null;
    pk: number;
  }[];
  const needed = columns.filter(({ name, notnull, dflt_value, pk, type }) =>
    name in values ? true : notnull === 1 && dflt_value === null && !(pk === 1 && type === "INTEGER"),
  );
  const names = needed.map(({ name }) => `"${name}"`).join(", ");
  const given = needed.map(({ name, type }) => values[name] ?? (type === "TEXT" ? crypto.randomUUID() : 1));
  db.prepare(`INSERT INTO ${table} (${names}) VALUES (${needed.map(() => "?").join(", ")})`).run(...given);
}

/** Every sealed text in every column, whatever the product knows of it. */
function sealedTexts(where: string): string[] {
  const db = new Database(join(where, "carillon.db"), { readonly: true });
  try {
    const tables = db.prepare("SELECT name FROM sqlite_schema WHERE type = 'table'").pluck().all() as string[];
    return tables.flatMap((table) =>
      (db.prepare(`SELECT * FROM "${table}"`).all() as object[])
        .flatMap((row) => Object.values(row))
        .flatMap((value) => (typeof value === "string" ? (value.match(/v1:[\w+/]{38,}=*/g) ?? []) : [])),
    );
  } finally {
    db.close();
  }
}

const opens = (secrets: Secrets, sealed: string): boolean => {
  try {
    secrets.open(sealed);
    return true;
  } catch {
    return false;
  }
};

function plant(fill: (db: Database.Database, secrets: Secrets) => void): void {
  const db = new Database(join(dataDir, "carillon.db"));
  try {
    db.pragma("foreign_keys = OFF");
    db.pragma("ignore_check_constraints = ON");
    fill(db, createSecrets(old));
  } finally {
    db.close();
  }
}

const planted = (db: Database.Database, secrets: Secrets): void =>
  insert(db, PLUGIN_STATE.name, Object.fromEntries([["value", secrets.seal('"of a plugin"')]]));

async function verifyAudit(): Promise<boolean> {
  const data = await openApplianceDataOffline(dataDir, systemClock);
  try {
    return (await data.store.audit.verify({})).intact;
  } finally {
    await data.close();
  }
}

describe("a rotation of the secret key", () => {
  it("covers every sealed field of every declaration, JSON, and the tables without a declaration", async () => {
    const fields = await sealedFields();
    expect(fields.length).toBeGreaterThan(10);
    plant((db, secrets) => {
      for (const { table, column } of fields) insert(db, table, { [column]: secrets.seal(`${table}.${column}`) });
      planted(db, secrets);
      insert(db, "idempotency_keys", { response: secrets.seal(`{"token":"${secrets.seal("nested")}"}`) });
      insert(db, "extensions", {
        config: JSON.stringify({ url: "https://v1:x", password: secrets.seal("ä"), empty: secrets.seal("") }),
      });
      insert(db, OPERATION_STATE.name, { value: `"v1:${"A".repeat(60)}"` });
    });
    const { sealed, before, after } = await rotateKey(dataDir, options);
    expect(sealed).toBe(fields.length + 5);
    expect([before, after]).toEqual([keyFingerprint(old), keyFingerprint(readKeyFile(keyFile))]);
    const [was, is] = [createSecrets(old), createSecrets(readKeyFile(keyFile))];
    const texts = sealedTexts(dataDir);
    expect(texts.filter((text) => opens(was, text))).toEqual([]);
    const readable = texts.filter((text) => opens(is, text)).map((text) => is.open(text));
    for (const { table, column } of fields) expect(readable).toContain(`${table}.${column}`);
    expect(readable).toEqual(expect.arrayContaining(['"of a plugin"', "ä", ""]));
    const response = JSON.parse(readable.find((text) => text.startsWith('{"token"')) ?? "null") as { token: string };
    expect(is.open(response.token)).toBe("nested");
    // What merely looks sealed stays.
    expect(texts.filter((text) => !opens(is, text))).toEqual([`v1:${"A".repeat(60)}`]);
  });

  it("leaves nothing that the old key opens in the file, and an audit entry in an intact chain", async () => {
    let text = "";
    plant((db, secrets) => {
      text = secrets.seal("a password");
      insert(db, PLUGIN_STATE.name, { value: text });
    });
    await rotateKey(dataDir, options);
    expect(readFileSync(join(dataDir, "carillon.db")).includes(text.slice(0, 40))).toBe(false);
    expect(statSync(keyFile).mode & 0o777).toBe(0o600);
    expect(await verifyAudit()).toBe(true);
    await rotateKey(dataDir, options);
    expect(await verifyAudit()).toBe(true);
    const data = await openApplianceDataOffline(dataDir, systemClock);
    const entries = data.store.all<{ op: string; details: string }>(
      "SELECT op, details FROM audit_entries WHERE resource = 'secret-key' ORDER BY pk",
    );
    await data.close();
    expect(entries.map(({ op }) => op)).toEqual(["trust-change", "trust-change"]);
    expect(JSON.parse(entries[0]?.details ?? "")).toMatchObject({ before: keyFingerprint(old) });
  });

  it("keeps the ends of the audit that were noted before authentic", async () => {
    const data = await openApplianceDataOffline(dataDir, systemClock);
    const note = data.store.audit.end();
    await data.close();
    await rotateKey(dataDir, options);
    const again = await openApplianceDataOffline(dataDir, systemClock);
    expect(note !== null && again.store.audit.isAuthentic(note) && again.store.audit.includes(note)).toBe(true);
    await again.close();
  });

  it.each(["before the transaction", "with half a key", "after the transaction"])(
    "that was cut off %s leaves all secrets readable",
    async (moment) => {
      plant(planted);
      const copy = join(makeTempDir(), "secret-key");
      copyFileSync(keyFile, copy);
      const next = join(dataDir, "secret-key.new");
      if (moment === "after the transaction") {
        await rotateKey(dataDir, options);
        copyFileSync(keyFile, next);
        copyFileSync(copy, keyFile);
      } else writeFileSync(next, Buffer.alloc(moment === "with half a key" ? 16 : 32, 7));
      const data = await openApplianceDataOffline(dataDir, systemClock);
      const row = data.store.one<{ value: string }>(`SELECT value FROM ${PLUGIN_STATE.name}`);
      expect(data.store.secrets.open(row?.value ?? "")).toBe('"of a plugin"');
      await data.close();
      expect(existsSync(next)).toBe(false);
      expect(readKeyFile(keyFile).equals(old)).toBe(moment !== "after the transaction");
    },
  );

  it("changes nothing if it fails", async () => {
    plant((db, secrets) => {
      planted(db, secrets);
      db.exec(
        `CREATE TRIGGER no_more BEFORE UPDATE ON ${PLUGIN_STATE.name} BEGIN SELECT RAISE(ABORT, 'the disk is full'); END`,
      );
    });
    await expect(rotateKey(dataDir, options)).rejects.toThrow();
    expect(readKeyFile(keyFile)).toEqual(old);
    expect(sealedTexts(dataDir).every((text) => opens(createSecrets(old), text))).toBe(true);
    expect(await verifyAudit()).toBe(true);
  });

  it("is refused while a process uses the data, and without a key in the folder", async () => {
    const data = await openApplianceDataOffline(dataDir, systemClock);
    await expect(rotateKey(dataDir, options)).rejects.toThrow("Another process uses the data");
    await data.close();
    expect(existsSync(join(dataDir, "secret-key.new"))).toBe(false);
    rmSync(keyFile);
    await expect(rotateKey(dataDir, options)).rejects.toThrow("credential of the service");
  });

  it("changes nothing if the old key can't be kept", async () => {
    const failing = (): never => {
      throw new Error("already exists");
    };
    await expect(rotateKey(dataDir, { ...options, keep: failing })).rejects.toThrow("already exists");
    expect(readKeyFile(keyFile)).toEqual(old);
    expect(existsSync(join(dataDir, "secret-key.new"))).toBe(false);
  });
});
