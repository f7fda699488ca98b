import type { Clock } from "../../lib/clock.ts";
import { CallerError, TooManyRequestsError } from "../../lib/errors.ts";
import { type Campaigns, parsePhoneNumber } from "../../people/campaigns.ts";
import { smsDevicesByNumber } from "../../people/enrollment.ts";
import type { TextMessage, TextReply } from "../../plugin-api/index.ts";
import userDevices from "../../resources/people/user-devices.ts";
import type { ActorContext, Store, StoreReader, Sync } from "../../store/store.ts";
import { addActivity } from "../engine/activity-log.ts";
import type { NotificationService } from "../notification-service.ts";

export interface TextReplyDeps {
  store: Store;
  clock: Clock;
  notificationService: Pick<NotificationService, "recordChannelAnswer">;
  campaigns: Pick<Campaigns, "joinByText" | "leaveByText">;
  /** The actor that disables and enables devices. */
  by: ActorContext;
}

/** Processes incoming text messages. Throws invalid-value for an invalid number. */
export type TextMessageHandler = (message: TextMessage) => Promise<TextReply>;

/** Keywords of carriers and laws, in any case, with German ones. */
const STOP_KEYWORDS = new Set(["STOP", "STOPALL", "UNSUBSCRIBE", "CANCEL", "END", "QUIT", "STOPP", "ABMELDEN"]);
const START_KEYWORDS = new Set(["START", "UNSTOP", "WEITER"]);
/** An answer to an older question is not assumed. */
const ANSWER_WINDOW_MS = 24 * 3_600_000;

interface OpenQuestion {
  notificationId: string;
  /** Ids of the rows of recipients who share the number. */
  recipients: string[];
  options: string[];
}

/**
 * Handles a text message: STOP (all messages, or one list by its tag), START, an answer to the newest question by its
 * number or text, or else a list's tag to join. STOP disables the number's devices, START enables them; an answer
 * counts for all recipients who share the number. @source docs/decisions/0102-responses.md, Text replies
 */
export function createTextMessageHandler({
  store,
  clock,
  notificationService,
  campaigns,
  by,
}: TextReplyDeps): TextMessageHandler {
  const setDevicesDisabled = async (from: string, disabled: boolean): Promise<void> => {
    await store.write((tx) => {
      for (const { id } of smsDevicesByNumber(tx, from)) tx.update(userDevices, id, { disabled }, by);
      return undefined as Sync<undefined>;
    });
  };

  async function stop(from: string, tag: string): Promise<TextReply> {
    const lists = await campaigns.leaveByText({ tag: tag === "" ? null : tag, from });
    if (tag !== "") return { kind: "left", lists };
    await setDevicesDisabled(from, true);
    return { kind: "stopped" };
  }

  async function answer({ notificationId, recipients }: OpenQuestion, option: string): Promise<TextReply> {
    let reply: string | null = null;
    for (const id of recipients) reply = (await notificationService.recordChannelAnswer("text", id, option)) ?? reply;
    await store.write((tx) => void addActivity(tx, { notificationId, type: "sms-received", details: { option } }, by));
    return { kind: "answered", option, ...(reply !== null && { told: reply }) };
  }

  async function join(from: string, tag: string): Promise<TextReply> {
    const { outcome, listName: list, reply } = await campaigns.joinByText({ tag, from });
    return outcome === "joined" ? { kind: "joined", list } : { kind: "inactive", list, text: reply };
  }

  async function handle({ from, text }: TextMessage): Promise<TextReply> {
    const number = parsePhoneNumber(from);
    const trimmed = text.trim();
    const [word = "", ...rest] = trimmed.split(/\s+/);
    if (STOP_KEYWORDS.has(word.toUpperCase())) return stop(number, rest.join(" "));
    if (START_KEYWORDS.has(trimmed.toUpperCase())) {
      await setDevicesDisabled(number, false);
      return { kind: "started" };
    }
    const question = newestQuestion(number, store, clock.now());
    const option = question && matchOption(question.options, trimmed);
    return question && option ? answer(question, option) : join(number, trimmed);
  }

  return async (message) => {
    try {
      return await handle(message);
    } catch (error) {
      if (error instanceof TooManyRequestsError) return { kind: "refused", why: "too-many" };
      if (!(error instanceof CallerError) || error.type === "invalid-value") throw error;
      return error.type === "conflict" ? { kind: "refused", why: "too-late" } : { kind: "unknown" };
    }
  };
}

function newestQuestion(phone: string, reader: StoreReader, now: number): OpenQuestion | null {
  const rows = reader.all<{ notificationId: string; recipient: string; options: string }>(
    `SELECT n.id AS notificationId, r.id AS recipient, c.options
     FROM notification_recipients r JOIN notifications n ON n.pk = r.notification_pk
       JOIN confirmation_requests c ON c.pk = n.confirmation_request_pk
     WHERE r.user_pk IN (SELECT value FROM json_each(?)) AND n.created_at > ? AND r.declined IS NOT 1 ORDER BY n.created_at DESC, n.pk DESC, r.pk`,
    JSON.stringify(smsDevicesByNumber(reader, phone).map(({ userPk }) => userPk)),
    now - ANSWER_WINDOW_MS,
  );
  const [newest] = rows;
  if (!newest) return null;
  const { notificationId, options } = newest;
  const same = rows.filter((row) => row.notificationId === notificationId);
  const recipients = [...new Set(same.map(({ recipient }) => recipient))];
  return { notificationId, recipients, options: JSON.parse(options) as string[] };
}

/** An option by its number, counted from 1, or by its text in any case. */
function matchOption(options: readonly string[], trimmed: string): string | null {
  const byNumber = /^\d{1,2}[.)]?$/.test(trimmed) ? options[Number.parseInt(trimmed, 10) - 1] : undefined;
  const normalized = trimmed.toLocaleLowerCase();
  return byNumber ?? options.find((option) => option.toLocaleLowerCase() === normalized) ?? null;
}
