import { setTimeout as pause } from "node:timers/promises";
import { CallerError } from "../../../src/lib/errors.ts";
import type { RandomSource } from "../../sim/seeded-random.ts";
import type { FieldMember } from "./members.ts";

/** A row that one writer alone writes. */
export interface WriterRow {
  path: string;
  id: string;
  /** Its name by the last write that was answered; null once its removal was. */
  name: string | null;
  /** What writes whose answer never came may have made of it since; null for a removal. */
  maybe: (string | null)[];
}

/** What a writer did. */
export interface WriterResult {
  at: string;
  answered: number;
  /** Requests whose answer never came. */
  unanswered: number;
  /** Requests that were refused, in words; there should be none. */
  refused: string[];
  rows: WriterRow[];
  /** Messages that were sent at an appliance, by their ids. */
  sent: string[];
}

/** What a writer is made of. */
export interface FieldWriterDeps {
  member: FieldMember;
  name: string;
  dice: RandomSource;
  /** Ids of sites that all writers change at once. */
  shared: readonly string[];
  /** Id of a device that the appliance's own messages go to; null for the cloud. */
  device: string | null;
}

const PAUSE_MS = 60;
const MAX_ROWS = 30;
/** Names are never told from each other by more than these. */
const KINDS = [
  { path: "/device-groups", body: { filterType: "REJECT" } },
  { path: "/sites", body: {} },
  { path: "/distribution-lists", body: {} },
  { path: "/message-templates", body: { subject: "Drill" } },
] as const;
const OF_CLOUD = { path: "/users", body: { type: "anonymous" } } as const;

/** Writes by REST, one request after another, until it is stopped. */
export function startWriter(needs: FieldWriterDeps): { stop(): Promise<WriterResult> } {
  const { member, name, dice, device, shared } = needs;
  const { api } = member;
  const done: WriterResult = { at: member.name, answered: 0, unanswered: 0, refused: [], rows: [], sent: [] };
  const kinds = device === null ? [...KINDS, OF_CLOUD] : KINDS;
  let number = 0;
  let isStopped = false;

  /** Undefined where no answer came, or a refusal. */
  async function ask<T>(call: () => Promise<T>): Promise<T | undefined> {
    try {
      const answer = await call();
      done.answered += 1;
      return answer;
    } catch (error) {
      if (error instanceof CallerError) done.refused.push(error.message);
      else done.unanswered += 1;
      return undefined;
    }
  }

  const nextName = (): string => {
    number += 1;
    return `${name} ${number}`;
  };
  const living = (path: string): WriterRow[] => done.rows.filter((row) => row.path === path && row.name !== null);

  async function create({ path, body }: (typeof kinds)[number]): Promise<void> {
    const called = nextName();
    const made = await ask(() => api.post<{ id: string }>(path, { ...body, name: called }));
    if (made) done.rows.push({ path, id: made.id, name: called, maybe: [] });
  }

  async function change(row: WriterRow): Promise<void> {
    const called = nextName();
    row.maybe.push(called);
    if (await ask(() => api.put(`${row.path}/${row.id}`, { name: called })))
      Object.assign(row, { name: called, maybe: [] });
  }

  async function remove(row: WriterRow): Promise<void> {
    row.maybe.push(null);
    if (await ask(() => member.remove(`${row.path}/${row.id}`))) Object.assign(row, { name: null, maybe: [] });
  }

  async function act(): Promise<void> {
    const roll = dice.next();
    if (device !== null && roll < 0.05) {
      const body = { subject: nextName(), alertTone: "chime", additionalDeviceIds: [device] };
      const made = await ask(() => api.post<{ id: string }>("/notifications", body));
      if (made) done.sent.push(made.id);
    } else if (roll < 0.2) {
      const field = dice.pick(["latitude", "longitude"] as const);
      await ask(() => api.put(`/sites/${dice.pick(shared)}`, { [field]: dice.below(90) }));
    } else {
      const kind = dice.pick(kinds);
      // What may be gone is left alone.
      const own = living(kind.path).filter(({ maybe }) => !maybe.includes(null));
      if (own.length >= MAX_ROWS || (own.length > 0 && roll > 0.9)) await remove(dice.pick(own));
      else if (own.length > 0 && roll > 0.5) await change(dice.pick(own));
      else await create(kind);
    }
  }

  const running = (async () => {
    while (!isStopped) {
      if (member.state === "down") await pause(PAUSE_MS * 5);
      else await act();
      await pause(PAUSE_MS);
    }
  })();
  return {
    async stop() {
      isStopped = true;
      await running;
      return done;
    },
  };
}
