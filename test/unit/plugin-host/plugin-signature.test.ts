import { generateKeyPairSync } from "node:crypto";
import { cpSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { describe, expect, it } from "vitest";
import { findPlugins } from "../../../src/plugin-host/installed-plugins.ts";
import { signPlugin, verifyPlugin } from "../../../src/plugin-host/plugin-signature.ts";
import { makeTempDir } from "../../support/temp-dir.ts";
import { manifestOf, writePlugin } from "./plugin-fixture.ts";

const pair = generateKeyPairSync("ed25519");
const keyOf = (key: typeof pair.publicKey): string =>
  Buffer.from(key.export({ format: "jwk" }).x as string, "base64url").toString("base64");
const PUBLIC_KEY = keyOf(pair.publicKey);
const trust = { keys: [PUBLIC_KEY], allowsUnsigned: false };
const lamp = { name: "lamp", version: "1.0.0" };

/** A signed plugin in a folder of plugins. */
function signedLamp(): { plugins: string; folder: string } {
  const plugins = makeTempDir();
  writePlugin(plugins, manifestOf("lamp"));
  const folder = join(plugins, "lamp");
  writeFileSync(join(folder, "index.js"), "export default {};");
  mkdirSync(join(folder, "sounds"));
  writeFileSync(join(folder, "sounds", "gong"), "gong");
  signPlugin(folder, { ...lamp, publisher: "Lamps Ltd", key: pair.privateKey });
  return { plugins, folder };
}

describe("a signed plugin", () => {
  it("names its publisher", () => {
    const { plugins, folder } = signedLamp();
    expect(verifyPlugin(folder, lamp, trust)).toBe("Lamps Ltd");
    const { installed } = findPlugins(pathToFileURL(`${makeTempDir()}/`), pathToFileURL(`${plugins}/`), trust);
    expect(installed).toMatchObject([{ signedBy: "Lamps Ltd", isForeign: true }]);
  });

  it.each<[string, (folder: string) => void, string]>([
    ["a changed file", (folder) => writeFileSync(join(folder, "index.js"), "evil()"), "index.js"],
    ["a changed manifest", (folder) => writeFileSync(join(folder, "plugin.json"), "{}"), "plugin.json"],
    ["a changed file in a folder", (folder) => writeFileSync(join(folder, "sounds", "gong"), "x"), "sounds/gong"],
    ["a missing file", (folder) => rmSync(join(folder, "sounds", "gong")), "sounds/gong"],
    ["a file more", (folder) => writeFileSync(join(folder, "more.js"), ""), "more.js"],
    ["a hidden file more", (folder) => writeFileSync(join(folder, ".more.js"), ""), ".more.js"],
    [
      "a file named like a member of objects",
      (folder) => writeFileSync(join(folder, "constructor"), ""),
      "constructor",
    ],
    [
      "a link in place of a file",
      (folder) => {
        rmSync(join(folder, "index.js"));
        symlinkSync("/etc/passwd", join(folder, "index.js"));
      },
      "index.js",
    ],
    ["a removed signature", (folder) => rmSync(join(folder, "signature.json")), "not signed"],
    ["a signature that is none", (folder) => writeFileSync(join(folder, "signature.json"), "{}"), "base64 payload"],
    [
      "the signature of a stranger",
      (folder) =>
        signPlugin(folder, { ...lamp, publisher: "Lamps Ltd", key: generateKeyPairSync("ed25519").privateKey }),
      "trusted key",
    ],
    [
      "the signature of another plugin",
      (folder) => signPlugin(folder, { ...lamp, name: "bell", publisher: "Lamps Ltd", key: pair.privateKey }),
      "another plugin or version",
    ],
    [
      "the signature of another version",
      (folder) => signPlugin(folder, { ...lamp, version: "0.9.0", publisher: "Lamps Ltd", key: pair.privateKey }),
      "another plugin or version",
    ],
  ])("is refused with %s", (_case, change, words) => {
    const { plugins, folder } = signedLamp();
    change(folder);
    expect(() => verifyPlugin(folder, lamp, trust)).toThrow(words);
    const { installed } = findPlugins(pathToFileURL(`${makeTempDir()}/`), pathToFileURL(`${plugins}/`), trust);
    expect(installed).toEqual([]);
  });

  it("is refused when its document was signed as another kind", () => {
    const { folder } = signedLamp();
    const document = JSON.parse(readFileSync(join(folder, "signature.json"), "utf8")) as { payload: string };
    const payload = JSON.parse(Buffer.from(document.payload, "base64").toString()) as object;
    writeFileSync(
      join(folder, "signature.json"),
      JSON.stringify({
        ...document,
        payload: Buffer.from(JSON.stringify({ ...payload, kind: "upgrade" })).toString("base64"),
      }),
    );
    expect(() => verifyPlugin(folder, lamp, trust)).toThrow("trusted key");
  });

  it("is refused without trusted keys; an unsigned one is taken where that is allowed", () => {
    const { folder } = signedLamp();
    expect(() => verifyPlugin(folder, lamp, { keys: [], allowsUnsigned: true })).toThrow("trusted key");
    const copy = join(makeTempDir(), "lamp");
    cpSync(folder, copy, { recursive: true });
    rmSync(join(copy, "signature.json"));
    expect(verifyPlugin(copy, lamp, { keys: [], allowsUnsigned: true })).toBeNull();
  });
});
