import type { LoginErrorCode } from "../sso/login-error.ts";
import { acceptedLanguage } from "./accept-language.ts";

/** Texts of the login pages of external identity providers, in the languages of the console. */
export interface LoginMessages {
  language: string;
  goingOn: string;
  goOn: string;
  refused: string;
  again: string;
  wait: string;
  /** Error messages with a hint how to solve the problem. */
  errors: Readonly<Record<LoginErrorCode, string>>;
}

const ENGLISH: LoginMessages = {
  language: "en",
  goingOn: "You are logged in",
  goOn: "Go on",
  refused: "You could not be logged in",
  again: "Back to log-in",
  wait: "Too many attempts. Try again in {seconds} s.",
  errors: {
    down: "The identity provider can't be reached or does not answer as it should. Try again in a moment. If it stays so, an administrator can log in with a break-glass account and its password.",
    denied: "The identity provider did not let you in. Ask whoever runs it whether your account may use Carillon.",
    stale: "This log-in was not begun in this browser, or more than 10 minutes ago. Begin once more.",
    signature:
      "What came back is not signed by the identity provider. Tell your administrator: the certificate or the keys of the provider may have changed.",
    expired:
      "What came back is no longer good, or not yet. Try again; if it stays so, tell your administrator that the clocks of the appliance and the identity provider differ.",
    replayed: "This log-in was used already, or its request is not known any more. Begin once more.",
    audience:
      "What came back is meant for somebody else. Tell your administrator: the identity provider names another recipient or sender than was set here.",
    answer: "The answer of the identity provider can't be understood. Tell your administrator; the log says more.",
    "no-account":
      "Nobody here has your account of the identity provider. Ask your administrator to make a user with your mail address.",
    locked: "Your account is locked. Ask your administrator.",
    off: "This way to log in is switched off. Choose another one.",
  },
};

const GERMAN: LoginMessages = {
  language: "de",
  goingOn: "Sie sind angemeldet",
  goOn: "Weiter",
  refused: "Sie konnten nicht angemeldet werden",
  again: "Zurück zur Anmeldung",
  wait: "Zu viele Versuche. Versuchen Sie es in {seconds} s wieder.",
  errors: {
    down: "Der Anmeldedienst ist nicht zu erreichen oder antwortet nicht, wie er soll. Versuchen Sie es gleich noch einmal. Bleibt es so, kann sich eine Verwalterin oder ein Verwalter mit einem Notfallkonto und dessen Passwort anmelden.",
    denied:
      "Der Anmeldedienst hat Sie nicht hereingelassen. Fragen Sie, wer ihn betreibt, ob Ihr Konto Carillon benutzen darf.",
    stale:
      "Diese Anmeldung wurde nicht in diesem Browser begonnen, oder vor mehr als 10 Minuten. Beginnen Sie noch einmal.",
    signature:
      "Was zurückkam, ist nicht vom Anmeldedienst unterschrieben. Sagen Sie der Verwaltung Bescheid: Zertifikat oder Schlüssel des Dienstes können sich geändert haben.",
    expired:
      "Was zurückkam, gilt nicht mehr oder noch nicht. Versuchen Sie es noch einmal; bleibt es so, sagen Sie der Verwaltung, dass die Uhren der Anlage und des Anmeldedienstes auseinandergehen.",
    replayed:
      "Diese Anmeldung wurde schon benutzt, oder ihre Anfrage ist nicht mehr bekannt. Beginnen Sie noch einmal.",
    audience:
      "Was zurückkam, ist für jemand anderen bestimmt. Sagen Sie der Verwaltung Bescheid: Der Anmeldedienst nennt einen anderen Empfänger oder Absender, als hier eingestellt ist.",
    answer:
      "Die Antwort des Anmeldedienstes ist nicht zu verstehen. Sagen Sie der Verwaltung Bescheid; das Protokoll sagt mehr.",
    "no-account":
      "Niemand hier hat Ihr Konto des Anmeldedienstes. Bitten Sie die Verwaltung, eine Person mit Ihrer E-Mail-Adresse anzulegen.",
    locked: "Ihr Konto ist gesperrt. Fragen Sie die Verwaltung.",
    off: "Dieser Weg der Anmeldung ist abgeschaltet. Wählen Sie einen anderen.",
  },
};

/** Texts in the preferred language of the browser. */
export function loginMessages(accepted: string | null): LoginMessages {
  return acceptedLanguage(accepted) === "de" ? GERMAN : ENGLISH;
}
