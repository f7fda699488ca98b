import { z } from "zod";
import type { HubControlMessage, SiteControlMessage } from "./control-messages.ts";
import { type Frame, REMOTE_COMMAND_TYPES } from "./frames.ts";

const count = z.number().int().min(0).max(Number.MAX_SAFE_INTEGER);
const time = z.number().min(-1e15).max(1e15);
const word = z.string().min(1).max(300);
/** Ids travel as the cloud's and the appliances' databases write them. */
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
const lane = z.object({ hw: count, tail: word.nullable() });
const snap = z.object({ h0: count, after: word.nullable() });
const op = z.enum(["p", "d"]);
const downRow = z.tuple([op, name, name, count, body.optional()]);
const upRow = z.tuple([op, name, name, count, word, body.optional()]);
const outcome = z.enum(["merged", "conflict", "gone", "refused"]);

/** More than a page ever holds; a side that sends more is not one of ours. own choice */
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
const err = z.object({ t: z.literal("err"), code: word, reason: z.string().max(1_000).optional() });

const mark = z.object({
  after: count.optional(),
  decided: count,
  results: z.array(z.object({ uid: word, result: outcome, lost: z.array(word).max(1_000) })).max(MAX_ROWS),
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

/** What the cloud may send, by its `t`. */
const HUB_FRAME_SCHEMAS = {
  welcome: z.object({
    t: z.literal("welcome"),
    sess: count,
    epoch: word,
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
    from: word.nullable(),
    after: word.nullable(),
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

/** What an appliance may send, by its `t`. */
const SITE_FRAME_SCHEMAS = {
  hello: z.object({
    t: z.literal("hello"),
    v: z.literal(1),
    endpoint: name,
    inc: count,
    oseq: z.object({ bulk: count, hot: count }),
    epoch: word.nullable(),
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
    tail: word,
    rows: z.array(upRow).max(MAX_ROWS),
  }),
  ack: z.object({ t: z.literal("ack"), feed: z.literal("down.bulk"), to: count }),
  ping: z.object({ t: z.literal("ping"), t0: time, groups: z.array(name).max(1_000) }),
  digest: z.object({ t: z.literal("digest"), applied: count, type: name, buckets }),
  need,
  chunk,
  err,
} as const;

/** A sha256 signature in DER, or a nonce; base64. */
const secretText = z.string().min(1).max(1_000);
/** One beat of a neighbour. own choice: a thousand ids each of what sounds and what is over */
const beat = z.object({ t: z.literal("beat"), beat: z.string().min(2).max(131_072) });
const status = z.object({
  t: z.literal("status"),
  health: z.enum(["GREEN", "YELLOW", "RED"]),
  reasons: z.array(z.string().max(10_000)).max(100),
  since: z.number(),
  unsent: z.number().int().nonnegative(),
  unsentSince: z.number().nullable(),
});
const question = z.discriminatedUnion("kind", [
  z.object({ kind: z.literal("renew"), request: z.string().min(1).max(10_000) }),
  z.object({
    kind: z.literal("request"),
    userId: name,
    scopes: z.array(z.string().max(200)).max(1_000).nullable(),
    method: z.enum(["POST", "PUT", "DELETE"]),
    target: z.string().startsWith("/").max(8_192),
    headers: z.record(z.string().max(200), z.string().max(8_192)),
    body: z.string().max(4_000_000),
  }),
]);

/** What is said beside the feeds, by who says it and by its `t`. */
const CONTROL_MESSAGE_SCHEMAS = {
  hub: {
    challenge: z.object({ t: z.literal("challenge"), nonce: secretText }),
    revoked: z.object({ t: z.literal("revoked"), keys: z.array(sha256).max(100_000) }),
    beat,
    answer: z.object({ t: z.literal("answer"), ref: name, given: body.optional(), refused: z.string().optional() }),
  },
  site: {
    proof: z.object({ t: z.literal("proof"), proof: secretText }),
    beat,
    status,
    ask: z.object({ t: z.literal("ask"), ref: name, of: question }),
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

/** An edit as it travels, as the body of a row. */
export type EditRecord = z.infer<typeof editBody>;

/** Reads an edit; null for what is none. */
export function parseEdit(value: unknown): EditRecord | null {
  const { success, data } = editBody.safeParse(value);
  return success && (data.edit.set.id ?? data.id) === data.id ? data : null;
}

/**
 * The link as it is spoken, for whoever writes another end of it; `frameSchema` gives the members of each frame.
 *
 * Way in: a WebSocket at `/api/onprem/v1/link`, subprotocol `carillon.1`: each text message is one frame, a JSON object whose
 * `t` names it. With `carillon.1+d<hash>` a binary message may be the byte 1 and the raw deflate of the same text, by the
 * dictionary of that hash. A side is silent for 45 s at most: WebSocket pings. An appliance shows its certificate; where TLS
 * ends before the cloud it sends `authorization: Bearer <token>`, gets `challenge {nonce}` and says `proof {proof}`: base64 of
 * the DER signature (ECDSA, SHA-256) of the lines `carillon link`, its id and the nonce, joined by "\n".
 *
 * Beginning: the appliance sends `hello`: `inc` counts its lives from 1, `oseq` its own newest numbers, `epoch`, `recv` and
 * `applied` what it has of the cloud (null, 0, 0 at first), `cmdHw` the newest command, `types` the resources it knows, and
 * its `credit`. The cloud's `welcome` has the `epoch`, its time `ct`, what it has of each feed (`up`: number and name of the
 * last record), its credit, and `resync {h0, after}` where all rows come anew.
 *
 * Down: `snap` pages carry all rows, by type and id, until `end`; the feed goes on from `h0`. `rows` pages of `down.bulk` have
 * what changed: `from` is where the page before ended, `to` where this one does. A row is `["p", type, id, number, body]` or
 * `["d", type, id, number]`. Pages are kept aside until one has a `mark`: then all of it is applied at once, after a snapshot
 * what was not in it is removed, and the appliance equals the cloud at `to`; `mark.results` says what became of its
 * edits in `up.hot` after the number `after` and up to `decided`.
 * Each page is answered by `ack {feed: "down.bulk", to}` (a snap: its `h0`); no more than `credit.frames` pages and, but for the
 * last one, `credit.bytes` are on their way unanswered.
 *
 * Up: `rows` of `up.hot` (outcomes, edits: what must not wait) and `up.bulk` (state and facts): `["p", type, id, number, uid,
 * body]` from where the cloud stands; `tail` is the uid of the record at `to`. The cloud answers `ack {feed, to}`.
 *
 * Commands: `cmd {cseq, command}` comes at any time and needs no credit; one name (`cid`) is carried out once, and not after
 * `notAfter` of the cloud's time. The appliance says a row of type `taken` for a message once it is kept, then rows of type
 * `outcome`, whose id is the cid: `{outcome: "started", at}` with the first packet, and in the end `done`, `failed`, `expired`,
 * `cancelled`, `interrupted`, `skipped` or `unknown`. `heard {cid}` tells one of `rank` above 0 that another sounds it.
 *
 * Sums: a mark may have `digests` by type: `count` of rows and `sum`, modulo 2^48, of the first 6 bytes of the SHA-256 of
 * `type|id|number`. Who differs sends `digest {applied, type, buckets}`: the same for 256 parts of the rows, by the first byte
 * of the SHA-256 of the id; `repair` brings the rows of the parts that differ.
 *
 * A `ping {t0, groups}` is answered by `pong`. What does not follow on, or is no frame, is answered by `err {code}` and the end.
 */
export type FrameSender = "hub" | "site";

/** What came of a value that arrived: a frame, null for one of an unknown `t`, or what is wrong with it. */
export type ParsedFrame = { frame: Frame | null } | { fault: string };

/**
 * Looks at what arrived before anybody acts on it. Members that are not known are ignored, and so are frames of a later
 * version; everything else is a fault, after which nothing of that connection is to be believed.
 */
export function parseFrame(value: unknown, from: FrameSender): ParsedFrame {
  const t = typeof value === "object" && value !== null ? (value as { t?: unknown }).t : undefined;
  if (typeof t !== "string") return { fault: "It is no frame." };
  const known: Readonly<Record<string, z.ZodType>> = from === "hub" ? HUB_FRAME_SCHEMAS : SITE_FRAME_SCHEMAS;
  const schema = Object.hasOwn(known, t) ? known[t] : undefined;
  if (!schema) {
    const other = from === "hub" ? SITE_FRAME_SCHEMAS : HUB_FRAME_SCHEMAS;
    return Object.hasOwn(other, t) ? { fault: `A ${t} is not for this side.` } : { frame: null };
  }
  const { success, error } = schema.safeParse(value);
  if (!success) {
    const [first] = error.issues;
    return { fault: `${t}: ${first?.path.join(".") || "frame"}: ${first?.message}`.slice(0, 300) };
  }
  const frame = value as Frame;
  const fault = findOrderError(frame);
  return fault ? { fault } : { frame };
}

/** What the other side says beside the feeds; null for frames, and for what is not as it should be. */
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
      }),
    })
    .optional(),
  refused: z.string().max(1_000).optional(),
});

/** What the cloud answers an appliance that asks to be enrolled; null for what is no such answer. */
export function parseEnrolmentResponse(value: unknown): z.infer<typeof enrolment> | null {
  return enrolment.safeParse(value).data ?? null;
}

/** Rows of a feed lie between where the page begins and where it ends, each after the one before. */
function findOrderError(frame: Frame): string | null {
  if (frame.t !== "rows") return null;
  let at = frame.from;
  for (const [, , , seq] of frame.rows) {
    if (seq <= at || seq > frame.to) return `rows: ${seq} does not lie after ${at} and up to ${frame.to}.`;
    at = seq;
  }
  return frame.to < frame.from ? "rows: it ends before it begins." : null;
}

/** The JSON Schema (draft 2020-12) of all that one side may send, for those who write another end of the link. */
export function frameJsonSchema(from: FrameSender): object {
  const frames = Object.values({
    ...(from === "hub" ? HUB_FRAME_SCHEMAS : SITE_FRAME_SCHEMAS),
    ...CONTROL_MESSAGE_SCHEMAS[from],
  });
  return z.toJSONSchema(z.union(frames as unknown as [z.ZodType, ...z.ZodType[]]));
}
