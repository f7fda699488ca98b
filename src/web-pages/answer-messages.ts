import { acceptedLanguage } from "./accept-language.ts";

/** Texts of the answer page; `{option}` is filled in by the page. */
export interface AnswerMessages {
  language: string;
  drill: string;
  choose: string;
  given: string;
  thanks: string;
  changeable: string;
  refusedTitle: string;
  refusedText: string;
  overTitle: string;
  overText: string;
}

const ENGLISH: AnswerMessages = {
  language: "en",
  drill: "This is a drill.",
  choose: "Your answer",
  given: "Your answer so far: {option}",
  thanks: "Thank you. Your answer is: {option}",
  changeable: "You can still change it.",
  refusedTitle: "This link does not work",
  refusedText: "The link may be incomplete, or the message no longer exists.",
  overTitle: "Too late",
  overText: "This message no longer accepts answers.",
};

const GERMAN: AnswerMessages = {
  language: "de",
  drill: "Dies ist eine Übung.",
  choose: "Ihre Antwort",
  given: "Ihre bisherige Antwort: {option}",
  thanks: "Danke. Ihre Antwort ist: {option}",
  changeable: "Sie können sie noch ändern.",
  refusedTitle: "Dieser Link funktioniert nicht",
  refusedText: "Vielleicht ist er unvollständig, oder es gibt die Nachricht nicht mehr.",
  overTitle: "Zu spät",
  overText: "Antworten auf diese Nachricht werden nicht mehr angenommen.",
};

/** Texts in the preferred language of the browser. */
export function answerMessages(accepted: string | null): AnswerMessages {
  return acceptedLanguage(accepted) === "de" ? GERMAN : ENGLISH;
}
