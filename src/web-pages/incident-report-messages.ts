import type { TIMELINE_ACTIVITY_TYPES } from "../incidents/incident-timeline.ts";
import type { SentenceLanguage } from "../lib/sentences/sentences.ts";
import type incidentActivities from "../resources/incidents/incident-activities.ts";
import { type DeviceOutcome, OUTCOME_NAMES } from "../resources/notifications/device-outcomes.ts";
import type { NotificationSource } from "../resources/notifications/notification-sources.ts";
import type { RowOf } from "../schema/resource.ts";

type EventType = RowOf<typeof incidentActivities>["type"] | (typeof TIMELINE_ACTIVITY_TYPES)[number];

/** Texts of the incident report. */
export interface IncidentReportMessages {
  language: SentenceLanguage;
  incident: string;
  drill: string;
  facts: Readonly<
    Record<
      | "plan"
      | "site"
      | "started"
      | "startedBy"
      | "ended"
      | "inProgress"
      | "messages"
      | "times"
      | "created"
      | "sent"
      | "sentBy"
      | "origin"
      | "priority"
      | "endedEarly",
      string
    >
  >;
  /** With the name of the time zone. */
  zone(name: string): string;
  timeline: string;
  timelineHeads: readonly string[];
  devices: string;
  people: string;
  recipients: string;
  read: string;
  answered(answer: string): string;
  noAnswer: string;
  deliveries: string;
  deliveryHeads: readonly string[];
  personHeads: readonly string[];
  messageSent: string;
  devicesReached(count: number, level: string): string;
  peopleAnswered(count: number, answer: string): string;
  events: Readonly<Record<EventType, string>>;
  outcomes: Readonly<Record<DeviceOutcome, string>>;
  levels: Readonly<Record<string, string>>;
  sources: Readonly<Partial<Record<NotificationSource, string>>>;
  priorities: Readonly<Record<string, string>>;
}

const ENGLISH: IncidentReportMessages = {
  language: "en",
  incident: "Incident",
  drill: "DRILL",
  facts: {
    plan: "Plan",
    site: "Site",
    started: "Started",
    startedBy: "Started by",
    ended: "Ended",
    inProgress: "In progress",
    messages: "Messages",
    times: "Times",
    created: "Report created",
    sent: "Sent",
    sentBy: "Sent by",
    origin: "Started by",
    priority: "Priority",
    endedEarly: "Ended early",
  },
  zone: (name) => `${name}, with UTC offset`,
  timeline: "Timeline",
  timelineHeads: ["Time", "Event", "Who", "Text"],
  devices: "Devices",
  people: "People",
  recipients: "recipients",
  read: "read",
  answered: (answer) => `answered ${answer}`,
  noAnswer: "no answer",
  deliveries: "Deliveries by device",
  deliveryHeads: ["Device", "Outcome", "Sent", "Accepted", "Playing", "Heard or confirmed", "Ended"],
  personHeads: ["Person", "Read", "Answer", "Answered"],
  messageSent: "Message sent",
  devicesReached: (count, level) => `${count} ${count === 1 ? "device" : "devices"}: ${level}`,
  peopleAnswered: (count, answer) => `${count} answered ${answer}`,
  events: {
    "start-incident": "Incident started",
    "end-incident": "Incident ended",
    "all-clear": "All-clear",
    note: "Note",
    "roster-status": "Accounted for",
    "incident-escalated": "Escalated",
    "escalated-incident-linked": "Linked",
    abort: "Message ended",
    expire: "Message expired",
    "broadcast-finished": "Message finished",
    "broadcast-failed": "Message failed",
    "escalation-rule-skipped": "Escalation skipped",
    info: "Note",
  },
  outcomes: OUTCOME_NAMES,
  levels: {},
  sources: {},
  priorities: {},
};

const GERMAN: IncidentReportMessages = {
  language: "de",
  incident: "Ereignis",
  drill: "ÜBUNG",
  facts: {
    plan: "Plan",
    site: "Standort",
    started: "Begonnen",
    startedBy: "Ausgelöst von",
    ended: "Beendet",
    inProgress: "Läuft noch",
    messages: "Nachrichten",
    times: "Uhrzeiten",
    created: "Bericht erstellt",
    sent: "Gesendet",
    sentBy: "Gesendet von",
    origin: "Ausgelöst durch",
    priority: "Priorität",
    endedEarly: "Vorzeitig beendet",
  },
  zone: (name) => `${name}, mit Abstand zu UTC`,
  timeline: "Verlauf",
  timelineHeads: ["Zeit", "Vorgang", "Wer", "Text"],
  devices: "Geräte",
  people: "Personen",
  recipients: "Empfänger",
  read: "gelesen",
  answered: (answer) => `Antwort „${answer}“`,
  noAnswer: "keine Antwort",
  deliveries: "Zustellung nach Gerät",
  deliveryHeads: ["Gerät", "Ergebnis", "Gesendet", "Angenommen", "Wiedergabe", "Gehört oder bestätigt", "Beendet"],
  personHeads: ["Person", "Gelesen", "Antwort", "Geantwortet"],
  messageSent: "Nachricht gesendet",
  devicesReached: (count, level) => `${count} ${count === 1 ? "Gerät" : "Geräte"}: ${level}`,
  peopleAnswered: (count, answer) => `${count}-mal Antwort „${answer}“`,
  events: {
    "start-incident": "Ereignis begonnen",
    "end-incident": "Ereignis beendet",
    "all-clear": "Entwarnung",
    note: "Notiz",
    "roster-status": "Rückmeldung zum Verbleib",
    "incident-escalated": "Eskaliert",
    "escalated-incident-linked": "Verknüpft",
    abort: "Nachricht gestoppt",
    expire: "Nachricht abgelaufen",
    "broadcast-finished": "Nachricht abgeschlossen",
    "broadcast-failed": "Nachricht gescheitert",
    "escalation-rule-skipped": "Eskalation übersprungen",
    info: "Hinweis",
  },
  outcomes: {
    heard: "Gehört",
    played: "Abgespielt",
    textOnly: "Nur Text",
    noReceipt: "Gesendet, ohne Beleg",
    notReached: "Nicht erreicht",
    skipped: "Übersprungen",
    waiting: "Läuft",
  },
  levels: {
    sent: "gesendet",
    accepted: "angenommen",
    playing: "Wiedergabe",
    heard: "gehört",
    confirmed: "bestätigt",
    failed: "fehlgeschlagen",
    expired: "abgelaufen",
    skipped: "übersprungen",
  },
  sources: {
    "administration-console": "Konsole",
    alarm: "Alarm",
    api: "Programm",
    "area-of-interest-boundary-trigger": "Bereich auf der Karte",
    "bell-schedule": "Läuteplan",
    "confirmation-request-escalation-rule": "Eskalation einer Rückfrage",
    "dial-cast": "Anruf",
    "inbound-cap": "amtliche Warnung",
    "inbound-email": "E-Mail",
    incident: "Ereignis",
    m2m: "Programm",
    "mobile-app": "Mobil-App",
    "panic-button": "Alarmknopf",
    "scheduled-notification": "Zeitplan",
    "standard-scenario": "Szenario",
    "unknown-source": "unbekannt",
  },
  priorities: { critical: "dringend", normal: "normal" },
};

/** Texts in a language. */
export function incidentReportMessages(language: SentenceLanguage): IncidentReportMessages {
  return language === "de" ? GERMAN : ENGLISH;
}
