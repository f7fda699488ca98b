import { describe, expect, it } from "vitest";
import { maskSecrets } from "../../../../src/ops/logs/secret-masking.ts";

const SECRET = "hunter2-hunter2-hunter2-hunter2";
/** Member names whose values are secrets, alone and as part of a longer name. */
const NAMES = ["password", "passwd", "secret", "token", "authorization", "cookie", "community"];
const NAMES_OF_JSON = [...NAMES, "apikey", "api_key", "privatekey", "private_key", "private-key", "pin"];
const PARAMETERS = ["password", "passwd", "secret", "access_token", "refresh_token", "client_secret", "code"];

describe("log masking", () => {
  it.each(NAMES_OF_JSON.flatMap((name) => [name, name.toUpperCase(), `sip_${name}_2`]))(
    "masks the member %s",
    (name) => {
      expect(maskSecrets(`{"${name}" : "${SECRET} \\" more","kept":"yes"}`)).toBe(
        `{"${name}" : [masked],"kept":"yes"}`,
      );
    },
  );

  it.each(NAMES)("masks the member %s of JSON inside a string", (name) => {
    expect(maskSecrets(`{"line":"{\\"${name}\\":\\"${SECRET}\\",\\"kept\\":1}"}`)).not.toContain("hunter2");
  });

  it.each(PARAMETERS)("masks the parameter %s", (name) => {
    expect(maskSecrets(`GET /x?${name}=${SECRET}&kept=1`)).toBe(`GET /x?${name}=[masked]&kept=1`);
  });

  it.each([
    ["a token of Carillon", `used carillon_${SECRET} twice`],
    ["a bearer token", `Authorization: Bearer ${SECRET}`],
    ["basic credentials", `authorization: basic ${SECRET}`],
    ["digest credentials", `Digest ${SECRET}`],
    ["the password of a URL", `postgres://carillon:${SECRET}@db.example.org/x`],
    ["a sealed value", `v1:${SECRET.replaceAll("-", "")}`],
    ["a private key", `-----BEGIN PRIVATE KEY-----\n${SECRET}\n-----END PRIVATE KEY-----`],
    ["a private key that is cut off", `-----BEGIN EC PRIVATE KEY-----\n${SECRET}`],
  ])("masks %s", (_, line) => {
    const masked = maskSecrets(line);
    expect([masked.includes("hunter2"), masked.includes("[masked]")]).toEqual([false, true]);
  });

  it("keeps everything else", () => {
    const line = '{"level":30,"event":"bell.rung","device":"SEP001122334455","url":"https://example.org/a?b=c"}';
    expect(maskSecrets(line)).toBe(line);
  });
});
