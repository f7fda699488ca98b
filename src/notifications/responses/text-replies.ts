import type { Clock } from "../../lib/clock.ts";
import { CallerError, TooManyRequestsError } from "../../lib/errors.ts";
import type { Campaigns } from "../../people/campaigns.ts";
import { smsDevicesByNumber } from "../../people/enrollment.ts";
import { parsePhoneNumber } from "../../people/phone-numbers.ts";
import type { TextMessage, TextReply } from "../../plugin-api/index.ts";
import userDevices from "../../resources/people/user-devices.ts";
import type { ActorContext, Store, StoreReader, Sync } from "../../store/store.ts";
import { addActivity } from "../engine/activity-log.ts";
import type { NotificationService } from "../notification-service.ts";
import { normalizeText, textKeyword } from "./text-keywords.ts";

export interface TextReplyDeps {
  store: Store;
  clock: Clock;
  notificationService: Pick<NotificationService, "recordChannelAnswer">;
  campaigns: Pick<Campaigns, "joinByText" | "leaveByText">;
  /** The actor that disables and enables devices. */
  by: ActorContext;
  /** ISO 3166 code of national numbers; null or absent if not configured. */
  country?: string | null;
}

/** Processes incoming text messages. Throws invalid-value for an invalid number. */
export type TextMessageHandler = (message: TextMessage) => Promise<TextReply>;

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
 * number or text, a list's tag to join, or else HELP. STOP disables the number's devices, START enables them; an answer
 * counts for all recipients who share the number. @source docs/decisions/0102-responses.md, Text replies
 */
export function createTextMessageHandler({
  store,
  clock,
  notificationService,
  campaigns,
  by,
  country = null,
}: TextReplyDeps): TextMessageHandler {
  const setDevicesDisabled = async (from: string, disabled: boolean): Promise<void> => {
    await store.write((tx) => {
      for (const { id } of smsDevicesByNumber(tx, from, country)) tx.update(userDevices, id, { disabled }, by);
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
    const number = parsePhoneNumber(from, "from", country);
    const trimmed = text.trim();
    const keyword = textKeyword(trimmed);
    const question = newestQuestion(number, store, clock.now(), country);
    const option = question && matchOption(question.options, trimmed);
    // "Cancel" or "Help" may be the answer to a question; "stop" never is.
    if (question && option && !keyword?.isStrict) return answer(question, option);
    if (keyword?.kind === "stop") return stop(number, keyword.rest);
    if (keyword?.kind === "start") {
      await setDevicesDisabled(number, false);
      return { kind: "started" };
    }
    if (keyword?.kind === "help") return join(number, trimmed).catch(helpUnlessJoined);
    return join(number, trimmed);
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

/** A list may have the tag of a keyword, such as INFO. */
function helpUnlessJoined(error: unknown): TextReply {
  if (error instanceof CallerError && error.type === "not-found") return { kind: "help" };
  throw error;
}

function newestQuestion(phone: string, reader: StoreReader, now: number, country: string | null): OpenQuestion | null {
  const rows = reader.all<{ notificationId: string; recipient: string; options: string }>(
    `SELECT n.id AS notificationId, r.id AS recipient, c.options
     FROM notification_recipients r JOIN notifications n ON n.pk = r.notification_pk
       JOIN confirmation_requests c ON c.pk = n.confirmation_request_pk
     WHERE r.user_pk IN (SELECT value FROM json_each(?)) AND n.created_at > ? AND r.declined IS NOT 1 ORDER BY n.created_at DESC, n.pk DESC, r.pk`,
    JSON.stringify(smsDevicesByNumber(reader, phone, country).map(({ userPk }) => userPk)),
    now - ANSWER_WINDOW_MS,
  );
  const [newest] = rows;
  if (!newest) return null;
  const { notificationId, options } = newest;
  const same = rows.filter((row) => row.notificationId === notificationId);
  const recipients = [...new Set(same.map(({ recipient }) => recipient))];
  return { notificationId, recipients, options: JSON.parse(options) as string[] };
}

/** An option by its number, counted from 1, or by its text in any case and with any punctuation around it. */
function matchOption(options: readonly string[], trimmed: string): string | null {
  const [, digits] = /^[("'„“]?\s*(\d{1,2})\s*[.):!"'”“]*$/.exec(trimmed) ?? [];
  const byNumber = digits === undefined ? undefined : options[Number(digits) - 1];
  const normalized = normalizeText(trimmed);
  return byNumber ?? options.find((option) => normalized !== "" && normalizeText(option) === normalized) ?? null;
}
