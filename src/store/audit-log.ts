import type { Clock } from "../lib/clock.ts";
import { isAuthenticNote, readAuditTail, signAuditNote, verifyAudit } from "./audit-chain.ts";
import type { AuditLog, StoreReader } from "./store.ts";

/** The audit of a store; the key of its chain stays in here. */
export function createAuditLog(reader: Pick<StoreReader, "all" | "one">, clock: Clock, key: Buffer): AuditLog {
  return {
    verify: (range) => verifyAudit(reader, clock, key, range),
    end() {
      const { pk, hash } = readAuditTail((sql) => reader.one(sql));
      return pk === 0 ? null : signAuditNote(key, { number: pk, hash, at: clock.now() });
    },
    isAuthentic: (note) => isAuthenticNote(key, note),
    includes: ({ number, hash }) =>
      reader.one<{ hash: string }>("SELECT hash FROM audit_entries WHERE pk = ?", number)?.hash === hash,
  };
}
