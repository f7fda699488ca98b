import { Worker } from "node:worker_threads";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createNewPasswords, type NewPasswords } from "../../../src/auth/new-passwords.ts";
import { findContainedName, type PasswordNames, readPasswordNames } from "../../../src/auth/password-names.ts";
import { verifyPassword } from "../../../src/auth/passwords.ts";
import { CallerError } from "../../../src/lib/errors.ts";
import brandings from "../../../src/resources/branding/brandings.ts";
import domains from "../../../src/resources/domains/domains.ts";
import users from "../../../src/resources/people/users.ts";
import { createFakeClock } from "../../support/fake-clock.ts";
import { makeTempDir } from "../../support/temp-dir.ts";
import { openAccess } from "../permissions/access-fixture.ts";

const NO_NAMES: PasswordNames = { account: [], organisation: [] };
const NAMES: PasswordNames = {
  account: ["Ann Müller", "a.mueller"],
  organisation: ["Carillon", "Lindenhof Grundschule", "Root"],
};

let passwords: NewPasswords;
beforeAll(() => {
  passwords = createNewPasswords(createFakeClock(), 12);
});
afterAll(() => passwords.close());

/** The message of the refusal; null for an accepted password. */
async function refusalOf(password: string, names = NO_NAMES, rules = passwords): Promise<string | null> {
  try {
    await rules.hash(password, names);
    return null;
  } catch (error) {
    if (!(error instanceof CallerError)) throw error;
    expect(error).toMatchObject({ type: "invalid-value", faults: [{ field: "password" }] });
    return error.message;
  }
}

describe("passwords that are easy to guess", () => {
  it.each([
    ["password1234", "a common password"],
    ["Password2024!", "a common password"],
    ["P@ssw0rd1234", "a common password"],
    ["p4ssw0rd!!!!", "a common password"],
    ["ｐａｓｓｗｏｒｄ１２３４", "a common password"],
    ["PASSWORD PASSWORD", "a common password"],
    ["drowssap1234", "a common password"],
    ["p-a-s-s-w-o-r-d", "a common password"],
    ["p a s s w o r d", "a common password"],
    ["monkey123456", "a common password"],
    ["iloveyou2024", "a common password"],
    ["letmein12345", "a common password"],
    ["dragon!!!!!!", "repetitions"],
    ["trustno1trustno1", "repetitions"],
    ["aaaaaaaaaaaa", "repetitions"],
    ["abcabcabcabc", "repetitions"],
    ["aaaaaaaabbbbbbbb", "repetitions"],
    ["x".repeat(256), "repetitions"],
    ["121212121212", "repetitions"],
    ["123456789012", "common"],
    ["098765432109", "common"],
    ["abcdefghijkl", "a sequence"],
    ["MondayTuesday", "a common word"],
    ["qwertyuiopas", "common"],
    ["qwertzuiopü12", "keys"],
    ["asdfghjklqwe", "keys"],
    ["1q2w3e4r5t6y", "common"],
    ["qazwsxedcrfv", "common"],
    ["Summer2024!!", "a common"],
    ["Sommer2024!!", "a common"],
    ["Willkommen1!", "a common word"],
    ["Deutschland1", "a common word"],
    ["Schmidt-2024", "a common name"],
    ["welcome-to-2025", "a common password"],
    ["241220242412", "a date"],
  ])("are refused: %s", async (password, why) => {
    const message = await refusalOf(password);
    expect(message).toContain("Is too easy to guess.");
    expect(message).toContain(why);
  });

  it("are described without a part of the password", async () => {
    expect(await refusalOf("monkey123456")).toBe(
      "Field password is not valid. Is too easy to guess. It contains a common password and little else. Choose several unrelated words, or more characters.",
    );
  });

  it.each([
    "correct horse battery",
    "tangerine lamp six",
    "Gelbe Tulpen am See",
    "x7Kq9vLm2TzR",
    "kvmwpzqjxhyt",
    "483920175638",
    "日本の学校の鐘が鳴る時間です",
    "my neighbour paints boats on wednesdays ".repeat(6).trim(),
  ])("are not these: %s", async (password) => {
    expect(await refusalOf(password)).toBeNull();
  });
});

describe("the length", () => {
  it("is at least that of the settings, in characters after normalization", async () => {
    expect(await refusalOf("x7Kq9vLm2Tz")).toBe(
      "Field password is not valid. Must have at least 12 characters, such as a sentence.",
    );
    // Twelve code units, ten characters.
    expect(await refusalOf("🐙🦊x7Kq9vLm")).toContain("at least 12");
    // A combining accent is no character of its own.
    expect(await refusalOf("x7Kq9vLm2Te\u0301")).toContain("at least 12");
    const short = createNewPasswords(createFakeClock(), 8);
    expect([await refusalOf("x7Kq9vLm", NO_NAMES, short), await refusalOf("Passw0rd", NO_NAMES, short)]).toEqual([
      null,
      expect.stringContaining("too easy"),
    ]);
    await short.close();
  });

  it("is at most 256", async () => {
    const sentence = "my neighbour paints boats on wednesdays, my aunt sells green umbrellas; ".repeat(4);
    expect(await refusalOf(sentence.slice(0, 256))).toBeNull();
    expect(await refusalOf(sentence.slice(0, 257))).toContain("at most 256 characters");
    // One character that stands for eighteen.
    expect(await refusalOf("ﷺ".repeat(20))).toContain("at most 256 characters");
  });

  it("counts an empty password as missing, and names the field", async () => {
    await expect(passwords.hash("", NO_NAMES, "newPassword")).rejects.toMatchObject({
      type: "required",
      faults: [{ field: "newPassword" }],
    });
  });
});

describe("names", () => {
  it.each([
    ["tulips for müller 9", "müller", "account"],
    ["tulips for MULLER 9", "müller", "account"],
    ["tulips for mueller 9", "mueller", "account"],
    ["tulips m5u11er mu11er", "müller", "account"],
    ["MU\u0308LLER tulips nine", "müller", "account"],
    ["ann-likes-tulips-9", "ann", "account"],
    ["4nn2024 tulips lamp", "ann", "account"],
    ["annmueller tulips", "mueller", "account"],
    ["the l1ndenh0f tulips", "lindenhof", "organisation"],
    ["ＬＩＮＤＥＮＨＯＦ tulips", "lindenhof", "organisation"],
    ["carill0n tulips lamp", "carillon", "organisation"],
    ["tulips root lamp six", "root", "organisation"],
  ])("are refused: %s", (password, name, of) => {
    const fold = (text: string | undefined) => text?.normalize("NFKD").replace(/\p{M}/gu, "");
    const found = findContainedName(password, NAMES);
    expect([fold(found?.name.split(" ").at(-1)), found?.of]).toEqual([fold(name), of]);
  });

  it.each(["planning annual tulips", "uprooted tulips lamp six", "grundschule tulips lamp", "ammulets lamp six"])(
    "are not parts of other words, nor words of many organisations: %s",
    (password) => {
      expect(findContainedName(password, NAMES)).toBeNull();
    },
  );

  it("are named in the refusal, with whose they are", async () => {
    expect(await refusalOf("ann likes yellow tulips", NAMES)).toBe(
      "Field password is not valid. Must not contain “ann”, a name of this account. Choose several unrelated words.",
    );
    expect(await refusalOf("lindenhof yellow tulips", NAMES)).toContain("a name of the organisation");
    expect(await refusalOf("yellow tulips on wednesdays", NAMES)).toBeNull();
  });

  it("are those of the account, its domains, the branding and the mail address", async () => {
    const fixture = await openAccess(makeTempDir());
    const { store, system } = fixture;
    await store.create(brandings, { companyName: "Lindenhof e. V." }, system);
    const domain = await store.create(domains, { name: "Bergschule", parentId: fixture.rootId }, system);
    const row = await store.create(users, { name: "Ann Example", email: "a.example@mail.city.example" }, system, {
      domainId: domain.id,
      preferredName: "Annie",
      scimUserName: "example07@city.example",
    });
    expect(readPasswordNames(store, row)).toEqual({
      account: ["Ann Example", "Annie", "a.example", "example07"],
      organisation: ["Carillon", "Lindenhof e. V.", "mail city", "Root", "Bergschule"],
    });
    await fixture.close();
  });
});

describe("the check", () => {
  it("leaves the event loop free, however hard the password", async () => {
    let turns = 0;
    let isDone = false;
    const turn = (): void => {
      turns += 1;
      if (!isDone) setImmediate(turn);
    };
    setImmediate(turn);
    const hard = ["4@".repeat(128), "p4ssw0rd".repeat(32), "1234567890".repeat(25)];
    const refusals = await Promise.all(hard.map((password) => refusalOf(password)));
    isDone = true;
    expect(refusals.every((message) => message?.includes("repetitions"))).toBe(true);
    expect(turns).toBeGreaterThan(100);
  });

  it("yields hashes that verify, of the password as it was typed", async () => {
    const hash = await passwords.hash("tangerine lamp six", NO_NAMES);
    expect([
      await verifyPassword("tangerine lamp six", hash),
      await verifyPassword("Tangerine lamp six", hash),
    ]).toEqual([true, false]);
  });

  it("refuses rather than accepts when its thread ends", async () => {
    const script = "require('node:worker_threads').parentPort.on('message', () => process.exit(1));";
    const broken = createNewPasswords(createFakeClock(), 12, () => new Worker(script, { eval: true }));
    await expect(broken.hash("tangerine lamp six", NO_NAMES)).rejects.toMatchObject({ type: "upstream" });
    await broken.close();
  });

  it("ends its thread when idle", async () => {
    const clock = createFakeClock();
    const script = `const { parentPort: port } = require("node:worker_threads");
      port.on("message", () => port.postMessage({ guessesLog10: 20, patterns: [] }));`;
    const spawned: Worker[] = [];
    const rules = createNewPasswords(
      clock,
      12,
      () => spawned[spawned.push(new Worker(script, { eval: true })) - 1] as Worker,
    );
    await rules.hash("tangerine lamp six", NO_NAMES);
    const ended = new Promise((resolve) => spawned[0]?.once("exit", resolve));
    await clock.advance(60_000);
    await ended;
    await rules.hash("tangerine lamp six", NO_NAMES);
    expect(spawned).toHaveLength(2);
    await rules.close();
  });
});
