import { acceptedLanguage } from "./accept-language.ts";

/** Texts of the campaign pages; `{list}` is filled in by the page. */
export interface CampaignMessages {
  language: string;
  joinTitle: string;
  joinText: string;
  name: string;
  email: string;
  phone: string;
  hint: string;
  join: string;
  joinedTitle: string;
  joinedText: string;
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
