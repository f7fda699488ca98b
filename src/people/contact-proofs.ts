import { randomInt } from "node:crypto";
import type { AccountMessageSender } from "../auth/account-mails.ts";
import { createAttemptThrottle } from "../auth/attempt-throttle.ts";
import { createMessageLimits } from "../auth/message-limits.ts";
import { signLink, verifyLink } from "../auth/signed-links.ts";
import { hashToken } from "../auth/tokens.ts";
import type { Clock } from "../lib/clock.ts";
import { invalidValue, notFound, TooManyRequestsError, UpstreamError } from "../lib/errors.ts";
import { CORE_CATALOGUE, type SentenceLanguage, sentence } from "../lib/sentences/sentences.ts";
import type { Store } from "../store/store.ts";
import type { Enrollee, ProvenContacts } from "./enrollment.ts";

/** A person who has asked to join a list and has not proven every address yet. */
export interface PendingJoin {
  listId: string;
  listName: string;
  person: Enrollee;
  language: SentenceLanguage;
}

/** What a person must do next: open the link of a mail, or type the code of a text message together with `token`. */
export type ContactProofStep = { kind: "mail" } | { kind: "code"; token: string };

/** Channels that can prove an address. */
export interface ContactChannels {
  mail: AccountMessageSender;
  text: AccountMessageSender;
}

/** Dependencies of the proofs. */
export interface ContactProofDeps {
  store: Pick<Store, "secrets">;
  clock: Clock;
  channels: ContactChannels;
  /** Base URL of the appliance. */
  baseUrl(): string;
}

/**
 * Proofs that addresses belong to the person who enters them: a mailed link and a code by text message, one after the
 * other. Nothing is stored before: the link and the token of the code carry the entered values, sealed.
 * @source docs/decisions/0477-proof-of-contacts.md
 */
export interface ContactProofs {
  /**
   * Sends the message for the first address without a proof; null when all are proven, or their channels are not set up.
   * Throws TooManyRequestsError, and UpstreamError when the message cannot be sent.
   */
  next(join: PendingJoin, proven: ProvenContacts): Promise<ContactProofStep | null>;
  /** The pending join of a link or code token; null if it is forged or too old. `needsCode` for one of a text message. */
  read(token: string): { join: PendingJoin; needsCode: boolean } | null;
  /**
   * Takes a link or a code, and returns what is proven with it. Throws not-found for a token that `read` does not take,
   * invalid-value on `code`, TooManyRequestsError after five wrong codes.
   */
  redeem(token: string, code: string | null): { join: PendingJoin; proven: ProvenContacts };
}

interface Sealed {
  join: PendingJoin;
  proven: ProvenContacts;
  /** Null in a mailed link. */
  code: string | null;
  /** Epoch ms. */
  expires: number;
}

const LINK_MS = 24 * 3_600_000;
const CODE_MS = 10 * 60_000;
const CODE_DIGITS = 6;
/** Five guesses at one of a million codes; the token ends before the next one is allowed. */
const CODE_ATTEMPTS = { freeAttempts: 4, initialDelayMs: CODE_MS, maxDelayMs: CODE_MS };
/** A person whose messages are used up waits. */
const RETRY_S = 20 * 60;

/** Creates the proofs. */
export function createContactProofs({ store, clock, channels, baseUrl }: ContactProofDeps): ContactProofs {
  const limits = createMessageLimits(clock);
  const guesses = createAttemptThrottle(clock, CODE_ATTEMPTS);

  const seal = (sealed: Sealed): string => signLink("join", JSON.stringify(sealed), store);
  const open = (token: string): Sealed | null => {
    const text = verifyLink("join", token, store);
    const sealed = text === null ? null : (JSON.parse(text) as Sealed);
    return sealed !== null && clock.now() < sealed.expires ? sealed : null;
  };

  async function send(channel: AccountMessageSender, to: string, join: PendingJoin, text: string): Promise<void> {
    if (!limits.takeMessage(to)) throw new TooManyRequestsError(RETRY_S);
    const { language, person, listName } = join;
    const subject = CORE_CATALOGUE.render[language]("contact-proof.subject", { list: listName });
    const reason = await channel.send({ to, name: person.name ?? to, language, subject, text });
    if (reason !== null)
      throw new UpstreamError(
        "upstream",
        sentence("people.the-message-to-to-could-not-be-sent-reason", { to, reason }),
      );
  }

  return {
    async next(join, proven) {
      const { person, language, listName } = join;
      const render = CORE_CATALOGUE.render[language];
      if (person.email !== null && !proven.email && channels.mail.isAvailable()) {
        const token = seal({ join, proven: { ...proven, email: true }, code: null, expires: clock.now() + LINK_MS });
        const link = `${baseUrl()}/confirm-join/${token}`;
        await send(channels.mail, person.email, join, render("contact-proof.mail", { list: listName, link }));
        return { kind: "mail" };
      }
      if (person.phone !== null && !proven.phone && channels.text.isAvailable()) {
        const code = String(randomInt(10 ** CODE_DIGITS)).padStart(CODE_DIGITS, "0");
        const token = seal({ join, proven: { ...proven, phone: true }, code, expires: clock.now() + CODE_MS });
        await send(channels.text, person.phone, join, render("contact-proof.code", { list: listName, code }));
        return { kind: "code", token };
      }
      return null;
    },
    read(token) {
      const sealed = open(token);
      return sealed && { join: sealed.join, needsCode: sealed.code !== null };
    },
    redeem(token, code) {
      const sealed = open(token);
      if (!sealed) throw notFound();
      if (sealed.code !== null) {
        const seconds = guesses.begin(hashToken(token));
        if (seconds > 0) throw new TooManyRequestsError(seconds);
        if (code?.replace(/\s/g, "") !== sealed.code)
          throw invalidValue("code", sentence("field.must-be-the-code-of-the-text-message"));
      }
      return { join: sealed.join, proven: sealed.proven };
    },
  };
}
