import type distributionLists from "../resources/lists/distribution-lists.ts";
import subscriptions from "../resources/people/subscriptions.ts";
import userDevices from "../resources/people/user-devices.ts";
import users from "../resources/people/users.ts";
import type { RowOf } from "../schema/resource.ts";
import type { ActorContext, StoreReader, Transaction } from "../store/store.ts";
import { isSamePhoneNumber } from "./phone-numbers.ts";

/** A person who joins a list; at least one of email and phone is set. */
export interface Enrollee {
  name: string | null;
  email: string | null;
  /** Digits; international numbers start with a plus. */
  phone: string | null;
}

/** Which of a person's addresses are known to be the person's. */
export interface ProvenContacts {
  email: boolean;
  phone: boolean;
}

type ListRow = RowOf<typeof distributionLists>;

const DAY_MS = 86_400_000;
/** Must match the declaration of users. */
const MAX_NAME_LENGTH = 140;

/**
 * Adds a person to a list in the open transaction. A user with the same email address, or else with an SMS device of
 * the same number, is reused unchanged; otherwise a self-registered account is created with a device for each given
 * contact. The subscription lasts for the campaign's days; one without an end date keeps it. Throws as `create` does.
 */
export function enrollPerson(
  tx: Transaction,
  list: ListRow,
  person: Enrollee,
  { by, now, proven }: { by: ActorContext; now: number; proven: ProvenContacts },
): { userId: string; subscriptionId: string; isNewcomer: boolean } {
  const userId = findPerson(tx, person) ?? createPerson(tx, list, person, { by, proven });
  return subscribeUser(tx, list, userId, { by, now });
}

/**
 * Subscribes a user to a list for the campaign's days; a subscription without an end, or with a later one, keeps it.
 * Throws as `create` does.
 */
export function subscribeUser(
  tx: Transaction,
  list: ListRow,
  userId: string,
  { by, now }: { by: ActorContext; now: number },
): { userId: string; subscriptionId: string; isNewcomer: boolean } {
  const days = list.campaign?.defaultNotificationDays ?? null;
  const end = days === null ? null : now + days * DAY_MS;
  const subscriptionEndDate = end === null ? null : new Date(end).toISOString();
  const known = tx.find(subscriptions, { userId, distributionListId: list.id }, 1)[0];
  if (!known) {
    const place = tx.create(subscriptions, { subscriptionEndDate }, by, { userId, distributionListId: list.id });
    return { userId, subscriptionId: place.id, isNewcomer: true };
  }
  const before = known.subscriptionEndDate;
  const isLonger = before !== null && (end === null || end > before);
  if (isLonger) tx.update(subscriptions, known.id, { subscriptionEndDate }, by);
  return { userId, subscriptionId: known.id, isNewcomer: before !== null && before <= now };
}

function findPerson(tx: StoreReader, { email, phone }: Enrollee): string | null {
  if (email !== null) {
    return tx.one<{ id: string }>("SELECT id FROM users WHERE email = ? COLLATE NOCASE", email)?.id ?? null;
  }
  return phone === null ? null : findUserBySmsNumber(tx, phone);
}

/** Owner of the oldest SMS device with this number. */
export function findUserBySmsNumber(reader: StoreReader, phone: string, country: string | null = null): string | null {
  const [oldest] = smsDevicesByNumber(reader, phone, country);
  return oldest?.userId ?? null;
}

/** An SMS device and its owner. */
export interface SmsDevice {
  id: string;
  userPk: number;
  userId: string;
}

const DEVICES = `SELECT d.id, d.user_pk AS userPk, u.id AS userId FROM user_devices d JOIN users u ON u.pk = d.user_pk`;
const BY_NUMBER = `${DEVICES} WHERE d.type = 'SMS' COLLATE NOCASE
  AND d.device_identifier COLLATE NOCASE IN (?, ?) AND d.awaits_verification IS NOT 1 ORDER BY d.pk`;
/** Numbers in other spellings with the same last digits; the first condition keeps most rows from being rewritten. */
const BY_LAST_DIGITS = `SELECT d.id, d.user_pk AS userPk, u.id AS userId, d.device_identifier AS spelling
  FROM user_devices d JOIN users u ON u.pk = d.user_pk
  WHERE d.type = 'SMS' COLLATE NOCASE AND d.awaits_verification IS NOT 1 AND d.device_identifier LIKE '%' || ? || '%'
  AND replace(replace(replace(replace(replace(d.device_identifier, ' ', ''), '-', ''), '/', ''), '.', ''), ')', '')
    LIKE '%' || ? || '%' ORDER BY d.pk LIMIT 100`;
const COMPARED_DIGITS = 6;

/**
 * The SMS devices of a number in any spelling, oldest first. Looks for the exact number first, with or without the
 * international plus, which uses the index; only if none matches, for other spellings. `country` is that of national
 * numbers; null: that of the number.
 */
export function smsDevicesByNumber(reader: StoreReader, phone: string, country: string | null = null): SmsDevice[] {
  const digits = phone.replace(/^\+/, "");
  const spellings = [digits, `+${digits}`] as const;
  const found = reader.all<SmsDevice>(BY_NUMBER, ...spellings);
  if (found.length > 0) return found;
  const last = digits.slice(-COMPARED_DIGITS);
  return reader
    .all<SmsDevice & { spelling: string }>(BY_LAST_DIGITS, last.slice(-2), last)
    .filter(({ spelling }) => isSamePhoneNumber(spelling, phone, country))
    .map(({ id, userPk, userId }) => ({ id, userPk, userId }));
}

/** A person without an email address becomes an anonymous user named by the number. */
function createPerson(
  tx: Transaction,
  list: ListRow,
  { name, email, phone }: Enrollee,
  { by, proven }: { by: ActorContext; proven: ProvenContacts },
): string {
  const input = {
    name: (name || email || phone)?.slice(0, MAX_NAME_LENGTH),
    email,
    type: email === null ? "anonymous" : "regular",
  };
  const system = { selfRegistered: true, source: "self-registered", domainId: list.domainId } as const;
  const { id: userId } = tx.create(users, input, by, system);
  const contacts = [
    ["email", email, proven.email],
    ["SMS", phone, proven.phone],
  ] as const;
  for (const [type, deviceIdentifier, verified] of contacts) {
    if (deviceIdentifier !== null)
      tx.create(userDevices, { userId, type, name: deviceIdentifier, deviceIdentifier, verified }, by);
  }
  return userId;
}
