import { z } from "zod";
import type { HubControlMessage, SiteControlMessage } from "./control-messages.ts";
import { type Frame, REMOTE_COMMAND_TYPES } from "./frames.ts";

const count = z.number().int().min(0).max(Number.MAX_SAFE_INTEGER);
const time = z.number().min(-1e15).max(1e15);
const shortText = z.string().min(1).max(300);
/** Ids are printable ASCII, as the databases of both sides store them. */
const name = z
  .string()
  .min(1)
  .max(200)
  .regex(/^[\x21-\x7e]+$/);
const body = z.record(z.string(), z.unknown());
const credit = z.object({ frames: count, bytes: count });
const sha256 = z.string().regex(/^[0-9a-f]{64}$/);
const digest = z.object({ count, sum: count });
const buckets = z.array(digest).max(256);
const lane = z.object({ hw: count, tail: shortText.nullable() });
const snap = z.object({ h0: count, after: shortText.nullable() });
const op = z.enum(["p", "d"]);
const downRow = z.tuple([op, name, name, count, body.optional()]);
const upRow = z.tuple([op, name, name, count, shortText, body.optional()]);
const outcome = z.enum(["merged", "conflict", "gone", "refused"]);

/** Larger than any page; a peer that sends more is not ours. @source docs/decisions/0300-sync-limits.md */
const MAX_ROWS = 10_000;
const downRows = z.array(downRow).max(MAX_ROWS);

const need = z.object({ t: z.literal("need"), sha256, from: count });
const chunk = z.object({
  t: z.literal("chunk"),
  sha256,
  at: count,
  data: z.string().max(1_400_000).nullable(),
  last: z.boolean(),
});
const err = z.object({ t: z.literal("err"), code: shortText, reason: z.string().max(1_000).optional() });

const editResult = z.object({
  ...{ uid: shortText, result: outcome, lost: z.array(shortText).max(1_000) },
  reason: z.string().max(1_000).nullish(),
});
const mark = z.object({
  after: count.optional(),
  decided: count,
  results: z.array(editResult).max(MAX_ROWS),
  digests: z.record(name, digest).optional(),
});

const command = z.object({
  cid: name,
  kind: z.enum(["broadcast", "cancel", ...REMOTE_COMMAND_TYPES]),
  class: z.enum(["emergency", "routine", "admin"]),
  notAfter: time,
  rank: count,
  term: count,
  ref: name.nullable(),
  body,
  needs: z
    .array(z.object({ sha256, size: count }))
    .max(100)
    .optional(),
});

const lease = z.object({ group: name, holder: name, term: count, ttlMs: count });

/** Frames that the cloud may send, by `t`. */
const HUB_FRAME_SCHEMAS = {
  welcome: z.object({
    t: z.literal("welcome"),
    sess: count,
    epoch: shortText,
    ct: time,
    inc: count,
    up: z.object({ bulk: lane, hot: lane }),
    resync: snap.nullable(),
    credit,
  }),
  rows: z.object({
    t: z.literal("rows"),
    feed: z.literal("down.bulk"),
    from: count,
    to: count,
    rows: downRows,
    mark: mark.optional(),
  }),
  snap: z.object({
    t: z.literal("snap"),
    h0: count,
    from: shortText.nullable(),
    after: shortText.nullable(),
    rows: downRows,
    end: z.boolean(),
  }),
  cmd: z.object({ t: z.literal("cmd"), cseq: count, command }),
  heard: z.object({ t: z.literal("heard"), cid: name }),
  ack: z.object({ t: z.literal("ack"), feed: z.enum(["up.bulk", "up.hot"]), to: count }),
  pong: z.object({ t: z.literal("pong"), t0: time, ct: time, head: count, leases: z.array(lease).max(1_000) }),
  repair: z.object({ t: z.literal("repair"), at: count, type: name, buckets: z.array(count).max(256), rows: downRows }),
  need,
  chunk,
  err,
} as const;

/** Frames that an appliance may send, by `t`. */
const SITE_FRAME_SCHEMAS = {
  hello: z.object({
    t: z.literal("hello"),
    v: z.literal(1),
    endpoint: name,
    inc: count,
    oseq: z.object({ bulk: count, hot: count }),
    epoch: shortText.nullable(),
    recv: count,
    applied: count,
    snap: snap.nullable(),
    cmdHw: count,
    decided: count,
    fresh: z.boolean(),
    types: z.array(name).max(1_000),
    credit,
  }),
  rows: z.object({
    t: z.literal("rows"),
    feed: z.enum(["up.bulk", "up.hot"]),
    from: count,
    to: count,
    tail: shortText,
    rows: z.array(upRow).max(MAX_ROWS),
  }),
  ack: z.object({ t: z.literal("ack"), feed: z.literal("down.bulk"), to: count }),
  ping: z.object({ t: z.literal("ping"), t0: time, groups: z.array(name).max(1_000) }),
  digest: z.object({ t: z.literal("digest"), applied: count, type: name, buckets }),
  need,
  chunk,
  err,
} as const;

/** A SHA-256 signature in DER, or a nonce; base64. */
const secretText = z.string().min(1).max(1_000);
/**
 * A peer's heartbeat: up to a thousand ids each of playing and ended messages.
 * @source docs/decisions/0300-sync-limits.md
 */
const beat = z.object({ t: z.literal("beat"), beat: z.string().min(2).max(131_072) });
const status = z.object({
  t: z.literal("status"),
  health: z.enum(["GREEN", "YELLOW", "RED"]),
  reasons: z.array(z.string().max(10_000)).max(100),
  since: z.number(),
  unsent: z.number().int().nonnegative(),
  unsentSince: z.number().nullable(),
});
const auditNote = z.object({ number: count, hash: sha256, at: z.number().int(), mac: sha256 });
const controlRequest = z.discriminatedUnion("kind", [
  z.object({ kind: z.literal("renew"), request: z.string().min(1).max(10_000) }),
  z.object({
    kind: z.literal("inventory"),
    type: name,
    fields: z.array(name).max(500),
    bucket: z.number().int().min(0).max(255).nullable(),
  }),
  z.object({ kind: z.literal("secrets"), publicKey: z.string().length(44), proof: secretText }),
  z.object({ kind: z.literal("log-in"), email: z.string().max(254), password: z.string().max(1_024) }),
  z.object({
    kind: z.literal("request"),
    credential: z.union([z.object({ token: secretText }), z.object({ proof: secretText })]).optional(),
    method: z.enum(["POST", "PUT", "DELETE"]),
    target: z.string().startsWith("/").max(8_192),
    headers: z.record(z.string().max(200), z.string().max(8_192)),
    body: z.string().max(4_000_000),
  }),
]);

/** Control messages, by sender and `t`. */
const CONTROL_MESSAGE_SCHEMAS = {
  hub: {
    challenge: z.object({ t: z.literal("challenge"), nonce: secretText }),
    revoked: z.object({ t: z.literal("revoked"), keys: z.array(sha256).max(100_000) }),
    beat,
    "audit-ends": z.object({ t: z.literal("audit-ends"), notes: z.array(auditNote).max(500) }),
    answer: z.object({ t: z.literal("answer"), ref: name, given: body.optional(), refused: z.string().optional() }),
  },
  site: {
    proof: z.object({ t: z.literal("proof"), proof: secretText }),
    beat,
    status,
    "audit-end": z.object({ t: z.literal("audit-end"), note: auditNote }),
    ask: z.object({ t: z.literal("ask"), ref: name, of: controlRequest }),
  },
} as const;

const idLists = z.record(z.string(), z.array(z.string().max(200)).max(MAX_ROWS));
const editBody = z.object({
  type: name,
  id: name,
  edit: z.object({
    op: z.enum(["create", "update", "delete"]),
    set: body,
    add: idLists,
    remove: idLists,
    was: z.record(z.string(), z.string().max(200)),
  }),
  actor: z.string().max(1_000),
  at: time,
});

/** Body of an `edit` record. */
export type EditRecord = z.infer<typeof editBody>;

/** Parses an edit; null if it is invalid. */
export function parseEdit(value: unknown): EditRecord | null {
  const { success, data } = editBody.safeParse(value);
  return success && (data.edit.set.id ?? data.id) === data.id ? data : null;
}

/**
 * The link protocol, for implementers of another peer; `frameJsonSchema` gives the members of each frame.
 *
 * Connection: a WebSocket at `/api/onprem/v1/link`, subprotocol `carillon.1`. Each text message is one frame: a JSON
 * object whose `t` names its type. With `carillon.1+d<hash>` a binary message may be the byte 1 followed by the raw
 * deflate of the same text, compressed with the dictionary of that hash. A side may be silent for at most 45 s;
 * WebSocket pings count. An appliance authenticates with its client certificate. Where a proxy ends TLS it sends
 * `authorization: Bearer <token>`, receives `challenge {nonce}` and answers `proof {proof}`: base64 of the DER
 * signature (ECDSA, SHA-256) of the lines `carillon link`, its id and the nonce, joined by "\n".
 *
 * Handshake: the appliance sends `hello`: `inc` is its incarnation, from 1; `oseq` the newest sequence numbers of its
 * feeds; `epoch`, `recv` and `applied` its position in the cloud's feed (null, 0, 0 at first); `cmdHw` the newest
 * command; `types` the resources that it knows; and its `credit`. The cloud's `welcome` has the `epoch`, cloud time
 * `ct`, its position in each feed of the appliance (`up`: sequence number and uid of the last record), its credit, and
 * `resync {h0, after}` if all rows are sent again.
 *
 * Downstream: `snap` pages carry all rows by type and id, until `end`; the feed continues from `h0`. `rows` pages of
 * `down.bulk` carry changes: `from` is the end of the page before, `to` the end of this one. A row is `["p", type, id,
 * seq, body]` or `["d", type, id, seq]`. Pages are staged until one has a `mark` (checkpoint): then all are applied,
 * after a snapshot rows that it did not contain are removed, and the appliance equals the cloud at `to`. `mark.results`
 * has the decisions on edits in `up.hot` after sequence number `after` and up to `decided`. Each page is acknowledged
 * by `ack {feed: "down.bulk", to}` (a snapshot page: its `h0`). At most `credit.frames` pages and, except for the last
 * one, `credit.bytes` may be unacknowledged.
 *
 * Upstream: `rows` of `up.hot` (outcomes and edits, which must not wait) and `up.bulk` (state and facts): `["p", type,
 * id, oseq, uid, body]` from the cloud's position on; `tail` is the uid of the record at `to`. The cloud answers `ack
 * {feed, to}`.
 *
 * Commands: `cmd {cseq, command}` may be sent at any time and needs no credit. A command id (`cid`) is carried out
 * once, and not after `notAfter` of cloud time. The appliance sends a row of type `taken` once a broadcast is stored,
 * then rows of type `outcome` whose id is the cid: `{outcome: "started", at}` with the first packet, and finally
 * `done`, `failed`, `expired`, `cancelled`, `interrupted`, `skipped` or `unknown`. `heard {cid}` tells an appliance of
 * `rank` above 0 that another one plays it.
 *
 * Digests: a mark may have `digests` by type: the `count` of rows and the `sum`, modulo 2^48, of the first 6 bytes of
 * the SHA-256 of `type|id|seq`. An appliance that differs sends `digest {applied, type, buckets}`: the same for 256
 * buckets, by the first byte of the SHA-256 of the id; `repair` carries the rows of the buckets that differ.
 *
 * `ping {t0, groups}` is answered by `pong`. An out-of-sequence or malformed frame is answered by `err {code}`, and the
 * connection is closed.
 */
export type FrameSender = "hub" | "site";

/** A parsed frame, null for one of an unknown type, or the reason why it is invalid. */
export type ParsedFrame = { frame: Frame | null } | { error: string };

/**
 * Validates a received value. Unknown members and frames of unknown types (of a later version) are ignored; anything
 * else is an error, after which the connection must be closed.
 */
export function parseFrame(value: unknown, from: FrameSender): ParsedFrame {
  const t = typeof value === "object" && value !== null ? (value as { t?: unknown }).t : undefined;
  if (typeof t !== "string") return { error: "Must be a JSON object with a text member `t`." };
  const known: Readonly<Record<string, z.ZodType>> = from === "hub" ? HUB_FRAME_SCHEMAS : SITE_FRAME_SCHEMAS;
  const schema = Object.hasOwn(known, t) ? known[t] : undefined;
  if (!schema) {
    const other = from === "hub" ? SITE_FRAME_SCHEMAS : HUB_FRAME_SCHEMAS;
    return Object.hasOwn(other, t) ? { error: `Frame ${t} must not be sent by this side.` } : { frame: null };
  }
  const { success, error } = schema.safeParse(value);
  if (!success) {
    const [first] = error.issues;
    return { error: `${t}: ${first?.path.join(".") || "frame"}: ${first?.message}`.slice(0, 300) };
  }
  const frame = value as Frame;
  const orderError = findOrderError(frame);
  return orderError ? { error: orderError } : { frame };
}

/** A control message; null for frames and invalid values. */
export function parseControlMessage(value: unknown, from: "hub"): HubControlMessage | null;
export function parseControlMessage(value: unknown, from: "site"): SiteControlMessage | null;
export function parseControlMessage(value: unknown, from: FrameSender): HubControlMessage | SiteControlMessage | null {
  const t = typeof value === "object" && value !== null ? (value as { t?: unknown }).t : undefined;
  const known: Readonly<Record<string, z.ZodType>> = CONTROL_MESSAGE_SCHEMAS[from];
  const schema = typeof t === "string" && Object.hasOwn(known, t) ? known[t] : undefined;
  return schema?.safeParse(value).success ? (value as HubControlMessage | SiteControlMessage) : null;
}

const pairs = z.array(z.tuple([name, z.string()]));
const enrolment = z.object({
  enrolled: z
    .object({
      ...{ endpoint: name, certificate: z.string(), authority: z.string(), token: secretText },
      mayAdopt: z.boolean().optional(),
      ground: z.object({
        ...{ only: z.record(z.string(), name), shared: z.array(name), people: pairs },
        administrators: z.array(z.tuple([name, name])),
        subscribers: z.array(z.tuple([name, name])).optional(),
        counts: z.record(z.string(), digest).optional(),
      }),
    })
    .optional(),
  refused: z.string().max(1_000).optional(),
});

/** The cloud's response to an enrolment request; null if it is invalid. */
export function parseEnrolmentResponse(value: unknown): z.infer<typeof enrolment> | null {
  return enrolment.safeParse(value).data ?? null;
}

/** Checks that the rows of a page lie between its start and end, in ascending order. */
function findOrderError(frame: Frame): string | null {
  if (frame.t !== "rows") return null;
  let at = frame.from;
  for (const [, , , seq] of frame.rows) {
    if (seq <= at || seq > frame.to) return `rows: sequence number ${seq} must be above ${at} and at most ${frame.to}.`;
    at = seq;
  }
  return frame.to < frame.from ? "rows: `to` must not be below `from`." : null;
}

/** JSON Schema (draft 2020-12) of all that one side may send, for implementers of another peer. */
export function frameJsonSchema(from: FrameSender): object {
  const frames = Object.values({
    ...(from === "hub" ? HUB_FRAME_SCHEMAS : SITE_FRAME_SCHEMAS),
    ...CONTROL_MESSAGE_SCHEMAS[from],
  });
  return z.toJSONSchema(z.union(frames as unknown as [z.ZodType, ...z.ZodType[]]));
}
