import type { Clock } from "../base/clock.ts";
import { CallerError, TooManyRequests } from "../base/errors.ts";
import type { TextMessage, TextReply } from "../plugin-api/index.ts";
import userDevices from "../resources/people/user-devices.ts";
import type { By, Reader, Store, Sync } from "../store/store.ts";
import { addActivity } from "./activities.ts";
import type { Broadcaster } from "./broadcaster.ts";
import { type Campaigns, phoneOf } from "./campaigns.ts";
import { devicesOfNumber } from "./enrolment.ts";

/** What text replies are made of. */
export interface TextReplyNeeds {
  store: Store;
  clock: Clock;
  broadcaster: Pick<Broadcaster, "confirm">;
  campaigns: Pick<Campaigns, "join" | "leave">;
  /** On whose behalf devices are switched off and on. */
  by: By;
}

/** Takes text messages that people send. Throws invalid-value for a number that is none. */
export type TakeTextMessage = (message: TextMessage) => Promise<TextReply>;

/** Words that carriers and laws know; in any case. own choice: the German ones beside them */
const STOP = new Set(["STOP", "STOPALL", "UNSUBSCRIBE", "CANCEL", "END", "QUIT", "STOPP", "ABMELDEN"]);
const START = new Set(["START", "UNSTOP", "WEITER"]);
/** Nobody means an older question. own choice */
const ASKED_WITHIN_MS = 24 * 3_600_000;

interface Question {
  notificationId: string;
  /** Ids of the rows of recipients who share the number. */
  recipients: string[];
  options: string[];
}

/**
 * What somebody answers by a text message: STOP (all messages, or one list by its tag), START, an answer to the newest
 * question by its number or its words, or else a list's tag to join. own choice: STOP switches off the number's devices,
 * START switches them on; an answer counts for all recipients who share the number.
 */
export function createTextReplies({ store, clock, broadcaster, campaigns, by }: TextReplyNeeds): TakeTextMessage {
  const switchDevices = async (from: string, disabled: boolean): Promise<void> => {
    await store.write((tx) => {
      for (const { id } of devicesOfNumber(tx, from)) tx.update(userDevices, id, { disabled }, by);
      return undefined as Sync<undefined>;
    });
  };

  async function stop(from: string, tag: string): Promise<TextReply> {
    const lists = await campaigns.leave({ tag: tag === "" ? null : tag, from });
    if (tag !== "") return { kind: "left", lists };
    await switchDevices(from, true);
    return { kind: "stopped" };
  }

  async function answer({ notificationId, recipients }: Question, option: string): Promise<TextReply> {
    let told: string | null = null;
    for (const id of recipients) told = (await broadcaster.confirm("text", id, option)) ?? told;
    await store.write((tx) => void addActivity(tx, { notificationId, type: "sms-received", details: { option } }, by));
    return { kind: "answered", option, ...(told !== null && { told }) };
  }

  async function join(from: string, tag: string): Promise<TextReply> {
    const { outcome, listName: list, reply } = await campaigns.join({ tag, from });
    return outcome === "joined" ? { kind: "joined", list } : { kind: "inactive", list, text: reply };
  }

  async function take({ from, text }: TextMessage): Promise<TextReply> {
    const number = phoneOf(from);
    const said = text.trim();
    const [word = "", ...rest] = said.split(/\s+/);
    if (STOP.has(word.toUpperCase())) return stop(number, rest.join(" "));
    if (START.has(said.toUpperCase())) {
      await switchDevices(number, false);
      return { kind: "started" };
    }
    const question = newestQuestion(number, store, clock.now());
    const option = question && optionIn(question.options, said);
    return question && option ? answer(question, option) : join(number, said);
  }

  return async (message) => {
    try {
      return await take(message);
    } catch (error) {
      if (error instanceof TooManyRequests) return { kind: "refused", why: "too-many" };
      if (!(error instanceof CallerError) || error.type === "invalid-value") throw error;
      return error.type === "conflict" ? { kind: "refused", why: "too-late" } : { kind: "unknown" };
    }
  };
}

function newestQuestion(phone: string, reader: Reader, now: number): Question | null {
  const rows = reader.all<{ notificationId: string; recipient: string; options: string }>(
    `SELECT n.id AS notificationId, r.id AS recipient, c.options
     FROM notification_recipients r JOIN notifications n ON n.pk = r.notification_pk
       JOIN confirmation_requests c ON c.pk = n.confirmation_request_pk
     WHERE r.user_pk IN (SELECT value FROM json_each(?)) AND n.created_at > ? AND r.declined IS NOT 1 ORDER BY n.created_at DESC, n.pk DESC, r.pk`,
    JSON.stringify(devicesOfNumber(reader, phone).map(({ userPk }) => userPk)),
    now - ASKED_WITHIN_MS,
  );
  const [newest] = rows;
  if (!newest) return null;
  const { notificationId, options } = newest;
  const same = rows.filter((row) => row.notificationId === notificationId);
  const recipients = [...new Set(same.map(({ recipient }) => recipient))];
  return { notificationId, recipients, options: JSON.parse(options) as string[] };
}

/** An option by its number, counted from 1, or by its words in any case. */
function optionIn(options: readonly string[], said: string): string | null {
  const byNumber = /^\d{1,2}[.)]?$/.test(said) ? options[Number.parseInt(said, 10) - 1] : undefined;
  const wanted = said.toLocaleLowerCase();
  return byNumber ?? options.find((option) => option.toLocaleLowerCase() === wanted) ?? null;
}
