import { acceptedLanguage } from "./accept-language.ts";

/** Texts of the login and consent pages, in the languages of the console. */
export interface AuthorizeMessages {
  language: string;
  logIn: string;
  /** `{app}` is filled in by the page, here and below. */
  logInFor: string;
  /** `{name}` is filled in by the page. */
  by: string;
  breakGlass: string;
  email: string;
  /** Label if directory login names are accepted too. */
  login: string;
  password: string;
  newPassword: string;
  /** `{min}` is filled in by the page. */
  newPasswordHint: string;
  allowTitle: string;
  allowText: string;
  everything: string;
  read: string;
  write: string;
  offline: string;
  leadsTo: string;
  allow: string;
  deny: string;
  otherAccount: string;
  refusedTitle: string;
  wrong: string;
  away: string;
  wait: string;
  setNew: string;
  /** `{min}` and `{max}` are filled in by the page. */
  badNew: string;
  outdated: string;
  secondFactor: string;
  code: string;
  codeHint: string;
  wrongCode: string;
  loginExpired: string;
}

const ENGLISH: AuthorizeMessages = {
  language: "en",
  logIn: "Log in",
  logInFor: "Log in to continue to {app}.",
  by: "Log in with {name}",
  breakGlass: "Password login is only available for break-glass accounts.",
  email: "E-mail",
  login: "E-mail or user name",
  password: "Password",
  newPassword: "New password",
  newPasswordHint: "At least {min} characters, such as a sentence, and different from the old one.",
  allowTitle: "Allow {app}?",
  allowText: "{app} requests access to your account, {user}. It could:",
  everything: "do everything that you are allowed to do",
  read: "read {resource}",
  write: "create, change and delete {resource}",
  offline: "keep access while you are not logged in",
  leadsTo: "Either way you will be redirected to {place}.",
  allow: "Allow",
  deny: "Don't allow",
  otherAccount: "Use another account",
  refusedTitle: "This link does not work",
  wrong: "Wrong email address or password.",
  away: "Your password cannot be verified at the moment. Try again later.",
  wait: "Too many attempts. Try again in {seconds} s.",
  setNew: "You must set a new password. Enter your current password and the new one.",
  badNew:
    "The new password must have {min} to {max} characters, differ from the old one, contain no name of yours or the organisation, and not be easy to guess. Choose several unrelated words.",
  outdated: "The page has expired. Please try again.",
  secondFactor: "Confirm your log-in",
  code: "Code",
  codeHint: "The code of your authenticator app, or a recovery code.",
  wrongCode: "The code is not correct, or was used already. Enter the present code of the app.",
  loginExpired: "The log-in has expired. Enter your password again.",
};

const GERMAN: AuthorizeMessages = {
  language: "de",
  logIn: "Anmelden",
  logInFor: "Melden Sie sich an, um mit {app} weiterzumachen.",
  by: "Anmelden mit {name}",
  breakGlass: "Passwörter gelten nur noch bei Notfallkonten.",
  email: "E-Mail",
  login: "E-Mail oder Benutzername",
  password: "Passwort",
  newPassword: "Neues Passwort",
  newPasswordHint: "Mindestens {min} Zeichen, zum Beispiel ein Satz, und ein anderes als bisher.",
  allowTitle: "{app} erlauben?",
  allowText: "{app} möchte in Ihrem Namen handeln, {user}. Es könnte:",
  everything: "alles tun, was Sie dürfen",
  read: "{resource} lesen",
  write: "{resource} anlegen, ändern und löschen",
  offline: "auch ohne Sie weiterarbeiten",
  leadsTo: "In jedem Fall geht es weiter zu {place}.",
  allow: "Erlauben",
  deny: "Nicht erlauben",
  otherAccount: "Anderes Konto verwenden",
  refusedTitle: "Dieser Link funktioniert nicht",
  wrong: "E-Mail-Adresse und Passwort passen nicht zusammen.",
  away: "Ihr Passwort kann im Augenblick nirgends geprüft werden. Versuchen Sie es gleich noch einmal.",
  wait: "Zu viele Versuche. Versuchen Sie es in {seconds} s wieder.",
  setNew: "Sie müssen zuerst ein neues Passwort setzen. Geben Sie Ihr Passwort noch einmal ein, und das neue.",
  badNew:
    "Das neue Passwort muss {min} bis {max} Zeichen haben und ein anderes als bisher sein, darf weder Ihren Namen noch den der Organisation enthalten und nicht leicht zu erraten sein. Nehmen Sie mehrere Wörter, die nichts miteinander zu tun haben.",
  outdated: "Die Seite war zu lange offen. Bitte versuchen Sie es noch einmal.",
  secondFactor: "Anmeldung bestätigen",
  code: "Code",
  codeHint: "Der Code Ihrer Authenticator-App oder ein Wiederherstellungscode.",
  wrongCode: "Der Code ist falsch oder wurde schon benutzt. Geben Sie den jetzigen Code der App ein.",
  loginExpired: "Die Anmeldung ist abgelaufen. Geben Sie Ihr Passwort noch einmal ein.",
};

/** Texts in the preferred language of the browser. */
export function authorizeMessages(accepted: string | null): AuthorizeMessages {
  return acceptedLanguage(accepted) === "de" ? GERMAN : ENGLISH;
}

/** Fills in the placeholders of a text. */
export function fillPlaceholders(sentence: string, values: Readonly<Record<string, string>>): string {
  return sentence.replace(/\{(\w+)\}/g, (place, name: string) => values[name] ?? place);
}
