import { describe, expect, it } from "vitest";
import type { NotificationRow, TemplateRow } from "../../../../src/console/web/api/rows.ts";
import {
  draftFromTemplate,
  EMPTY_DRAFT,
  followUpDraft,
  isDraftDirty,
  missingPart,
  notificationBody,
  notificationFormData,
  recordingOf,
} from "../../../../src/console/web/features/notifications/notification-draft.ts";
import { valueAtPath, withValueAtPath } from "../../../../src/console/web/ui/form/form-fields.ts";
import { EMERGENCY_FLAG, hasEmergencyFlag } from "../../../../src/resources/messages/emergency-template.ts";

const template = {
  id: "t",
  name: "Lockdown",
  subject: "Lockdown",
  body: null,
  alertTone: "lockdown",
  deviceGroupIds: ["g"],
  distributionListIds: [],
  confirmationRequestId: null,
  bodyCustomizable: true,
  subjectCustomizable: false,
  alertToneCustomizable: false,
  audioCustomizable: false,
  deviceGroupIdsCustomizable: false,
  distributionListIdsCustomizable: false,
} as unknown as TemplateRow;

describe("a message", () => {
  it("is sendable with a text and recipients", () => {
    expect(missingPart(EMPTY_DRAFT)).toBe("send.missing");
    expect(missingPart({ ...EMPTY_DRAFT, subject: "  ", deviceGroupIds: ["g"] })).toBe("send.missing");
    expect(missingPart({ ...EMPTY_DRAFT, subject: "x" })).toBe("send.missing");
    const whole = { ...EMPTY_DRAFT, subject: "x", distributionListIds: ["l"] };
    expect(missingPart(whole)).toBeNull();
    expect(missingPart({ ...whole, audio: "coming" })).toBe("send.recording-coming");
    expect(recordingOf({ ...whole, audio: "coming" })).toBeNull();
  });

  it("always says whether it is a drill", () => {
    expect(notificationBody({ ...EMPTY_DRAFT, drill: true }, null, false)).toMatchObject({ drill: true });
    expect(notificationBody(EMPTY_DRAFT, null, false)).toMatchObject({ drill: false });
    expect(notificationBody(EMPTY_DRAFT, null, false)).not.toHaveProperty("draft");
    expect(notificationBody(EMPTY_DRAFT, null, false)).not.toHaveProperty("ttsType");
    expect(notificationBody({ ...EMPTY_DRAFT, ttsType: "body" }, null, false)).toMatchObject({ ttsType: "body" });
    expect(
      notificationBody({ ...EMPTY_DRAFT, ttsType: "body", audio: new File(["x"], "x.wav") }, null, false),
    ).not.toHaveProperty("ttsType");
    expect(notificationBody(EMPTY_DRAFT, null, true)).toMatchObject({ draft: true, subject: "–" });
  });

  it("keeps the choice of drill when a template fills it", () => {
    expect(draftFromTemplate(template, { ...EMPTY_DRAFT, drill: true })).toMatchObject({
      templateId: "t",
      subject: "Lockdown",
      body: "",
      drill: true,
    });
  });

  it("sends of a template's parts only those that the sender may change", () => {
    const message = { ...draftFromTemplate(template, EMPTY_DRAFT), body: "Room 7" };
    const allClear = { allClearSubject: "", allClearBody: "" };
    expect(notificationBody(message, template, false)).toEqual({
      drill: false,
      messageTemplateId: "t",
      body: "Room 7",
      ...allClear,
    });
  });

  it("becomes a form with lists as repeated names", () => {
    const form = notificationFormData({ drill: true, deviceGroupIds: ["a", "b"] }, new File(["x"], "x.wav"));
    expect(form.get("drill")).toBe("true");
    expect(form.getAll("deviceGroupIds[]")).toEqual(["a", "b"]);
    expect(form.get("audio")).toBeInstanceOf(File);
  });

  it("is dirty once the user has edited it", () => {
    expect(isDraftDirty(EMPTY_DRAFT, null)).toBe(false);
    expect(isDraftDirty({ ...EMPTY_DRAFT, drill: true, deviceGroupIds: ["g"] }, null)).toBe(false);
    expect(isDraftDirty({ ...EMPTY_DRAFT, subject: "x" }, null)).toBe(true);
    expect(isDraftDirty({ ...EMPTY_DRAFT, audio: new File(["x"], "x.wav") }, null)).toBe(true);
    expect(isDraftDirty(draftFromTemplate(template, EMPTY_DRAFT), template)).toBe(false);
    expect(isDraftDirty({ ...draftFromTemplate(template, EMPTY_DRAFT), body: "Room 7" }, template)).toBe(true);
  });
});

describe("a follow-up", () => {
  const before = {
    id: "n",
    drill: true,
    deviceGroups: [{ id: "all", name: "All" }],
    distributionLists: [{ id: "staff", name: "Staff" }],
  } as unknown as NotificationRow;

  it("is a drill after a drill, and keeps the recipients unless its template names others", () => {
    const free = followUpDraft(before, EMPTY_DRAFT);
    expect(free).toMatchObject({ drill: true, deviceGroupIds: ["all"], distributionListIds: ["staff"] });
    expect(notificationBody({ ...free, subject: "x" }, null, false)).toMatchObject({
      followUpForNotificationId: "n",
      drill: true,
    });
    const own = followUpDraft(before, draftFromTemplate(template, free));
    expect(own).toMatchObject({ deviceGroupIds: ["g"], distributionListIds: [], followUpFor: "n", drill: true });
  });
});

describe("a mark", () => {
  it("is added to a field's object without changing other members", () => {
    const marked = withValueAtPath({ other: 1, console: { colour: "red" } }, EMERGENCY_FLAG, true);
    expect(marked).toEqual({ other: 1, console: { colour: "red", emergency: true } });
    expect(valueAtPath(marked, EMERGENCY_FLAG)).toBe(true);
    expect(hasEmergencyFlag(marked)).toBe(true);
    expect(withValueAtPath(null, EMERGENCY_FLAG, false)).toEqual({ console: { emergency: false } });
  });

  it.each([null, "text", 7, [], { console: null }, { console: { emergency: "true" } }])("is not in %j", (metadata) => {
    expect(hasEmergencyFlag(metadata)).toBe(false);
  });
});
