import crypto from "node:crypto";

const SINGLE_DES = "des-cbc";
const TRIPLE_DES = "des-ede3-cbc";

type Cipher = (algorithm: string, key: Buffer, iv: Buffer, options?: object) => unknown;

/**
 * Lets this process encrypt by single DES, which OpenSSL 3 no longer has: three times DES with one key is DES. It changes
 * node:crypto for everybody, so only the thread that reads clusters may call it.
 */
export function enableSingleDes(): void {
  const target = crypto as unknown as Record<"createCipheriv" | "createDecipheriv", Cipher>;
  for (const name of ["createCipheriv", "createDecipheriv"] as const) {
    const made = target[name];
    target[name] = (algorithm, key, iv, options) =>
      algorithm === SINGLE_DES
        ? made(TRIPLE_DES, Buffer.concat([key, key, key]), iv, options)
        : made(algorithm, key, iv, options);
  }
}
