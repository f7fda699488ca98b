import type { Log } from "../lib/log.ts";
import {
  CORE_CATALOGUE,
  type SentenceCode,
  type SentenceParams,
  sentenceLanguage,
} from "../lib/sentences/sentences.ts";
import type { AccountMessage } from "../plugin-api/index.ts";
import type users from "../resources/people/users.ts";
import type { RowOf } from "../schema/resource.ts";
import type { StoreReader } from "../store/store.ts";
import { readBranding } from "./branding.ts";

/** Sends messages of one channel that are no notifications. */
export interface AccountMessageSender {
  /** True while the channel is set up. */
  isAvailable(): boolean;
  /** Resolves with the reason why the message was not sent, as text for people, or with null. Never rejects. */
  send(message: AccountMessage): Promise<string | null>;
}

/** Dependencies of the mails about accounts. */
export interface AccountMailsDeps {
  store: StoreReader;
  log: Log;
  sender: AccountMessageSender;
}

/** Subject and text of each kind of mail. */
const MAILS = {
  "set-password": { subject: "account-mail.set-password.subject", text: "account-mail.set-password.text" },
  reset: { subject: "account-mail.reset.subject", text: "account-mail.reset.text" },
  provider: { subject: "account-mail.provider.subject", text: "account-mail.provider.text" },
  changed: { subject: "account-mail.changed.subject", text: "account-mail.changed.text" },
  "factors-removed": { subject: "account-mail.factors-removed.subject", text: "account-mail.factors-removed.text" },
} as const satisfies Readonly<Record<string, { subject: SentenceCode; text: SentenceCode }>>;

type AccountMailKind = keyof typeof MAILS;

type User = Pick<RowOf<typeof users>, "id" | "name" | "email" | "preferredLanguage">;

/** Tells the users themselves what happens to their accounts. */
export interface AccountMails {
  isAvailable(): boolean;
  /**
   * Sends a mail in the user's language; without an address or a mail server nothing happens. Resolves with the reason why no
   * server took it, as text for people, or with null. Never rejects.
   */
  send(kind: AccountMailKind, user: User, params?: SentenceParams): Promise<string | null>;
}

/** Name of the organisation where branding gives none. */
const PRODUCT_NAME = "Carillon";

/** Creates the mails. The log has the user's id, never the text: a link in it would let others in. */
export function createAccountMails({ store, log, sender }: AccountMailsDeps): AccountMails {
  return {
    isAvailable: sender.isAvailable,
    async send(kind, user, params = {}) {
      if (user.email === null || !sender.isAvailable()) return null;
      const language = sentenceLanguage(user.preferredLanguage) ?? "en";
      const say = (code: SentenceCode): string =>
        CORE_CATALOGUE.render[language](code, {
          ...{ name: user.name, email: user.email ?? "", company: readBranding(store).companyName ?? PRODUCT_NAME },
          ...params,
        });
      const reason = await sender.send({
        ...{ to: user.email, name: user.name, language },
        ...{ subject: say(MAILS[kind].subject), text: say(MAILS[kind].text) },
      });
      const about = { kind, userId: user.id };
      if (reason === null) log.info({ event: "account_mail.sent", ...about }, "mail about an account sent");
      else log.warn({ event: "account_mail.failed", ...about, reason }, "mail about an account not sent");
      return reason;
    },
  };
}
