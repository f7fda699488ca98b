import { AsyncLocalStorage } from "node:async_hooks";
import crypto from "node:crypto";
import { sentence } from "../lib/sentences/sentences.ts";
import { LoginError } from "./login-error.ts";

/** Work in which SHA-1 counts neither as digest nor in a signature. */
const isRefusing = new AsyncLocalStorage<true>();
const GUARDED = Symbol.for("carillon.sha1-refusal");

/**
 * Runs `work`, in which verifying an XML signature with SHA-1 throws. The library takes any algorithm that the response names;
 * what it really uses is decided here, so neither encryption nor another spelling of the name leads past it.
 */
export function withoutSha1<T>(work: () => Promise<T>): Promise<T> {
  install(crypto as typeof crypto & { [GUARDED]?: true });
  return isRefusing.run(true, work);
}

function install(module: typeof crypto & { [GUARDED]?: true }): void {
  if (module[GUARDED]) return;
  module[GUARDED] = true;
  const { createHash, createVerify, createHmac } = module;
  const refuse = (algorithm: unknown): void => {
    if (isRefusing.getStore() && /sha-?1$/i.test(String(algorithm)))
      throw new LoginError("signature", sentence("login.the-signature-uses-sha-1"));
  };
  module.createHash = ((algorithm: string, options?: crypto.HashOptions) => {
    refuse(algorithm);
    return createHash(algorithm, options);
  }) as typeof createHash;
  module.createVerify = ((algorithm: string, options?: never) => {
    refuse(algorithm);
    return createVerify(algorithm, options);
  }) as typeof createVerify;
  module.createHmac = ((algorithm: string, key: crypto.BinaryLike, options?: never) => {
    refuse(algorithm);
    return createHmac(algorithm, key, options);
  }) as typeof createHmac;
}
