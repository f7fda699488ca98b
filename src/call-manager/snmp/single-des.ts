import crypto from "node:crypto";

const SINGLE_DES = "des-cbc";
const TRIPLE_DES = "des-ede3-cbc";

type Cipher = (algorithm: string, key: Buffer, iv: Buffer, options?: object) => unknown;

/**
 * Enables single DES, which OpenSSL 3 removed: triple DES with three equal keys is DES. It patches node:crypto for the whole
 * process, so only the reader thread may call it.
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
