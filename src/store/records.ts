import { hash } from "node:crypto";
import type Database from "better-sqlite3";
import type { Clock } from "../base/clock.ts";
import type { Field } from "../schema/field.ts";
import type { AnyResource } from "../schema/resource.ts";
import type { AnyRow } from "./rows.ts";
import type { By } from "./store.ts";

/** The two records that every write leaves in its own transaction. @source interfaces.md, Writing and reading */
export interface Records {
  /** Change feed: the newest version per row, tombstones included. Returns its sequence number. */
  feed(resource: AnyResource, id: string, op: "create" | "update" | "delete"): number;
  /** Audit: append-only, before and after with secrets masked, each row's hash covers the one before. */
  audit(resource: AnyResource, before: AnyRow | null, after: AnyRow | null, by: By): void;
  /** Must be called when anything written was rolled back. */
  forget(): void;
}

/** Makes the recorder; its statements live as long as the database. */
export function createRecords(db: Database.Database, clock: Clock): Records {
  const addChange = db.prepare("INSERT OR REPLACE INTO changes (type, row_id, op, class, at) VALUES (?, ?, ?, ?, ?)");
  const addAudit = db.prepare(
    "INSERT INTO audit (seq, at, actor_kind, actor_id, actor_name, address, domain_id, op, type, row_id, before, after, hash) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
  );
  const newest = db.prepare("SELECT seq, hash FROM audit ORDER BY seq DESC LIMIT 1");
  let tail: { seq: number; hash: string } | null = null;
  return {
    feed(resource, id, op) {
      return Number(addChange.run(resource.name, id, op, resource.replicate, clock.now()).lastInsertRowid);
    },
    audit(resource, before, after, by) {
      tail ??= (newest.get() as { seq: number; hash: string } | undefined) ?? { seq: 0, hash: "" };
      const { actor } = by;
      const op = before === null ? "create" : after === null ? "delete" : "update";
      const subject = (after ?? before) as AnyRow;
      const entry = [
        tail.seq + 1,
        clock.now(),
        actor.kind,
        actor.userId,
        actor.name,
        actor.address,
        subject.domainId,
        op,
        resource.name,
        subject.id,
        before && auditText(resource, before),
        after && auditText(resource, after),
      ];
      tail = { seq: tail.seq + 1, hash: chainHash(tail.hash, entry) };
      addAudit.run(...entry, tail.hash);
    },
    forget() {
      tail = null;
    },
  };
}

/** The hash of an audit row: SHA-256 (hex) over the hash before it and its other columns in order, as JSON. */
export function chainHash(previous: string, entry: readonly unknown[]): string {
  return hash("sha256", JSON.stringify([previous, ...entry]), "hex");
}

function auditText(resource: AnyResource, row: AnyRow): string {
  const shown: Record<string, unknown> = { id: row.id, createdAt: row.createdAt, updatedAt: row.updatedAt };
  for (const [name, spec] of Object.entries(resource.fields)) {
    const value = row[name];
    if (value === null || value === undefined || spec.kind === "internal") continue;
    shown[name] = spec.kind === "secret" ? "[secret]" : maskSealed(spec, value);
  }
  return JSON.stringify(shown);
}

/** Free JSON may hold sealed members (a plugin's configuration): they are masked by their form. */
function maskSealed(spec: Field, value: unknown): unknown {
  if (spec.kind !== "json" || typeof value !== "object" || value === null) return value;
  return JSON.parse(
    JSON.stringify(value, (_key, member) =>
      typeof member === "string" && member.startsWith("v1:") ? "[secret]" : member,
    ),
  );
}
