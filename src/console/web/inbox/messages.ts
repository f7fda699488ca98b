/** Words of the page of recipients, in English. */
const en = {
  title: "My messages",
  none: "No message yet.",
  email: "E-mail",
  password: "Password",
  logIn: "Log in",
  logOut: "Log out",
  doorTitle: "Who are you?",
  byCode: "I have an invitation",
  code: "Invitation code",
  enter: "Go on",
  wrongLogIn: "E-mail address or password is not right.",
  wrongCode: "The invitation is not right, was used, or is over. Ask for a new one.",
  tooMany: "Too many attempts. Wait a little.",
  unreachable: "The appliance can't be reached. It is tried again by itself.",
  refused: "That did not work: {why}",
  drill: "Drill",
  emergency: "Emergency",
  over: "This message is over.",
  ask: "Please answer:",
  answered: "You answered: {option}",
  changeable: "You can change your answer.",
  tooLate: "Answers to this message are taken no more.",
  device: "This device",
  pushOn: "Show messages here even when this page is closed",
  pushIsOn: "Messages are shown on this device even when this page is closed.",
  pushOff: "Stop that",
  pushDenied: "The browser does not allow messages of this page. Allow them in its settings.",
  pushUnable: "This browser can't show messages of a closed page, or its maker's server can't be reached.",
  pushClosed: "Messages for closed pages are switched off at the appliance. Leave this page open.",
  pushMany: "You have too many devices. Remove one first.",
  shareOn: "Share where this device is",
  shareOff: "Stop sharing where this device is",
  shareIs: "The appliance knows where this device is while this page is open.",
  shareDenied: "The browser does not tell where this device is.",
  soundOn: "Let messages sound here",
  soundIsOn: "Messages sound while this page is open.",
  decline: "No more messages of this kind",
  declined: "You receive no more messages of this kind.",
  declinedTitle: "No more messages like",
  takeBack: "Receive them again",
  takeBackNamed: "Receive messages like {subject} again",
  from: "Received {when}",
  connected: "Connected. Messages appear here.",
  waiting: "No connection since {when}. It is tried again by itself.",
  deskTitle: "Desktop display",
  fullScreen: "Full screen",
  close: "Close",
} as const;

/** A word's name. */
export type InboxMessageKey = keyof typeof en;

const de: Record<InboxMessageKey, string> = {
  title: "Meine Nachrichten",
  none: "Noch keine Nachricht.",
  email: "E-Mail",
  password: "Passwort",
  logIn: "Anmelden",
  logOut: "Abmelden",
  doorTitle: "Wer sind Sie?",
  byCode: "Ich habe eine Einladung",
  code: "Code der Einladung",
  enter: "Weiter",
  wrongLogIn: "E-Mail-Adresse oder Passwort stimmt nicht.",
  wrongCode: "Die Einladung stimmt nicht, wurde benutzt oder ist abgelaufen. Bitten Sie um eine neue.",
  tooMany: "Zu viele Versuche. Warten Sie etwas.",
  unreachable: "Die Anlage ist nicht erreichbar. Es wird von selbst wieder versucht.",
  refused: "Das ging nicht: {why}",
  drill: "Übung",
  emergency: "Notfall",
  over: "Diese Nachricht ist beendet.",
  ask: "Bitte antworten Sie:",
  answered: "Ihre Antwort: {option}",
  changeable: "Sie können Ihre Antwort ändern.",
  tooLate: "Zu dieser Nachricht werden keine Antworten mehr angenommen.",
  device: "Dieses Gerät",
  pushOn: "Nachrichten auch bei geschlossener Seite zeigen",
  pushIsOn: "Nachrichten erscheinen auf diesem Gerät auch bei geschlossener Seite.",
  pushOff: "Damit aufhören",
  pushDenied: "Der Browser erlaubt dieser Seite keine Mitteilungen. Erlauben Sie sie in seinen Einstellungen.",
  pushUnable:
    "Dieser Browser kann bei geschlossener Seite nichts zeigen, oder der Server seines Herstellers ist nicht erreichbar.",
  pushClosed: "Mitteilungen bei geschlossener Seite sind an der Anlage ausgeschaltet. Lassen Sie die Seite offen.",
  pushMany: "Sie haben zu viele Geräte. Entfernen Sie zuerst eines.",
  shareOn: "Mitteilen, wo dieses Gerät ist",
  shareOff: "Nicht mehr mitteilen, wo dieses Gerät ist",
  shareIs: "Die Anlage weiß, wo dieses Gerät ist, solange diese Seite offen ist.",
  shareDenied: "Der Browser sagt nicht, wo dieses Gerät ist.",
  soundOn: "Nachrichten hier hörbar machen",
  soundIsOn: "Nachrichten sind hörbar, solange diese Seite offen ist.",
  decline: "Keine Nachrichten dieser Art mehr",
  declined: "Sie erhalten keine Nachrichten dieser Art mehr.",
  declinedTitle: "Keine Nachrichten mehr wie",
  takeBack: "Wieder erhalten",
  takeBackNamed: "Nachrichten wie {subject} wieder erhalten",
  from: "Erhalten {when}",
  connected: "Verbunden. Nachrichten erscheinen hier.",
  waiting: "Keine Verbindung seit {when}. Es wird von selbst wieder versucht.",
  deskTitle: "Anzeige auf dem Bildschirm",
  fullScreen: "Vollbild",
  close: "Schließen",
};

/** Says a word in the browser's language, with its places filled. */
export interface InboxMessages {
  language: "en" | "de";
  t(word: InboxMessageKey, values?: Readonly<Record<string, string>>): string;
  /** A moment as people say it. */
  at(moment: string | number): string;
}

/** Chooses among the languages that a browser asks for. */
export function inboxMessages(languages: readonly string[]): InboxMessages {
  const wanted = languages.map((each) => each.slice(0, 2).toLowerCase()).find((each) => each === "en" || each === "de");
  const language = wanted === "de" ? "de" : "en";
  const words: Readonly<Record<InboxMessageKey, string>> = language === "de" ? de : en;
  const form = new Intl.DateTimeFormat(languages[0] ?? language, { dateStyle: "medium", timeStyle: "short" });
  return {
    language,
    t: (word, values = {}) => words[word].replace(/\{(\w+)\}/g, (place, name: string) => values[name] ?? place),
    at: (moment) => form.format(new Date(moment)),
  };
}
