import { CallerError } from "../../../lib/errors.ts";
import type { InboxClient } from "./api/client.ts";
import { element } from "./element.ts";
import type { InboxMessageKey, InboxMessages } from "./messages.ts";

/** What stands behind the mark of a link in an invitation. */
const INVITATION = /^#invitation=([\w-]+)$/;

/** What the door needs. */
export interface LogInOptions {
  client: Pick<InboxClient, "logIn" | "completeLogIn" | "accept">;
  words: InboxMessages;
  /** What the device is called among its owner's tokens. */
  deviceName: string;
}

/** The code that the page's address brings along; null without one. */
export function invitationIn(hash: string): string | null {
  return INVITATION.exec(hash)?.[1] ?? null;
}

/** Asks who somebody is, by password or by an invitation; resolves once that is known. */
export function showLogIn(place: HTMLElement, code: string | null, { client, words, deviceName }: LogInOptions) {
  const { t } = words;
  return new Promise<void>((resolve) => {
    const fault = element("p", { role: "alert", class: "bad" });
    const attempt = (enter: () => Promise<unknown>, wrong: InboxMessageKey) => (event: Event) => {
      event.preventDefault();
      fault.textContent = "";
      enter().then(
        (needsSecondFactor) => (needsSecondFactor === true ? askForSecondFactor() : resolve()),
        (error) => {
          fault.textContent = t(wordOf(error, wrong));
        },
      );
    };
    const askForSecondFactor = (): void => {
      const factor = field("factor", { autocomplete: "one-time-code", spellcheck: "false", maxlength: "64" });
      place.replaceChildren(
        element("h1", {}, t("log-in-title")),
        fault,
        element(
          "form",
          { class: "card", submit: attempt(() => client.completeLogIn(factor.value), "wrong-factor") },
          labelled(factor),
          element("button", {}, t("log-in")),
        ),
      );
      factor.focus();
    };
    const field = (name: InboxMessageKey, attributes: Record<string, string>): HTMLInputElement =>
      element("input", { id: name, required: true, ...attributes });
    const email = field("email", { type: "email", autocomplete: "username" });
    const password = field("password", { type: "password", autocomplete: "current-password" });
    const typed = field("code", { autocomplete: "one-time-code", autocapitalize: "characters", spellcheck: "false" });
    typed.value = code ?? "";
    const labelled = (input: HTMLInputElement): HTMLElement =>
      element("label", { for: input.id }, t(input.id as InboxMessageKey), input);
    place.replaceChildren(
      element("h1", {}, t("log-in-title")),
      fault,
      element(
        "form",
        { class: "card", submit: attempt(() => client.accept(typed.value, deviceName), "wrong-code") },
        element("h2", {}, t("by-code")),
        labelled(typed),
        element("button", {}, t("enter")),
      ),
      element(
        "form",
        { class: "card", submit: attempt(() => client.logIn(email.value, password.value), "wrong-log-in") },
        element("h2", {}, t("log-in")),
        labelled(email),
        labelled(password),
        element("button", {}, t("log-in")),
      ),
    );
  });
}

function wordOf(error: unknown, wrong: InboxMessageKey): InboxMessageKey {
  if (!(error instanceof CallerError)) return "unreachable";
  return error.type === "too-many-requests" ? "too-many" : wrong;
}
