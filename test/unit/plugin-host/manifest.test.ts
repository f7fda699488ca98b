import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { describe, expect, it } from "vitest";
import { compileClaims } from "../../../src/plugin-host/claims.ts";
import { findPlugins } from "../../../src/plugin-host/installed-plugins.ts";
import { readManifest } from "../../../src/plugin-host/manifest.ts";
import { makeTempDir } from "../../support/temp-dir.ts";
import { manifestOf } from "./plugin-fixture.ts";

const read = (change: Record<string, unknown>) => readManifest(JSON.stringify({ ...manifestOf("x"), ...change }), "x");

describe("a manifest", () => {
  it("accepts a valid manifest", () => {
    const all = {
      memoryMb: 64,
      failureCode: "push-failed",
      listens: ["auth"],
      packages: ["@a/b"],
      watches: ["devices"],
      network: { hosts: ["a.example", "*.b.example", "10.0.0.0/8", "2001:db8::1"], deviceAttributes: ["Url"] },
    };
    expect(read(all).manifest).toMatchObject(all);
    expect(read({ extensionType: "device", deviceType: "sms" }).errors).toBeUndefined();
  });

  it.each<[Record<string, unknown>, string]>([
    [{ name: "y" }, "name must equal the folder name x."],
    [{ name: "Big" }, "name must be a word of lower-case letters, digits and hyphens."],
    [{ version: "1" }, "version must be a version such as 1.0.0."],
    [{ description: " " }, "description must be a sentence."],
    [{ extensionType: "phone" }, "extensionType must be one of"],
    [{ extensionType: "device" }, "deviceType is missing for type device."],
    [{ claims: {} }, "claims must be a list."],
    [{ claims: [null] }, "claims [0] must have a type"],
    [{ claims: [{ type: "phones" }] }, "claims [0] must have an identifier"],
    [
      { claims: [{ type: "phones", identifier: "a", attributes: { Port: { from: 1 } } }] },
      "claims [0] must constrain Port by from and to, by values, or by pattern and words.",
    ],
    [
      { claims: [{ type: "phones", identifier: "(" }] },
      "claims [0] has an identifier that is not a valid RE2 pattern: (.",
    ],
    [{ claims: [{ type: "phones", identifier: "(a)\\1" }] }, "not a valid RE2 pattern"],
    [{ window: 0 }, "window must be an integer from 1 to 4096."],
    [{ window: 1.5 }, "window must be an integer"],
    [{ enabledByDefault: "true" }, "enabledByDefault must be true or false."],
    [{ listens: ["A"] }, "listens [0] must be a word"],
    [{ packages: ["../x"] }, "packages [0] must be the name of a package."],
    [{ memoryMb: 1 }, "memoryMb must be an integer from 16 to 2048."],
    [{ failureCode: "oops" }, "failureCode must be one of"],
    [{ colour: "red" }, "colour is unknown."],
    [{ network: [] }, "network must be an object."],
    [{ network: { port: 1 } }, "network port is unknown."],
    [{ network: { hosts: "a" } }, "network hosts must be a list."],
    ...["*", "*.", "http://a", "a:80", "0.0.0.0/0", "::/0", "0.0.0.0", "a b", "-a.example", "a..b", "1.2.3.4.5"].map(
      (host): [Record<string, unknown>, string] => [
        { network: { hosts: ["ok.example", host] } },
        "network hosts [1] must be",
      ],
    ),
    [{ network: { settings: ["a.b"] } }, "network settings [0] must be"],
    [{ network: { deviceAttributes: [""] } }, "network deviceAttributes [0] must be"],
  ])("rejects %j", (change, words) => {
    expect(read(change).errors?.join(" ")).toContain(words);
  });

  it("reports missing members and invalid JSON", () => {
    expect(readManifest("{}", "x").errors).toHaveLength(10);
    for (const text of ["", "[]", "null", "{"])
      expect(readManifest(text, "x").errors).toEqual(["plugin.json must be a JSON object."]);
  });
});

describe("claims", () => {
  it("map a device to the first matching manifest", () => {
    const find = compileClaims([
      manifestOf("a", { claims: [{ type: "phones", identifier: "^SEP" }] }),
      manifestOf("b", { claims: [{ type: "phones", identifier: "EP" }] }),
    ]);
    expect(find("phones", "SEP001122334455")).toBe("a");
    expect(find("phones", "DEP1")).toBe("b");
    expect(find("speakers", "SEP001122334455")).toBeNull();
    expect(find("phones", "sep001122334455")).toBeNull();
  });

  it("match in linear time", () => {
    const find = compileClaims([manifestOf("a", { claims: [{ type: "phones", identifier: "^(a+)+$" }] })]);
    expect(find("phones", `${"a".repeat(50_000)}!`)).toBeNull();
  });

  it("refuse the second plugin of a duplicate claim, and plugins with invalid manifests", () => {
    const folder = makeTempDir();
    const write = (name: string, text: string): void => {
      mkdirSync(join(folder, name));
      writeFileSync(join(folder, name, "plugin.json"), text);
    };
    const claims = [{ type: "phones" as const, identifier: "^SEP" }];
    write("one", JSON.stringify(manifestOf("one", { claims })));
    write("two", JSON.stringify(manifestOf("two", { claims })));
    write("bad", "{");
    mkdirSync(join(folder, "empty"));
    const { installed, refused } = findPlugins(pathToFileURL(`${folder}/`));
    expect(installed.map(({ manifest }) => manifest.name)).toEqual(["one"]);
    expect(refused).toEqual([
      { name: "bad", reasons: ["plugin.json must be a JSON object."] },
      { name: "empty", reasons: ["plugin.json must be a JSON object."] },
      { name: "two", reasons: ["one already claims phones ^SEP."] },
    ]);
  });

  it("find no plugins in a missing folder", () => {
    expect(findPlugins(pathToFileURL(`${makeTempDir()}/none/`))).toEqual({ installed: [], refused: [] });
  });
});
