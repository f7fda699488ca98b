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
  goOn: "Continue",
  refused: "Login failed",
  again: "Back to login",
  wait: "Too many attempts. Try again in {seconds} s.",
  errors: {
    down: "The identity provider is not reachable or returned an error. Try again later. If the problem persists, an administrator can log in with a break-glass account and its password.",
    denied: "The identity provider refused access. Ask its administrator whether your account may use Carillon.",
    stale: "This login was not started in this browser, or more than 10 minutes ago. Please start again.",
    signature:
      "The response is not signed by the identity provider. Tell your administrator: the certificate or keys of the provider may have changed.",
    expired:
      "The response has expired or is not valid yet. Try again; if the problem persists, tell your administrator that the clocks of the appliance and the identity provider differ.",
    replayed: "This login was already used, or its request is no longer known. Please start again.",
    audience:
      "The response is intended for another recipient. Tell your administrator: the audience or issuer of the identity provider differs from the configuration.",
    answer: "The response of the identity provider is invalid. Tell your administrator; the log contains details.",
    strength:
      "The identity provider confirmed your login with a weaker method, or longer ago, than is required here. Log out there and log in again with your second factor.",
    "no-account":
      "There is no user for your account at the identity provider. Ask your administrator to create a user with your email address.",
    locked: "Your account is locked. Ask your administrator.",
    off: "This login method is disabled. Choose another one.",
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
    strength:
      "Der Anmeldedienst hat Sie schwächer oder vor längerer Zeit geprüft, als hier verlangt ist. Melden Sie sich dort ab und mit dem zweiten Faktor wieder an.",
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
