import { z } from "zod";
import { type Frame, ORDER_KINDS } from "./frames.ts";
import type { HubTalk, SiteTalk } from "./talk.ts";

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
const MOST_ROWS = 10_000;
const downRows = z.array(downRow).max(MOST_ROWS);

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
  decided: count,
  results: z.array(z.object({ uid: word, result: outcome, lost: z.array(word).max(1_000) })).max(MOST_ROWS),
  digests: z.record(name, digest).optional(),
});

const command = z.object({
  cid: name,
  kind: z.enum(["broadcast", "cancel", ...ORDER_KINDS]),
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
const FROM_HUB = {
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
const FROM_SITE = {
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
    rows: z.array(upRow).max(MOST_ROWS),
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
const TALK = {
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

const idLists = z.record(z.string(), z.array(z.string().max(200)).max(MOST_ROWS));
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
export type EditBody = z.infer<typeof editBody>;

/** Reads an edit; null for what is none. */
export function readEdit(value: unknown): EditBody | null {
  const { success, data } = editBody.safeParse(value);
  return success && (data.edit.set.id ?? data.id) === data.id ? data : null;
}

/** Who sends. */
export type Sender = "hub" | "site";

/** What came of a value that arrived: a frame, null for one of an unknown `t`, or what is wrong with it. */
export type Read = { frame: Frame | null } | { fault: string };

/**
 * Looks at what arrived before anybody acts on it. Members that are not known are ignored, and so are frames of a later
 * version; everything else is a fault, after which nothing of that connection is to be believed.
 */
export function readFrame(value: unknown, from: Sender): Read {
  const t = typeof value === "object" && value !== null ? (value as { t?: unknown }).t : undefined;
  if (typeof t !== "string") return { fault: "It is no frame." };
  const known: Readonly<Record<string, z.ZodType>> = from === "hub" ? FROM_HUB : FROM_SITE;
  const schema = Object.hasOwn(known, t) ? known[t] : undefined;
  if (!schema) {
    const other = from === "hub" ? FROM_SITE : FROM_HUB;
    return Object.hasOwn(other, t) ? { fault: `A ${t} is not for this side.` } : { frame: null };
  }
  const { success, error } = schema.safeParse(value);
  if (!success) {
    const [first] = error.issues;
    return { fault: `${t}: ${first?.path.join(".") || "frame"}: ${first?.message}`.slice(0, 300) };
  }
  const frame = value as Frame;
  const fault = orderFault(frame);
  return fault ? { fault } : { frame };
}

/** What the other side says beside the feeds; null for frames, and for what is not as it should be. */
export function readTalk(value: unknown, from: "hub"): HubTalk | null;
export function readTalk(value: unknown, from: "site"): SiteTalk | null;
export function readTalk(value: unknown, from: Sender): HubTalk | SiteTalk | null {
  const t = typeof value === "object" && value !== null ? (value as { t?: unknown }).t : undefined;
  const known: Readonly<Record<string, z.ZodType>> = TALK[from];
  const schema = typeof t === "string" && Object.hasOwn(known, t) ? known[t] : undefined;
  return schema?.safeParse(value).success ? (value as HubTalk | SiteTalk) : null;
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
export function readEnrolment(value: unknown): z.infer<typeof enrolment> | null {
  return enrolment.safeParse(value).data ?? null;
}

/** Rows of a feed lie between where the page begins and where it ends, each after the one before. */
function orderFault(frame: Frame): string | null {
  if (frame.t !== "rows") return null;
  let at = frame.from;
  for (const [, , , seq] of frame.rows) {
    if (seq <= at || seq > frame.to) return `rows: ${seq} does not lie after ${at} and up to ${frame.to}.`;
    at = seq;
  }
  return frame.to < frame.from ? "rows: it ends before it begins." : null;
}

/** The JSON Schema (draft 2020-12) of all that one side may send, for those who write another end of the link. */
export function frameSchema(from: Sender): object {
  const frames = Object.values({ ...(from === "hub" ? FROM_HUB : FROM_SITE), ...TALK[from] });
  return z.toJSONSchema(z.union(frames as unknown as [z.ZodType, ...z.ZodType[]]));
}
