import { bech32 } from "@scure/base";

const X25519_BYTES = 32;
/** ML-KEM-768 with X25519. */
const HYBRID_BYTES = 1_216;

/**
 * Kind of a public key to which age encrypts; null for anything else. A file is encrypted to keys of one kind: one
 * recipient without post-quantum security would undo that of the others.
 * @source https://c2sp.org/age, X25519 recipient type, and MLKEM768-X25519 recipient type
 */
export function ageRecipientKind(text: string): "x25519" | "hybrid" | null {
  // Encoded with the prefix `age` or `age1pq`.
  const decoded = bech32.decodeUnsafe(text as `${string}1${string}`, false);
  const bytes = decoded && bech32.fromWordsUnsafe(decoded.words);
  if (!decoded || !bytes || text !== text.toLowerCase()) return null;
  if (decoded.prefix === "age" && bytes.length === X25519_BYTES) return "x25519";
  return decoded.prefix === "age1pq" && bytes.length === HYBRID_BYTES ? "hybrid" : null;
}
