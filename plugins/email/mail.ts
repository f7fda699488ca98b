import type { SendMailOptions } from "nodemailer";
import { type AccountMessage, type DeliveryItem, recipientLanguage } from "#plugin-api";

/** Sender of mails, and their language for recipients without a preference. */
export interface MailSender {
  from: string;
  fromName: string;
  replyTo: string | null;
  language: "en" | "de";
}

const TEXTS = {
  en: {
    ...{ drill: "This is a drill.", answer: "Your answer:", image: "Picture of the message", sentBy: "Sent by" },
    decline: "No more messages of this kind",
  },
  de: {
    ...{ drill: "Dies ist eine Übung.", answer: "Ihre Antwort:", image: "Bild der Nachricht", sentBy: "Gesendet von" },
    decline: "Keine weiteren Nachrichten dieser Art",
  },
} as const;

const PICTURE = "picture";

/** Exactly one address, without characters that end a header. */
const ADDRESS = /^[^\s@,;:<>"()[\]\\]{1,64}@[^\s@,;:<>"()[\]\\]{1,255}$/;

/** True for one plain address. */
export function isMailAddress(text: string): boolean {
  return ADDRESS.test(text);
}

/**
 * Composes the mail of one delivery: plain text, and HTML without remote content, with the picture inline. The
 * Message-ID is the same for the same delivery, so that a mailbox shows a repeated mail once. `returnTo`: the return
 * path, default the sender.
 * @source RFC 5322 §3.6.4; RFC 3834 §5; RFC 8058 §3.1; RFC 3461 §4
 */
export function composeMail(item: DeliveryItem, given: MailSender, returnTo: string | null): SendMailOptions {
  const sender = { ...given, language: recipientLanguage(item, TEXTS, given.language) };
  const { from, fromName, replyTo } = sender;
  const domain = from.slice(from.lastIndexOf("@") + 1);
  const name = item.recipient?.name ?? "";
  return {
    from: { address: from, name: fromName },
    to: { address: item.device.deviceIdentifier, name },
    ...(replyTo === null ? {} : { replyTo }),
    ...(returnTo === null ? {} : { envelope: { from: returnTo, to: item.device.deviceIdentifier } }),
    // Servers that know no notifications of this kind are not asked; they tell of failures anyway.
    ...(returnTo === null ? {} : { dsn: failureNotice(item) }),
    // One click in the mail program opts out; it asks at the link without opening the page.
    ...(item.recipient?.declineUrl ? { list: { unsubscribe: { url: item.recipient.declineUrl } } } : {}),
    messageId: `<${item.notificationId}.${item.device.id}${item.repeat ? `.${item.repeat}` : ""}@${domain}>`,
    subject: item.text.subject,
    text: plainText(item, sender),
    html: htmlText(item, sender),
    ...(item.imagePath === null
      ? {}
      : { attachments: [{ path: item.imagePath, cid: PICTURE, contentDisposition: "inline" }] }),
    ...(item.class === "emergency" ? { priority: "high" } : {}),
    headers: {
      "Auto-Submitted": "auto-generated",
      "X-Auto-Response-Suppress": "All",
      ...(item.recipient?.declineUrl?.startsWith("https:")
        ? { "List-Unsubscribe-Post": "List-Unsubscribe=One-Click" }
        : {}),
    },
  };
}

/** Composes a mail about an account: plain text, in which a link shows where it leads. @source RFC 3834 §5 */
export function composeAccountMail(mail: AccountMessage, { from, fromName, replyTo }: MailSender): SendMailOptions {
  const { to, name, subject, text, language } = mail;
  return {
    from: { address: from, name: fromName },
    to: { address: to, name },
    ...(replyTo === null ? {} : { replyTo }),
    subject,
    text: `${text}\n\n-- \n${TEXTS[language].sentBy} ${fromName}`,
    headers: { "Auto-Submitted": "auto-generated", "X-Auto-Response-Suppress": "All", "Content-Language": language },
  };
}

/** Only failures are worth a mail, with the headers of the one that failed. */
function failureNotice({ deliveryId, device }: DeliveryItem): NonNullable<SendMailOptions["dsn"]> {
  return { id: `${deliveryId}`, return: "headers", notify: ["failure"], recipient: device.deviceIdentifier };
}

function plainText({ text, drill, recipient }: DeliveryItem, { language, fromName }: MailSender): string {
  const texts = TEXTS[language];
  const answers = recipient?.answers;
  return [
    ...(drill ? [texts.drill] : []),
    text.subject,
    ...(text.body === "" ? [] : [text.body]),
    ...(answers ? [`${texts.answer} ${answers.options.join(" / ")}\n${answers.url}`] : []),
    ...(recipient?.declineUrl ? [`${texts.decline}:\n${recipient.declineUrl}`] : []),
    `-- \n${texts.sentBy} ${fromName}`,
  ].join("\n\n");
}

function htmlText({ text, drill, imagePath, recipient }: DeliveryItem, { language, fromName }: MailSender): string {
  const texts = TEXTS[language];
  const answers = recipient?.answers;
  const link = answers ? escapeHtml(answers.url) : "";
  const buttons = (answers?.options ?? []).map(
    (option) => `<a href="${link}" style="${BUTTON}">${escapeHtml(option)}</a>`,
  );
  const parts = [
    drill ? `<p style="${DRILL}">${texts.drill}</p>` : "",
    `<h1 style="font-size:22px">${escapeHtml(text.subject)}</h1>`,
    ...text.body
      .split(/\n{2,}/)
      .map((piece) => (piece === "" ? "" : `<p>${escapeHtml(piece).replaceAll("\n", "<br>")}</p>`)),
    imagePath === null ? "" : `<p><img src="cid:${PICTURE}" alt="${texts.image}" style="max-width:100%"></p>`,
    answers ? `<p>${texts.answer}</p><p>${buttons.join(" ")}</p>` : "",
    `<p style="${FOOT}">${texts.sentBy} ${escapeHtml(fromName)}</p>`,
    recipient?.declineUrl
      ? `<p style="${FOOT}"><a href="${escapeHtml(recipient.declineUrl)}" style="color:#50586b">${texts.decline}</a></p>`
      : "",
  ];
  return `<!doctype html><html lang="${language}"><head><meta charset="utf-8"><title>${escapeHtml(text.subject)}</title></head><body style="font:16px/1.5 sans-serif">${parts.join("")}</body></html>`;
}

const BUTTON =
  "display:inline-block;margin:0 8px 8px 0;padding:12px 20px;border-radius:8px;background:#24408e;color:#ffffff;text-decoration:none";
const FOOT = "color:#50586b;font-size:13px";
const DRILL = "padding:8px 12px;background:#ffd84d;color:#1b2030;font-weight:bold";

const ESCAPES: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
};

function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (sign) => ESCAPES[sign] ?? "");
}
