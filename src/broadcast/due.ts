import type { Timer } from "../base/clock.ts";
import type { Reader, Transaction } from "../store/store.ts";
import type { StageNeeds } from "./stage.ts";

/** What follows from a message at a time of its own; what fetches help goes first. */
const DUE_KINDS = ["escalation", "queue-limit", "repeat", "tracking"] as const;
/** One of the kinds. */
export type DueKind = (typeof DUE_KINDS)[number];

/** Something that is to follow from a message. */
export interface Due {
  /** Internal key of the message. */
  notification: number;
  notificationId: string;
  kind: DueKind;
  /** Which one of its kind. */
  ref: string;
  /** Epoch ms. */
  at: number;
  /** What was decided when it was due, and is still to be done; null before. */
  decided: string | null;
}

/** Does what is due, and takes its row in the transaction that does it: what throws stays and is tried again. */
export type DueHandler = (due: Due) => Promise<void>;

/** What the watch over what is due needs. */
export type DueNeeds = Pick<StageNeeds, "store" | "clock" | "log" | "events"> & {
  handlers: Readonly<Record<DueKind, DueHandler>>;
};

/** Lets follow what is due, once, also what became due while nothing ran. */
export interface DueWatch {
  start(): void;
  /** Resolves when nothing is being done any more. */
  stop(): Promise<void>;
}

type DueLine = Due & Record<string, string | number | null>;

/** Clocks are set: it looks again after so long at the latest. own choice */
const LOOK_AGAIN_MS = 60_000;
/** A disk that is full now may take the row later. */
const TRY_AGAIN_MS = 5_000;
/** More than these of a kind wait for the next look. */
const AT_ONCE = 200;

const DUE = `SELECT d.notification, n.id AS notificationId, d.kind, d.ref, d.at, d.decided
  FROM broadcast_due d JOIN notifications n ON n.pk = d.notification
  WHERE d.kind = ? AND d.at <= ? ORDER BY d.at LIMIT ${AT_ONCE}`;

/** Has something follow from a message at `at`, epoch ms; what is known already stays. */
export function setDue(tx: Transaction, row: { pk: number; id: string }, due: Pick<Due, "kind" | "ref" | "at">): void {
  const sql = "INSERT OR IGNORE INTO broadcast_due (notification, kind, ref, at) VALUES (?, ?, ?, ?)";
  if (tx.run(sql, row.pk, due.kind, due.ref, due.at).changes === 0) return;
  tx.emit("notification.due", { notificationId: row.id });
}

/** Has follow at `at` what was to follow later, if at all, with what was decided about it. */
export function bringForward(
  tx: Transaction,
  row: { pk: number; id: string },
  { kind, ref, at }: Pick<Due, "kind" | "ref" | "at">,
  decided: string,
): void {
  tx.run(
    `INSERT INTO broadcast_due (notification, kind, ref, at, decided) VALUES (?, ?, ?, ?, ?)
     ON CONFLICT (notification, kind, ref) DO UPDATE SET at = min(at, excluded.at), decided = excluded.decided`,
    ...[row.pk, kind, ref, at, decided],
  );
  tx.emit("notification.due", { notificationId: row.id });
}

/** Has follow at `at` what was begun, unless something was decided about it meanwhile. */
export function putOff(tx: Transaction, { notification, kind, ref }: Due, at: number): void {
  const sql = "UPDATE broadcast_due SET at = ? WHERE notification = ? AND kind = ? AND ref = ? AND decided IS NULL";
  tx.run(sql, at, notification, kind, ref);
}

/** Takes what was due away; false when it is not there any more. */
export function takeDue(tx: Transaction, { notification, kind, ref }: Omit<Due, "at" | "decided">): boolean {
  const sql = "DELETE FROM broadcast_due WHERE notification = ? AND kind = ? AND ref = ?";
  return tx.run(sql, notification, kind, ref).changes === 1;
}

/** Keeps what was decided, for a crash between that and the deed. */
export function decideDue(tx: Transaction, { notification, kind, ref }: Due, decided: string): void {
  const sql = "UPDATE broadcast_due SET decided = ? WHERE notification = ? AND kind = ? AND ref = ?";
  tx.run(sql, decided, notification, kind, ref);
}

/** Makes the watch; nothing follows before `start`. */
export function createDueWatch({ store, clock, log, events, handlers }: DueNeeds): DueWatch {
  const busy = new Set<string>();
  const running = new Set<Promise<void>>();
  let timer: Timer | null = null;
  let state: "new" | "on" | "off" = "new";
  let willLook = false;

  const look = (): void => {
    if (state !== "on") return;
    timer?.cancel();
    const now = clock.now();
    for (const due of DUE_KINDS.flatMap((kind) => store.all<DueLine>(DUE, kind, now))) take(due);
    const delayMs = Math.min(LOOK_AGAIN_MS, (nextAt(store, now) ?? Number.POSITIVE_INFINITY) - now);
    timer = clock.after(delayMs, look, { background: true });
  };

  /** Whatever is told or done in one turn is followed by one look. */
  const lookSoon = (): void => {
    if (willLook) return;
    willLook = true;
    clock.soon(() => {
      willLook = false;
      look();
    });
  };

  const take = (due: Due): void => {
    const name = `${due.notification} ${due.kind} ${due.ref}`;
    if (busy.has(name)) return;
    busy.add(name);
    const release = (): void => {
      busy.delete(name);
      lookSoon();
    };
    const done = handlers[due.kind](due).then(release, (error: unknown) => {
      // What is stopped half-way goes on after the next start.
      if (state === "off") return;
      log.error({ err: error, notificationId: due.notificationId, kind: due.kind }, "what was due was not done");
      clock.after(TRY_AGAIN_MS, release, { background: true });
    });
    running.add(done);
    void done.finally(() => running.delete(done));
  };

  const forget = events.on("notification.due", lookSoon);
  return {
    start() {
      state = "on";
      look();
    },
    async stop() {
      state = "off";
      forget();
      timer?.cancel();
      await Promise.all(running);
    },
  };
}

function nextAt(reader: Reader, now: number): number | null {
  const sql = "SELECT min(at) AS at FROM broadcast_due WHERE kind = ? AND at > ?";
  const times = DUE_KINDS.map((kind) => reader.one<{ at: number | null }>(sql, kind, now)?.at ?? null);
  const ahead = times.filter((at) => at !== null);
  return ahead.length > 0 ? Math.min(...ahead) : null;
}
