import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { CallerError } from "../lib/errors.ts";

/** Creates a private key (PEM, Ed25519) that only its user reads. Throws CallerError without its folder. */
export async function createSigningKey(file: string): Promise<void> {
  const { generateKeyPairSync } = await import("node:crypto");
  if (!existsSync(dirname(file))) throw new CallerError("invalid-value", `Folder ${dirname(file)} not found.`);
  const { privateKey } = generateKeyPairSync("ed25519");
  writeFileSync(file, privateKey.export({ type: "pkcs8", format: "pem" }), { mode: 0o600, flag: "wx", flush: true });
}

/** The text of a key file. Throws CallerError if it cannot be read. */
export function readSigningKeyFile(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    throw new CallerError("invalid-value", `Can't read ${path}.`);
  }
}
