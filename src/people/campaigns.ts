import { type AttemptThrottle, createAttemptThrottle } from "../auth/attempt-throttle.ts";
import { signLink, verifyLink } from "../auth/signed-links.ts";
import type { Clock } from "../lib/clock.ts";
import { invalidValue, notFound, requiredValue, TooManyRequestsError, validationError } from "../lib/errors.ts";
import type { Log } from "../lib/log.ts";
import type { SentenceLanguage } from "../lib/sentences/sentences.ts";
import distributionLists from "../resources/lists/distribution-lists.ts";
import subscriptions from "../resources/people/subscriptions.ts";
import users from "../resources/people/users.ts";
import type { RowOf } from "../schema/resource.ts";
import { compileValidator } from "../schema/validator.ts";
import type { ActorContext, Store, Sync } from "../store/store.ts";
import type { ContactProofStep, ContactProofs, PendingJoin } from "./contact-proofs.ts";
import { type Enrollee, enrollPerson, findUserBySmsNumber, type ProvenContacts } from "./enrollment.ts";
import { type PhoneNumberPolicy, phoneNumberProblem } from "./phone-number-policy.ts";
import { parsePhoneNumber } from "./phone-numbers.ts";

export interface CampaignDeps {
  store: Store;
  clock: Clock;
  log: Log;
  /** Sends the welcome message; named by its shape, since `notifications` is a higher layer. */
  notificationService: {
    send(
      input: Record<string, unknown>,
      by: ActorContext,
      options: { idempotencyKey: null; requestSha: string; source: "unknown-source" },
    ): Promise<unknown>;
  };
  /** Proves addresses before they count. */
  contactProofs: ContactProofs;
  /** The actor of enrolments. */
  by: ActorContext;
  /** Base URL of the appliance. */
  baseUrl(): string;
  /** ISO 3166 code of national numbers; null or absent if not configured. */
  country?: string | null;
  /** Telephone numbers that visitors may enter. */
  policy: PhoneNumberPolicy;
}

/** A self-service list, as anonymous visitors may see it. */
export interface PublicListInfo {
  id: string;
  name: string;
  /** False once the enrolment has ended. */
  isOpen: boolean;
  /** Text for those who come after the end of enrolment; null when none is set. */
  inactiveMessage: string | null;
}

/** Result of an attempt to join. */
export interface JoinResult {
  /** `pending`: an address must be proven first, as `step` says. */
  outcome: "joined" | "inactive" | "pending";
  listName: string;
  step?: ContactProofStep;
  /** Text for those who come after the end of enrolment. The welcome message is sent separately. */
  reply: string | null;
}

/**
 * Self-service enrolment: people join lists and leave them. @source docs/decisions/0005-users-and-devices.md, Campaign
 */
export interface Campaigns {
  /** Null for a list that does not exist, has no campaign or is not self-service. */
  find(listId: string): PublicListInfo | null;
  /**
   * Adds a person to a list. The result does not reveal whether the person was known. Throws not-found, required,
   * invalid-value, limit-exceeded, UpstreamError when a message that proves an address cannot be sent,
   * TooManyRequestsError after ten attempts from one address.
   */
  joinList(listId: string, person: Enrollee, address: string | null, language?: SentenceLanguage): Promise<JoinResult>;
  /** A join that waits for a mailed link or a code; null for a link that is invalid or too old. */
  findPendingJoin(token: string): { join: PendingJoin; needsCode: boolean } | null;
  /**
   * Goes on with a mailed link or a code: the next address is proven, or the person joins. Throws not-found for an invalid
   * link, invalid-value on `code`, and as `joinList`.
   */
  confirmJoin(token: string, code: string | null): Promise<JoinResult>;
  /**
   * Joins by text message: `tag` is the list's subscribeTag in any case, `from` the sender's number. If several lists
   * share the tag, the oldest counts. Throws not-found for an unknown tag, and as `joinList`.
   */
  joinByText(message: { tag: string; from: string }): Promise<JoinResult>;
  /** Leaves by text message; without a tag it leaves all lists with a campaign. Returns the names of the lists left. */
  leaveByText(message: { tag: string | null; from: string }): Promise<string[]>;
  /** The list of an unsubscribe link; null for an invalid link. `isOn` is false once the person has left. */
  findListByLink(token: string): { name: string; isOn: boolean } | null;
  /** Removes the holder of the link from its list; repeating it has no effect. Throws not-found. */
  leaveByLink(token: string): Promise<void>;
}

type ListRow = RowOf<typeof distributionLists>;

/** Many people may share one address. */
const ATTEMPT_LIMIT = { freeAttempts: 10, initialDelayMs: 60_000, maxDelayMs: 3_600_000 };
const MAX_BODY_LENGTH = 10_000;

const EMAIL_CHECKER = compileValidator({ email: users.fields.email });

/** Creates the campaigns; attempts are counted in memory. */
export function createCampaigns(deps: CampaignDeps): Campaigns {
  const { store, clock, by, contactProofs } = deps;
  const attempts = createAttemptThrottle(clock, ATTEMPT_LIMIT);

  /** The next proof, or the enrolment when all is proven. */
  async function proceed(
    list: ListRow,
    join: Omit<PendingJoin, "listName">,
    proven: ProvenContacts,
  ): Promise<JoinResult> {
    const open = toPublicListInfo(list, clock.now());
    if (!open.isOpen) return { outcome: "inactive", listName: list.name, reply: open.inactiveMessage };
    const step = await contactProofs.next({ ...join, listName: list.name }, proven);
    return step ? { outcome: "pending", listName: list.name, reply: null, step } : joinAs(list, join.person, proven);
  }

  async function joinAs(list: ListRow, person: Enrollee, proven: ProvenContacts): Promise<JoinResult> {
    const open = toPublicListInfo(list, clock.now());
    if (!open.isOpen) return { outcome: "inactive", listName: list.name, reply: open.inactiveMessage };
    const done = await store.write(
      (tx) => enrollPerson(tx, list, person, { by, proven, now: clock.now() }) as Sync<Enrollment>,
    );
    if (done.isNewcomer) await sendWelcome(list, done, deps);
    return { outcome: "joined", listName: list.name, reply: null };
  }

  const subscriptionOf = (token: string): { id: string; row: RowOf<typeof subscriptions> | null } | null => {
    const id = verifyLink("leave", token, store);
    return id === null ? null : { id, row: store.get(subscriptions, id) };
  };

  return {
    find(listId) {
      const list = joinableList(store.get(distributionLists, listId));
      return list && toPublicListInfo(list, clock.now());
    },
    async joinList(listId, person, address, language = "en") {
      recordAttempt(attempts, `address ${address ?? ""}`);
      const list = joinableList(store.get(distributionLists, listId));
      if (!list) throw notFound();
      if (!person.email && !person.phone) throw requiredValue("email");
      const { faults } = EMAIL_CHECKER.validate({ email: person.email }, "update");
      if (faults.length > 0) throw validationError(faults);
      requireAllowedNumber(person.phone, "phone", deps.policy);
      return proceed(list, { listId, person, language }, { email: false, phone: false });
    },
    findPendingJoin: contactProofs.read,
    async confirmJoin(token, code) {
      const { join, proven } = contactProofs.redeem(token, code);
      const list = joinableList(store.get(distributionLists, join.listId));
      if (!list) throw notFound();
      return proceed(list, join, proven);
    },
    async joinByText({ tag, from }) {
      const phone = parsePhoneNumber(from, "from", deps.country);
      recordAttempt(attempts, `number ${phone}`);
      const list = listByTag(tag, store);
      if (!list) throw notFound();
      if (toPublicListInfo(list, clock.now()).isOpen) requireAllowedNumber(phone, "from", deps.policy);
      // The sender of a text message has its number.
      return joinAs(list, { name: null, email: null, phone }, { email: false, phone: true });
    },
    async leaveByText({ tag, from }) {
      const list = tag === null ? null : listByTag(tag, store);
      if (tag !== null && !list) throw notFound();
      return store.write((tx) => {
        const userId = findUserBySmsNumber(tx, parsePhoneNumber(from, "from", deps.country), deps.country);
        const own = userId === null ? [] : tx.find(subscriptions, { userId });
        const left = own.flatMap((subscription) => {
          const place = joinableList(tx.get(distributionLists, subscription.distributionListId));
          if (!place || (list && place.id !== list.id)) return [];
          tx.remove(subscriptions, subscription.id, by);
          return [place.name];
        });
        return left as Sync<string[]>;
      });
    },
    findListByLink(token) {
      const found = subscriptionOf(token);
      if (!found) return null;
      const list = found.row && store.get(distributionLists, found.row.distributionListId);
      return { name: list?.name ?? "", isOn: list !== null };
    },
    async leaveByLink(token) {
      const found = subscriptionOf(token);
      if (!found) throw notFound();
      await store.write((tx) => {
        if (tx.get(subscriptions, found.id)) tx.remove(subscriptions, found.id, by);
      });
    },
  };
}

function requireAllowedNumber(phone: string | null, field: string, policy: PhoneNumberPolicy): void {
  const problem = phone ? phoneNumberProblem(phone, policy) : null;
  if (problem !== null) throw invalidValue(field, problem);
}

type Enrollment = ReturnType<typeof enrollPerson>;

function recordAttempt(attempts: AttemptThrottle, key: string): void {
  const seconds = attempts.begin(key);
  if (seconds > 0) throw new TooManyRequestsError(seconds);
}

function joinableList(list: ListRow | null): ListRow | null {
  return list?.isSubscribable && list.campaign ? list : null;
}

function toPublicListInfo({ id, name, campaign }: ListRow, now: number): PublicListInfo {
  const end = campaign?.enrollmentEndDate ?? null;
  return { id, name, isOpen: end === null || now < end, inactiveMessage: campaign?.inactiveMessage ?? null };
}

function listByTag(tag: string, store: Store): ListRow | null {
  const normalized = tag.trim();
  if (normalized === "") return null;
  const found = store.one<{ pk: number }>(
    `SELECT pk FROM distribution_lists WHERE is_subscribable = 1 AND campaign IS NOT NULL
       AND json_extract(campaign, '$.subscribeTag') = ? COLLATE NOCASE ORDER BY pk LIMIT 1`,
    normalized,
  );
  return found && store.getByPk(distributionLists, found.pk);
}

/** Sends the welcome message with the unsubscribe link. A failure does not undo the enrolment. */
async function sendWelcome(list: ListRow, { userId, subscriptionId }: Enrollment, deps: CampaignDeps): Promise<void> {
  const text = list.campaign?.welcomeMessage ?? null;
  if (text === null || text === "") return;
  const link = `\n\n${deps.baseUrl()}/leave/${signLink("leave", subscriptionId, deps.store)}`;
  const body = [...text].slice(0, MAX_BODY_LENGTH - link.length).join("") + link;
  // No documented source fits.
  const options = { idempotencyKey: null, requestSha: "", source: "unknown-source" } as const;
  try {
    await deps.notificationService.send({ subject: list.name, body, userIds: [userId] }, deps.by, options);
  } catch (error) {
    deps.log.error(
      { event: "campaign.welcome_failed", err: error, distributionListId: list.id },
      "Welcome message could not be sent.",
    );
  }
}
