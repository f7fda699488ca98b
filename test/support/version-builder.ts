import { generateKeyPairSync } from "node:crypto";
import { cpSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { REPOSITORY_ROOT } from "./carillon-process.ts";

/** Who makes versions: the key that signs them (PEM), and what settings trust it by. */
export function createVersionSigner(): { pem: string; trusted: string } {
  const { privateKey, publicKey } = generateKeyPairSync("ed25519");
  return {
    pem: privateKey.export({ type: "pkcs8", format: "pem" }).toString(),
    trusted: publicKey.export({ type: "spki", format: "der" }).subarray(-32).toString("base64"),
  };
}

/** Copies what a version needs to run, without its packages, into a folder and calls it `version`. */
export function copyVersion(target: string, version: string): string {
  mkdirSync(join(target, "dist"), { recursive: true });
  for (const part of ["src", "chunks", "client", "console", "plugins"])
    cpSync(join(REPOSITORY_ROOT, "dist", part), join(target, "dist", part), {
      recursive: true,
      filter: (path) => !path.endsWith(".map"),
    });
  const about = JSON.parse(readFileSync(join(REPOSITORY_ROOT, "package.json"), "utf8")) as object;
  writeFileSync(join(target, "package.json"), JSON.stringify({ ...about, version }));
  return target;
}
