import { existsSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { loadSecretKey } from "../../../src/store/secrets.ts";
import { makeTempDir } from "../../support/temp-dir.ts";

describe("secret key", () => {
  it("creates the key file once with mode 0600 if there is no credential", () => {
    const data = makeTempDir();
    const key = loadSecretKey(data, makeTempDir());
    expect(key).toHaveLength(32);
    expect(loadSecretKey(data, undefined)).toEqual(key);
    expect(readFileSync(join(data, "secret-key"))).toEqual(key);
    expect(statSync(join(data, "secret-key")).mode & 0o777).toBe(0o600);
  });

  it("uses the systemd credential and writes no file", () => {
    const [data, credentials] = [makeTempDir(), makeTempDir()];
    writeFileSync(join(credentials, "secret-key"), Buffer.alloc(32, 7));
    expect(loadSecretKey(data, credentials)).toEqual(Buffer.alloc(32, 7));
    expect(existsSync(join(data, "secret-key"))).toBe(false);
  });

  it("rejects a damaged key and two different keys", () => {
    const [data, credentials] = [makeTempDir(), makeTempDir()];
    writeFileSync(join(credentials, "secret-key"), Buffer.alloc(31));
    expect(() => loadSecretKey(data, credentials)).toThrow("damaged");
    writeFileSync(join(credentials, "secret-key"), Buffer.alloc(32));
    writeFileSync(join(data, "secret-key"), Buffer.alloc(32, 1));
    expect(() => loadSecretKey(data, credentials)).toThrow("must be the same key");
    writeFileSync(join(data, "secret-key"), Buffer.alloc(32));
    expect(loadSecretKey(data, credentials)).toEqual(Buffer.alloc(32));
  });
});
