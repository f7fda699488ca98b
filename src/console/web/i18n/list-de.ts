import type { listEn } from "./list-en.ts";

/** Words of lists and of the states of devices, in German. */
export const listDe: Readonly<Record<keyof typeof listEn, string>> = {
  "ties.part": "{first} bis {last} von {total}",
  "ties.before": "Frühere",
  "ties.after": "Weitere",
  "search.clear": "Suche leeren",
  "table.most": "Gezeigt werden die ersten {n}. Mehr Buchstaben grenzen es ein.",
  "table.sort": "Reihenfolge",
  "table.sort-by": "Nach {field} ordnen",
  "table.all": "Alle zeigen",
  "table.forbidden": "Diese Liste dürfen Sie nicht sehen.",
  "devices.first": "Es gibt noch kein Gerät. Fügen Sie eines hinzu, dann lässt es sich gleich prüfen.",
  "devices.total": "{n} Gerät|{n} Geräte",
  "devices.last-proof": "Letzter Beweis",
  "devices.last-answer": "Letzte Antwort",
  "devices.failures": "Seither ohne Antwort",
  "devices.failures-n": "{n} Nachricht|{n} Nachrichten",
  "devices.never": "nie",
  "device.change": "Ändern",
  "device.defunct": "Nicht mehr in Gebrauch",
  "device.defunct-hint": "Es bleibt mit seiner Geschichte erhalten und wird nie angesprochen.",
  "device-attribute.IPAddress": "Adresse im Netz",
  "device-attribute.HttpPort": "Port seines Webservers",
  "device-attribute.Location": "Wo es steht",
  "device-attribute.Group": "Multicast-Adresse",
  "device-attribute.Port": "Port",
  "device-attribute.Codec": "Codierung des Tons",
  "device-attribute.TTL": "Netze, durch die der Ton gehen darf (TTL)",
  "device-state-words.answering": "Es hat auf die letzte Nachricht geantwortet.",
  "device-state-words.sent":
    "Unsere Datenpakete sind hinausgegangen. Eine Zone kann nicht antworten; ob sie etwas gespielt hat, lässt sich nicht beweisen.",
  "device-state-words.silent":
    "Es hat nicht geantwortet. Prüfen Sie Strom und Netz, und ob das Gerät hier angemeldet ist.",
  "device-state-words.untried":
    "Es wurde noch nichts dorthin gesendet, also ist nichts bekannt. Senden Sie einen Test.",
};
