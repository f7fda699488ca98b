import { acceptedLanguage } from "./accept-language.ts";

/** Texts of the campaign pages; `{list}` is filled in by the page. */
export interface CampaignMessages {
  language: "en" | "de";
  joinTitle: string;
  joinText: string;
  name: string;
  email: string;
  phone: string;
  hint: string;
  join: string;
  joinedTitle: string;
  joinedText: string;
  mailedTitle: string;
  mailedText: string;
  codeTitle: string;
  codeText: string;
  code: string;
  confirmTitle: string;
  confirmText: string;
  confirmPhone: string;
  confirm: string;
  badCode: string;
  unsent: string;
  closedTitle: string;
  closedText: string;
  leaveTitle: string;
  leaveText: string;
  leave: string;
  leftTitle: string;
  leftText: string;
  refusedTitle: string;
  refusedText: string;
  missing: string;
  badEmail: string;
  badPhone: string;
  full: string;
  wait: string;
}

const ENGLISH: CampaignMessages = {
  language: "en",
  joinTitle: "Join {list}",
  joinText: "You will receive the messages that are sent to {list}.",
  name: "Name",
  email: "E-mail",
  phone: "Mobile number",
  hint: "Enter an email address, a mobile number, or both.",
  join: "Join",
  joinedTitle: "You have joined {list}",
  joinedText: "You will receive its messages from now on. The first one tells you how to leave.",
  mailedTitle: "Look into your mail",
  mailedText: "We sent a link to {email}. Open it within 24 hours to join {list}.",
  codeTitle: "Enter the code",
  codeText: "We sent a code to {phone}. It is good for 10 minutes.",
  code: "Code",
  confirmTitle: "Join {list}?",
  confirmText: "You will receive its messages at {email}.",
  confirmPhone: "You will also receive them at {phone}.",
  confirm: "Confirm",
  badCode: "This code is wrong.",
  unsent: "The message with the confirmation could not be sent. Check the address, or try again later.",
  closedTitle: "Enrolment for {list} is closed",
  closedText: "The enrolment period has ended.",
  leaveTitle: "Leave {list}?",
  leaveText: "You will no longer receive its messages.",
  leave: "Leave",
  leftTitle: "You have left",
  leftText: "You will receive no more messages of this list.",
  refusedTitle: "This link does not work",
  refusedText: "The link may be incomplete, or its target no longer exists.",
  missing: "Please enter an email address or a mobile number.",
  badEmail: "This email address is not valid.",
  badPhone: "This number is not valid. Enter it like +49 170 1234567.",
  full: "The list is full.",
  wait: "Too many attempts. Try again in {seconds} s.",
};

const GERMAN: CampaignMessages = {
  language: "de",
  joinTitle: "{list} beitreten",
  joinText: "Sie erhalten dann die Nachrichten an {list}.",
  name: "Name",
  email: "E-Mail",
  phone: "Mobilnummer",
  hint: "Eine E-Mail-Adresse oder eine Mobilnummer wird gebraucht; beides geht auch.",
  join: "Beitreten",
  joinedTitle: "Sie sind {list} beigetreten",
  joinedText: "Ab jetzt erhalten Sie die Nachrichten. In der ersten steht, wie Sie wieder austreten.",
  mailedTitle: "Sehen Sie in Ihr Postfach",
  mailedText:
    "Wir haben einen Link an {email} gesendet. Öffnen Sie ihn innerhalb von 24 Stunden, um {list} beizutreten.",
  codeTitle: "Code eingeben",
  codeText: "Wir haben einen Code an {phone} gesendet. Er gilt 10 Minuten.",
  code: "Code",
  confirmTitle: "{list} beitreten?",
  confirmText: "Sie erhalten die Nachrichten unter {email}.",
  confirmPhone: "Sie erhalten sie auch unter {phone}.",
  confirm: "Bestätigen",
  badCode: "Dieser Code ist falsch.",
  unsent:
    "Die Nachricht zur Bestätigung konnte nicht gesendet werden. Prüfen Sie die Adresse, oder versuchen Sie es später noch einmal.",
  closedTitle: "{list} nimmt niemanden mehr auf",
  closedText: "Die Zeit zum Beitreten ist vorbei.",
  leaveTitle: "{list} verlassen?",
  leaveText: "Sie erhalten dann keine Nachrichten mehr.",
  leave: "Verlassen",
  leftTitle: "Sie sind ausgetreten",
  leftText: "Sie erhalten keine Nachrichten dieser Liste mehr.",
  refusedTitle: "Dieser Link funktioniert nicht",
  refusedText: "Vielleicht ist er unvollständig, oder es gibt sein Ziel nicht mehr.",
  missing: "Bitte geben Sie eine E-Mail-Adresse oder eine Mobilnummer ein.",
  badEmail: "Diese E-Mail-Adresse stimmt nicht.",
  badPhone: "Diese Nummer stimmt nicht. Schreiben Sie sie wie +49 170 1234567.",
  full: "Die Liste ist voll.",
  wait: "Zu viele Versuche. Versuchen Sie es in {seconds} s wieder.",
};

/** Texts in the preferred language of the browser. */
export function campaignMessages(accepted: string | null): CampaignMessages {
  return acceptedLanguage(accepted) === "de" ? GERMAN : ENGLISH;
}
