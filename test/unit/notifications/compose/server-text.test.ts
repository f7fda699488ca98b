import { describe, expect, it } from "vitest";
import { createSentenceRegistry } from "../../../../src/lib/sentences/registry.ts";
import { deliveryText } from "../../../../src/notifications/compose/delivery-text.ts";
import { readServerText, translateServerText } from "../../../../src/notifications/compose/server-text.ts";

const sentences = createSentenceRegistry();
const BY_SERVER = {
  notificationSource: "onprem-server-yellow",
  initiatorId: null,
  initiationSourceType: null,
  alertTone: null,
  followUpForNotificationId: null,
  customVars: null,
} as const;
const ALARM = {
  ...BY_SERVER,
  subject: "Alarm: Server degraded (Main building)",
  body: "The clock was set back by 7 s.\n250 MiB disk space free, 2 %.",
};

describe("texts of the server", () => {
  it("are translated line by line for a recipient", () => {
    expect(translateServerText(ALARM, sentences, "de")).toMatchObject({
      subject: "Alarm ausgelöst: Server beeinträchtigt (Main building)",
      body: expect.stringMatching(/^Die Uhr wurde um 7 s zurückgestellt\.\n.*250 MiB/),
    });
    expect(translateServerText(ALARM, sentences, "en")).toBe(ALARM);
  });

  it("are translated within a template of an organisation", () => {
    const customVars = { alarm: "Server degraded", status: "ACTIVE", reasons: "The clock was set back by 7 s." };
    const row = { ...BY_SERVER, customVars, subject: "Bitte prüfen: Server degraded", body: null };
    expect(translateServerText(row, sentences, "de")).toMatchObject({
      subject: "Bitte prüfen: Server beeinträchtigt",
      body: null,
    });
  });

  it("are sent by code", () => {
    expect(readServerText(ALARM, sentences)).toMatchObject({
      subjectSentence: { code: "alarm.subject-at", params: { server: "Main building" } },
      bodySentences: [{ code: "health.clock-back", params: { seconds: "7" } }, { code: "health.disk" }],
    });
  });

  it("are told from those of people, which stay as they are", () => {
    for (const row of [
      { ...ALARM, notificationSource: "api" as const },
      { ...ALARM, initiatorId: "0198f3a0-0000-7000-8000-0000000000aa" },
    ]) {
      expect(translateServerText(row, sentences, "de")).toBe(row);
      expect(readServerText(row, sentences)).toEqual({ subjectSentence: null, bodySentences: null });
    }
    const clear = { ...BY_SERVER, notificationSource: "api" as const, alertTone: "all-clear1" as const, body: null };
    const followUp = { ...clear, followUpForNotificationId: "0198f3a0-0000-7000-8000-0000000000ab" };
    const subject = "All clear: Fire";
    expect(translateServerText({ ...followUp, subject }, sentences, "de").subject).toBe("Entwarnung: Fire");
    expect(translateServerText({ ...clear, subject }, sentences, "de").subject).toBe(subject);
  });

  it("mark a drill in the language of the recipient", () => {
    const message = { subject: "Feuer", body: "", drill: true };
    expect(deliveryText(message)).toMatchObject({ subject: "DRILL: Feuer", short: "DRILL: Feuer" });
    expect(deliveryText(message, "de")).toMatchObject({ subject: "ÜBUNG: Feuer", short: "ÜBUNG: Feuer" });
    expect(deliveryText({ ...message, drill: false }, "de").subject).toBe("Feuer");
  });
});
