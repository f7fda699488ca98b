import { readdirSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { type Field, json, secret, text } from "../../../src/schema/field.ts";
import { secretsOfOtherTargets } from "../../../src/schema/secret-binding.ts";
import { BUILT_IN_DECLARATIONS, loadDeclarations } from "../../../src/wiring/load-declarations.ts";
import { REPOSITORY_ROOT } from "../../support/carillon-process.ts";

const FIELDS = {
  host: text("Host."),
  user: text("User."),
  password: secret("Password.", { boundTo: ["host", "user"] }),
  feeds: json("Feeds."),
  tokens: secret("Tokens.", { boundTo: ["feeds.url"] }),
  inbound: secret("Token that others send."),
};
const A = { name: "a", url: "https://a.example" };
const B = { name: "b", url: "https://b.example" };
const BEFORE = {
  ...{ host: "mail.example", user: "bell", password: "v1:x", feeds: [A, B], tokens: "v1:y", inbound: "v1:z" },
};

/** Names of the secrets that must be given again with these values. */
function asked(change: Record<string, unknown>, given: readonly string[] = []): (string | null)[] {
  const after = { ...BEFORE, ...change };
  return secretsOfOtherTargets(FIELDS, { before: BEFORE, after, isGiven: (name) => given.includes(name) }).map(
    ({ field }) => field,
  );
}

describe("a secret", () => {
  it.each([
    ["another host", { host: "evil.example" }, ["password"]],
    ["the host in other letters", { host: "MAIL.example" }, ["password"]],
    ["another user", { user: "root" }, ["password"]],
    ["a new URL of a feed", { feeds: [A, { ...B, url: "https://evil.example" }] }, ["tokens"]],
    [
      "the URLs of two feeds swapped",
      {
        feeds: [
          { ...A, url: B.url },
          { ...B, url: A.url },
        ],
      },
      ["tokens"],
    ],
    ["a new feed", { feeds: [A, B, { name: "c", url: "https://c.example" }] }, ["tokens"]],
    ["a feed under another name", { feeds: [A, { ...B, name: "c" }] }, ["tokens"]],
    ["a second feed of a name", { feeds: [A, B, { ...A, url: "https://evil.example" }] }, ["tokens"]],
    ["a feed that is no object", { feeds: [A, B, null] }, ["tokens"]],
    ["both changed", { host: "evil.example", feeds: [{ name: "a", url: "x" }] }, ["password", "tokens"]],
  ])("must be given again with %s", (_, change, secrets) => {
    expect(asked(change)).toEqual(secrets);
    expect(asked(change, secrets)).toEqual([]);
  });

  it.each([
    ["nothing", {}],
    ["a feed less", { feeds: [B] }],
    ["feeds in another order", { feeds: [B, A] }],
    ["another member of a feed", { feeds: [{ ...A, onlyHere: true }, B] }],
    ["no host", { host: null }],
    ["no feeds", { feeds: [] }],
    ["a list that is none", { feeds: "a" }],
  ])("is kept with %s", (_, change) => {
    expect(asked(change)).toEqual([]);
  });

  it("must be given when there is a target again, and need not be where none is stored", () => {
    const isGiven = () => false;
    const after = { ...BEFORE, host: "evil.example" };
    expect(secretsOfOtherTargets(FIELDS, { before: { ...BEFORE, host: null }, after, isGiven })).toMatchObject([
      { field: "password", type: "required", message: "Field password must be given again with a new host." },
    ]);
    expect(secretsOfOtherTargets(FIELDS, { before: { ...BEFORE, password: null }, after, isGiven })).toEqual([]);
  });
});

/** Secrets that Carillon sends to no one: it compares them with what comes, or signs with them. */
const NOT_SENT = new Set([
  ...["scenarios.confirmationPin", "inputs.pin", "triggers.secret", "triggers.previousSecret"],
  "second-factors.secret",
  // It is the target.
  "calendar-subscriptions.url",
  ...["dialcast-dialing-configurations.pin", "identity-providers.spPrivateKey"],
  ...["android-push.serviceAccount", "apple-push.key", "cap-out.feedToken", "cap-out.signingKey", "chat.webhooks"],
  ...[
    "email.dkimPrivateKey",
    "http-input.secrets",
    "mail-input.token",
    "sip.tlsKey",
    "sip.accounts",
    "sms.inboundToken",
  ],
  // Goes to phones that the appliance has found.
  ...["ip-phones.pushPassword", "speakers.joinSecret"],
]);

describe("every secret", () => {
  it("is bound to fields that exist, or sent to no one", async () => {
    const declared: [name: string, fields: Readonly<Record<string, Field>>][] = (
      await loadDeclarations([BUILT_IN_DECLARATIONS])
    ).map(({ name, fields }) => [name, fields]);
    for (const plugin of readdirSync(join(REPOSITORY_ROOT, "plugins"))) {
      const loaded = await import(join(REPOSITORY_ROOT, "plugins", plugin, "config.ts")).catch(() => null);
      if (loaded) declared.push([plugin, loaded.default]);
    }
    const found = declared.flatMap(([name, fields]) =>
      Object.entries(fields).flatMap(([field, spec]) =>
        spec.kind === "secret" ? [{ name: `${name}.${field}`, fields, targets: spec.boundTo ?? [] }] : [],
      ),
    );
    expect(
      found
        .filter(({ targets }) => targets.length === 0)
        .map(({ name }) => name)
        .sort(),
    ).toEqual([...NOT_SENT].filter((name) => found.some((each) => each.name === name)).sort());
    for (const { name, fields, targets } of found)
      for (const target of targets)
        expect([name, Object.keys(fields)]).toEqual([name, expect.arrayContaining([target.split(".")[0]])]);
    expect(found.length).toBeGreaterThan(25);
  });
});
