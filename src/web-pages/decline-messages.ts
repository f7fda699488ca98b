import { acceptedLanguage } from "./accept-language.ts";

/** Texts of the opt-out page; `{subject}` is filled in by the page. */
export interface DeclineMessages {
  language: string;
  askTitle: string;
  askText: string;
  press: string;
  doneTitle: string;
  doneText: string;
  refusedTitle: string;
  refusedText: string;
}

const ENGLISH: DeclineMessages = {
  language: "en",
  askTitle: "No more messages like “{subject}”?",
  askText: "You will no longer receive messages of this kind, except in an emergency.",
  press: "Unsubscribe",
  doneTitle: "You will receive no more of these messages",
  doneText:
    "You will no longer receive messages like “{subject}”, except in an emergency. You can undo this on your message page.",
  refusedTitle: "This link does not work",
  refusedText: "The link may be incomplete or too old, or messages of this kind cannot be declined.",
};

const GERMAN: DeclineMessages = {
  language: "de",
  askTitle: "Keine Nachrichten wie „{subject}“ mehr?",
  askText: "Sie erhalten dann keine Nachrichten dieser Art mehr, es sei denn im Notfall.",
  press: "Abbestellen",
  doneTitle: "Sie erhalten keine mehr",
  doneText:
    "Nachrichten wie „{subject}“ gehen nicht mehr an Sie, es sei denn im Notfall. Auf Ihrer Nachrichtenseite können Sie das zurücknehmen.",
  refusedTitle: "Dieser Link funktioniert nicht",
  refusedText: "Vielleicht ist er unvollständig oder zu alt, oder solche Nachrichten lassen sich nicht abbestellen.",
};

/** Texts in the preferred language of the browser. */
export function declineMessages(accepted: string | null): DeclineMessages {
  return acceptedLanguage(accepted) === "de" ? GERMAN : ENGLISH;
}
