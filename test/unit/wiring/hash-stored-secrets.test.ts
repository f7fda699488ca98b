import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { systemClock } from "../../../src/lib/clock.ts";
import { createEvents } from "../../../src/lib/events.ts";
import { silentLog } from "../../../src/lib/log.ts";
import { createCatalogue } from "../../../src/schema/catalogue.ts";
import { pin, secret, text } from "../../../src/schema/field.ts";
import { defineResource } from "../../../src/schema/resource.ts";
import { createDryRun } from "../../../src/store/dry-run.ts";
import { fullScope } from "../../../src/store/full-scope.ts";
import { openStore } from "../../../src/store/open-store.ts";
import { matchesStoredSecret } from "../../../src/store/secret-hashes.ts";
import type { ActorContext, CapturedWrite, ChangeCapture, Store } from "../../../src/store/store.ts";
import { receivedHashes, replicatedBody, storedBody } from "../../../src/sync/protocol/replicated-body.ts";
import { createSecretHashing } from "../../../src/wiring/hash-stored-secrets.ts";
import { makeTempDir } from "../../support/temp-dir.ts";

const doors = defineResource({
  name: "doors",
  doc: "Doors.",
  paths: [{ at: "doors" }],
  idParam: "doorId",
  scope: "organisation",
  replicate: "B",
  clone: {},
  fields: { name: text("Name.", { required: true }), pin: pin("Pin."), key: secret("Key.") },
});
const CATALOGUE = createCatalogue([doors]);
const everybody: ActorContext = {
  actor: { kind: "system", userId: null, name: "test", address: null },
  scope: fullScope(() => null),
};
const HASH = /^\$argon2id\$v=19\$m=19456,t=2,p=1\$/;

let store: Store;
let captured: CapturedWrite[];
const recording: { recorder: ChangeCapture | null } = { recorder: null };
beforeEach(() => {
  captured = [];
  recording.recorder = (change) => void captured.push(change);
  const fail = (error: unknown): never => {
    throw error;
  };
  store = openStore({
    ...{ dataDir: makeTempDir(), inMemory: true, catalogue: CATALOGUE, clock: systemClock, recording },
    ...{ events: createEvents(fail), log: silentLog, onFatal: fail },
  });
});
afterEach(() => store.close());

const storedPin = (id: string): string | null => store.get(doors, id)?.pin ?? null;
const isPin = (id: string, given: string) => matchesStoredSecret(storedPin(id) ?? "", given, store.secrets);
/** A door as an earlier release stored it. */
const oldDoor = (name: string, digits: string) =>
  store.create(doors, { name }, everybody, { pin: store.secrets.seal(digits) });
const run = (isShared = (_type: string, _id: string) => true): Promise<void> => {
  const options = { store, catalogue: CATALOGUE, clock: systemClock, log: silentLog, by: everybody, isShared };
  const hashing = createSecretHashing(options);
  hashing.start();
  return hashing.idle();
};

describe("PINs", () => {
  it("are stored as salted hashes and verified", async () => {
    const [a, b] = [
      await store.create(doors, { name: "A", pin: "4711" }, everybody),
      await store.create(doors, { name: "B", pin: "4711" }, everybody),
    ];
    for (const { id } of [a, b]) {
      expect(storedPin(id)).toMatch(HASH);
      expect([await isPin(id, "4711"), await isPin(id, "4712"), await isPin(id, "")]).toEqual([true, false, false]);
    }
    expect(storedPin(a.id)).not.toBe(storedPin(b.id));
    expect(storedPin((await store.clone(doors, a.id, everybody)).id)).toBe(storedPin(a.id));
  });

  it("are kept by a change of other fields, and removed by null or an empty text", async () => {
    const { id } = await store.create(doors, { name: "A", pin: "4711" }, everybody);
    await store.update(doors, id, { name: "B" }, everybody);
    expect(await isPin(id, "4711")).toBe(true);
    for (const none of [null, ""]) {
      await store.update(doors, id, { pin: "4711" }, everybody);
      await store.update(doors, id, { pin: none }, everybody);
      expect(storedPin(id)).toBeNull();
    }
  });

  it.each([["123"], ["1234567890123"], ["12a4"], [4711], ["$argon2id$v=19$m=19456,t=2,p=1$AAAA$AAAA"], [["4711"]]])(
    "of another form are refused: %j",
    async (wrong) => {
      const error = { faults: [expect.objectContaining({ field: "pin", type: "invalid-value" })] };
      const input = { name: "A", pin: wrong };
      await expect(store.create(doors, input, everybody)).rejects.toMatchObject(error);
      const { store: dry } = createDryRun(store, () => null);
      await expect(dry.create(doors, input, everybody)).rejects.toMatchObject(error);
    },
  );

  it("must be hashed before a transaction", async () => {
    const write = store.write((tx) => void tx.create(doors, { name: "A", pin: "4711" }, everybody));
    await expect(write).rejects.toMatchObject({ type: "bug" });
  });
});

describe("PINs of an earlier release", () => {
  it("are valid before they are hashed, and after", async () => {
    const { id } = await oldDoor("A", "4711");
    expect([await isPin(id, "4711"), await isPin(id, "4712")]).toEqual([true, false]);
    await run();
    expect(storedPin(id)).toMatch(HASH);
    expect([await isPin(id, "4711"), await isPin(id, "4712")]).toEqual([true, false]);
  });

  it("are hashed over many rows, once, and other secrets stay encrypted", async () => {
    const ids: string[] = [];
    for (let at = 0; at < 53; at += 1) ids.push((await oldDoor(`Door ${at}`, `${1000 + at}`)).id);
    const { id: other } = await store.create(doors, { name: "Key", key: "a long key" }, everybody);
    await run();
    const hashes = ids.map(storedPin);
    expect(hashes.every((hash) => HASH.test(hash ?? ""))).toBe(true);
    await run();
    expect(ids.map(storedPin)).toEqual(hashes);
    expect(store.secrets.open(store.get(doors, other)?.key ?? "")).toBe("a long key");
  });

  it("are replicated for shared rows only", async () => {
    const [shared, local] = [await oldDoor("Shared", "4711"), await oldDoor("Local", "4711")];
    captured.length = 0;
    await run((type, id) => type === doors.name && id === shared.id);
    expect(captured.map(({ after }) => after?.id)).toEqual([shared.id]);
    const [change] = captured;
    expect(replicatedBody(doors, change?.before ?? {})).not.toHaveProperty("hash:pin");
    expect(replicatedBody(doors, change?.after ?? {})["hash:pin"]).toMatch(HASH);
    expect(storedPin(local.id)).toMatch(HASH);
  });

  it("do not block others if they cannot be decrypted", async () => {
    const { id: broken } = await store.create(doors, { name: "A" }, everybody, { pin: "v1:bm90IHNlYWxlZCBhdCBhbGw=" });
    const { id } = await oldDoor("B", "4711");
    await run();
    expect(await isPin(id, "4711")).toBe(true);
    expect(storedPin(broken)).toMatch(/^v1:/);
  });
});

describe("a replicated row", () => {
  const apply = (id: string, body: Record<string, unknown>) =>
    store.write((tx) => tx.apply(doors, id, storedBody(doors, body) as never, { ...everybody, replicated: true }));

  it("carries the hash and no other secret", async () => {
    const row = await store.create(doors, { name: "A", pin: "4711", key: "a long key" }, everybody);
    const body = replicatedBody(doors, { ...row });
    expect(body["hash:pin"]).toBe(row.pin);
    expect(Object.keys(body)).not.toContain("pin");
    expect(Object.keys(body)).not.toContain("key");
    expect(replicatedBody(doors, { ...row, pin: null })["hash:pin"]).toBeNull();
  });

  it("keeps the PIN if it says nothing, and clears or replaces it if it does", async () => {
    const { id, pin: first } = await store.create(doors, { name: "A", pin: "4711" }, everybody);
    const { pin: second } = await store.create(doors, { name: "B", pin: "0815" }, everybody);
    await apply(id, { name: "C" });
    expect(storedPin(id)).toBe(first);
    await apply(id, { name: "C", "hash:pin": second });
    expect(await isPin(id, "0815")).toBe(true);
    await apply(id, { name: "C", "hash:pin": null });
    expect(storedPin(id)).toBeNull();
  });

  it("keeps a PIN that was never sent, because it is not hashed yet", async () => {
    const { id } = await oldDoor("A", "4711");
    await apply(id, { name: "B", "hash:pin": null });
    expect([store.get(doors, id)?.name, await isPin(id, "4711")]).toEqual(["B", true]);
  });

  it.each([
    ["4711"],
    [4711],
    ["v1:AAAA"],
    [`$argon2id$v=19$m=4194304,t=2,p=1$${"A".repeat(22)}$${"A".repeat(43)}`],
    [`$argon2id$v=19$m=19456,t=9999,p=1$${"A".repeat(22)}$${"A".repeat(43)}`],
    [`$argon2i$v=19$m=19456,t=2,p=1$${"A".repeat(22)}$${"A".repeat(43)}`],
    [`$argon2id$v=19$m=19456,t=2,p=1$${"A".repeat(22)}$${"A".repeat(43)}\n`],
    [{}],
  ])("with %j for a hash is refused", (value) => {
    expect(receivedHashes(doors, { "hash:pin": value })).toBeNull();
    expect(storedBody(doors, { name: "A", "hash:pin": value })).toBeNull();
  });
});
