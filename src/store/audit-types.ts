/** The end of the chain at a time, kept elsewhere: it reveals later that the end was cut off or written again. */
export interface AuditNote {
  number: number;
  hash: string;
  /** Epoch ms. */
  at: number;
}

/** A note that cannot be invented without the key. */
export interface SignedAuditNote extends AuditNote {
  mac: string;
}

/** A note and where it was kept, for people. */
export interface KeptAuditNote extends AuditNote {
  source: string;
}

/** The result of verifying the hash chain. */
export interface AuditVerification {
  intact: boolean;
  /** Number of intact entries, counted from the first. */
  entries: number;
  /**
   * Number and hash of the last intact entry. Stored elsewhere, they reveal a truncated or fully recomputed chain
   * later.
   */
  last: { number: number; hash: string };
  /** The first entry that was tampered with; null when the chain is intact. */
  broken: { number: number; id: string | null; at: string | null; reason: string } | null;
  /** False when entries after `last` have not been read yet. */
  finished: boolean;
}

/** The part of the audit to verify. */
export interface AuditRange {
  /** `last` of an earlier run; default: from the first entry. */
  after?: AuditVerification["last"];
  /** `last` of an earlier run that must still be in the chain. */
  checkpoint?: AuditVerification["last"];
  /** Ends of the chain that others kept. They must still be in it, unless a restored backup replaced them. */
  notes?: readonly KeptAuditNote[];
  /** Maximum number of entries to read; default: all. */
  maxEntries?: number;
}
