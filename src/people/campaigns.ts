import { type AttemptThrottle, createAttemptThrottle } from "../auth/attempt-throttle.ts";
import { signLink, verifyLink } from "../auth/signed-links.ts";
import type { Clock } from "../lib/clock.ts";
import { invalidValue, notFound, requiredValue, TooManyRequestsError } from "../lib/errors.ts";
import type { Log } from "../lib/log.ts";
import distributionLists from "../resources/lists/distribution-lists.ts";
import subscriptions from "../resources/people/subscriptions.ts";
import type { RowOf } from "../schema/resource.ts";
import type { ActorContext, Store, Sync } from "../store/store.ts";
import { type Enrollee, enrollPerson, findUserBySmsNumber } from "./enrollment.ts";

/** What campaigns are made of. */
export interface CampaignDeps {
  store: Store;
  clock: Clock;
  log: Log;
  /** Sends the welcome message; `notifications` lies above this module, so it is named by its shape. */
  notificationService: {
    send(
      input: Record<string, unknown>,
      by: ActorContext,
      options: { idempotencyKey: null; requestSha: string; source: "unknown-source" },
    ): Promise<unknown>;
  };
  /** On whose behalf people are enrolled. */
  by: ActorContext;
  /** Where the appliance is reached. */
  baseUrl(): string;
}

/** A list that people may join by themselves, as strangers may see it. */
export interface PublicListInfo {
  id: string;
  name: string;
  /** False once the enrolment has ended. */
  isOpen: boolean;
  /** What whoever comes too late is told; null when nothing was written. */
  inactiveMessage: string | null;
}

/** What came of an attempt to join. */
export interface JoinResult {
  outcome: "joined" | "inactive";
  listName: string;
  /** What whoever comes too late is told. A welcome goes out as a message of its own. */
  reply: string | null;
}

/** People who put themselves on lists, and take themselves off. @source decisions.md 5, Campaign */
export interface Campaigns {
  /** Null for a list that is not there, has no campaign or is not open to self-service. */
  find(listId: string): PublicListInfo | null;
  /**
   * Puts a person on a list. Nobody learns by the answer whether the person was known. Throws not-found, required,
   * invalid-value, limit-exceeded, TooManyRequests after ten attempts from one address.
   */
  joinList(listId: string, person: Enrollee, address: string | null): Promise<JoinResult>;
  /**
   * A joining text message: `tag` is the list's subscribeTag in any case, `from` the sender's number. Throws not-found
   * for an unknown tag, and as `joinList`. own choice: of several lists with one tag the oldest counts.
   */
  joinByText(message: { tag: string; from: string }): Promise<JoinResult>;
  /** A leaving text message; without a tag it leaves all lists with a campaign. Returns the names of the lists left. */
  leaveByText(message: { tag: string | null; from: string }): Promise<string[]>;
  /** The list that a leaving link is for; null for a text that is none of ours. `isOn` is false once it was left. */
  findListByLink(token: string): { name: string; isOn: boolean } | null;
  /** Takes whom the link is for off its list; does nothing when that was done. Throws not-found. */
  leaveByLink(token: string): Promise<void>;
}

type ListRow = RowOf<typeof distributionLists>;

/** own choice: many people may share one address. */
const ATTEMPT_LIMIT = { freeAttempts: 10, initialDelayMs: 60_000, maxDelayMs: 3_600_000 };
const LONGEST_BODY = 10_000;

/** Makes the campaigns; attempts are counted as long as the process runs. */
export function createCampaigns(needs: CampaignDeps): Campaigns {
  const { store, clock, by } = needs;
  const attempts = createAttemptThrottle(clock, ATTEMPT_LIMIT);

  async function joinAs(list: ListRow, person: Enrollee): Promise<JoinResult> {
    const open = toPublicListInfo(list, clock.now());
    if (!open.isOpen) return { outcome: "inactive", listName: list.name, reply: open.inactiveMessage };
    const done = await store.write(
      (tx) => enrollPerson(tx, list, person, { by, now: clock.now() }) as Sync<Enrollment>,
    );
    if (done.isNewcomer) await sendWelcome(list, done, needs);
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
    async joinList(listId, person, address) {
      recordAttempt(attempts, `address ${address ?? ""}`);
      const list = joinableList(store.get(distributionLists, listId));
      if (!list) throw notFound();
      if (!person.email && !person.phone) throw requiredValue("email");
      return joinAs(list, person);
    },
    async joinByText({ tag, from }) {
      const phone = parsePhoneNumber(from);
      recordAttempt(attempts, `number ${phone}`);
      const list = listByTag(tag, store);
      if (!list) throw notFound();
      return joinAs(list, { name: null, email: null, phone });
    },
    async leaveByText({ tag, from }) {
      const list = tag === null ? null : listByTag(tag, store);
      if (tag !== null && !list) throw notFound();
      return store.write((tx) => {
        const userId = findUserBySmsNumber(tx, parsePhoneNumber(from));
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
  const wanted = tag.trim();
  if (wanted === "") return null;
  const found = store.one<{ pk: number }>(
    `SELECT pk FROM distribution_lists WHERE is_subscribable = 1 AND campaign IS NOT NULL
       AND json_extract(campaign, '$.subscribeTag') = ? COLLATE NOCASE ORDER BY pk LIMIT 1`,
    wanted,
  );
  return found && store.getByPk(distributionLists, found.pk);
}

/** A telephone number without blanks and signs between its digits. Throws invalid-value for what is none. */
export function parsePhoneNumber(text: string, field = "from"): string {
  const phone = text.replace(/[\s()./-]/g, "");
  if (!/^\+?\d{3,15}$/.test(phone)) throw invalidValue(field, "A telephone number such as +49 30 123456 is expected.");
  return phone;
}

/** Sends the welcome as a message of its own; it says where to leave the list. A welcome that fails keeps nobody out. */
async function sendWelcome(list: ListRow, { userId, subscriptionId }: Enrollment, needs: CampaignDeps): Promise<void> {
  const text = list.campaign?.welcomeMessage ?? null;
  if (text === null || text === "") return;
  const link = `\n\n${needs.baseUrl()}/leave/${signLink("leave", subscriptionId, needs.store)}`;
  const body = [...text].slice(0, LONGEST_BODY - link.length).join("") + link;
  // own choice: nothing among the documented sources fits.
  const options = { idempotencyKey: null, requestSha: "", source: "unknown-source" } as const;
  try {
    await needs.notificationService.send({ subject: list.name, body, userIds: [userId] }, needs.by, options);
  } catch (error) {
    needs.log.error({ err: error, distributionListId: list.id }, "a welcome was not sent");
  }
}
