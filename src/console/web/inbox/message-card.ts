import { CallerError } from "../../../lib/errors.ts";
import type { OwnMessage } from "./api/client.ts";
import { element } from "./element.ts";
import type { InboxMessages } from "./messages.ts";

/** What a card needs. */
export interface MessageCardOptions {
  words: InboxMessages;
  /** Address of the message's picture. */
  image: string;
  now: number;
  /** Takes an answer. */
  answer(option: string): Promise<void>;
  /** Declines further messages like it. */
  decline(): Promise<void>;
}

/** Draws one message with its answers; nothing of it is read as markup. */
export function messageCard(message: OwnMessage, needs: MessageCardOptions): HTMLElement {
  const { words, image, now, answer } = needs;
  const { t } = words;
  const isOver = message.abortedAt !== null || (message.expiresAt !== null && Date.parse(message.expiresAt) <= now);
  const isUrgent = message.priority === "critical" && !message.drill;
  const kinds = ["card", isUrgent ? "emergency" : "", message.readTimestamp === null ? "unread" : ""];
  return element(
    "article",
    { class: kinds.join(" ").trim(), id: `m-${message.id}`, "aria-labelledby": `s-${message.id}` },
    message.drill ? element("p", { class: "drill" }, t("drill")) : null,
    element(
      "h2",
      { id: `s-${message.id}` },
      isUrgent ? `${t("emergency")}: ${message.subject ?? ""}` : (message.subject ?? ""),
    ),
    element("p", { class: "soft" }, t("from", { when: words.at(message.createdAt) })),
    message.body ? element("p", { class: "text" }, message.body) : null,
    message.image > 0 ? element("img", { src: image, alt: message.imageAltText ?? "", loading: "lazy" }) : null,
    isOver ? element("p", { class: "soft" }, t("over")) : null,
    message.confirmationRequest ? answers(message, isOver, words, answer) : null,
    message.declinable ? declining(message, needs) : null,
  );
}

function declining({ optOutId }: OwnMessage, { words: { t }, decline }: MessageCardOptions): HTMLElement {
  if (optOutId !== null) return element("p", { class: "soft" }, t("declined"));
  const fault = element("p", { role: "alert", class: "bad" });
  return element("div", {}, pressButton(t("decline"), decline, { t, fault }), fault);
}

/** A quiet button; what goes wrong with its work is said in `fault`. */
export function pressButton(
  label: string,
  work: () => Promise<void>,
  { t, fault, name }: Pick<InboxMessages, "t"> & { fault: HTMLElement; name?: string },
): HTMLElement {
  const press = (event: Event): void => {
    const button = event.currentTarget as HTMLButtonElement;
    button.disabled = true;
    fault.textContent = "";
    work().catch((error) => {
      button.disabled = false;
      fault.textContent = error instanceof CallerError ? t("refused", { why: error.message }) : t("unreachable");
    });
  };
  return element("button", { type: "button", class: "plain", click: press, "aria-label": name ?? false }, label);
}

function answers(
  { confirmationRequest, confirmationResponse: given, dynamicReplyText }: OwnMessage,
  isOver: boolean,
  { t }: InboxMessages,
  answer: MessageCardOptions["answer"],
): HTMLElement {
  const fault = element("p", { role: "alert", class: "bad" });
  const press = (option: string) => (event: Event) => {
    const button = event.currentTarget as HTMLButtonElement;
    button.disabled = true;
    fault.textContent = "";
    answer(option).catch((error) => {
      button.disabled = false;
      const isLate = error instanceof CallerError && error.type === "conflict";
      const isRefused = error instanceof CallerError;
      fault.textContent = isLate ? t("too-late") : isRefused ? t("refused", { why: error.message }) : t("unreachable");
    });
  };
  const buttons = (confirmationRequest?.options ?? []).map((option) =>
    element(
      "button",
      {
        type: "button",
        class: option === given ? "plain" : "",
        "aria-pressed": `${option === given}`,
        click: press(option),
      },
      option,
    ),
  );
  return element(
    "div",
    {},
    given === null ? null : element("p", { role: "status" }, t("answered", { option: given })),
    dynamicReplyText === null ? null : element("p", {}, element("strong", {}, dynamicReplyText)),
    isOver ? null : element("p", { class: "soft" }, t(given === null ? "ask" : "changeable")),
    ...(isOver ? [] : buttons),
    fault,
  );
}
