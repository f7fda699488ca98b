import { describe, expect, it } from "vitest";
import type { NotificationRow, TemplateRow } from "../../../../src/console/web/api/rows.ts";
import { EMERGENCY_MARK, isForEmergencies } from "../../../../src/console/web/features/emergency/emergency-flag.ts";
import {
  bodyOf,
  continuing,
  EMPTY_MESSAGE,
  formOf,
  isTouched,
  messageFrom,
  recordingOf,
  whatIsMissing,
} from "../../../../src/console/web/features/notifications/notification-draft.ts";
import { markIn, withMark } from "../../../../src/console/web/ui/form/form-fields.ts";

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
  it("is sendable with words and somebody to send them to", () => {
    expect(whatIsMissing(EMPTY_MESSAGE)).toBe("send.missing");
    expect(whatIsMissing({ ...EMPTY_MESSAGE, subject: "  ", deviceGroupIds: ["g"] })).toBe("send.missing");
    expect(whatIsMissing({ ...EMPTY_MESSAGE, subject: "x" })).toBe("send.missing");
    const whole = { ...EMPTY_MESSAGE, subject: "x", distributionListIds: ["l"] };
    expect(whatIsMissing(whole)).toBeNull();
    expect(whatIsMissing({ ...whole, audio: "coming" })).toBe("send.recording-coming");
    expect(recordingOf({ ...whole, audio: "coming" })).toBeNull();
  });

  it("always says whether it is a drill", () => {
    expect(bodyOf({ ...EMPTY_MESSAGE, drill: true }, null, false)).toMatchObject({ drill: true });
    expect(bodyOf(EMPTY_MESSAGE, null, false)).toMatchObject({ drill: false });
    expect(bodyOf(EMPTY_MESSAGE, null, false)).not.toHaveProperty("draft");
    expect(bodyOf(EMPTY_MESSAGE, null, false)).not.toHaveProperty("ttsType");
    expect(bodyOf({ ...EMPTY_MESSAGE, ttsType: "body" }, null, false)).toMatchObject({ ttsType: "body" });
    expect(
      bodyOf({ ...EMPTY_MESSAGE, ttsType: "body", audio: new File(["x"], "x.wav") }, null, false),
    ).not.toHaveProperty("ttsType");
    expect(bodyOf(EMPTY_MESSAGE, null, true)).toMatchObject({ draft: true, subject: "–" });
  });

  it("keeps the choice of drill when a template fills it", () => {
    expect(messageFrom(template, { ...EMPTY_MESSAGE, drill: true })).toMatchObject({
      templateId: "t",
      subject: "Lockdown",
      body: "",
      drill: true,
    });
  });

  it("sends of a template's parts only those that the sender may change", () => {
    const message = { ...messageFrom(template, EMPTY_MESSAGE), body: "Room 7" };
    const allClear = { allClearSubject: "", allClearBody: "" };
    expect(bodyOf(message, template, false)).toEqual({
      drill: false,
      messageTemplateId: "t",
      body: "Room 7",
      ...allClear,
    });
  });

  it("becomes a form with lists as repeated names", () => {
    const form = formOf({ drill: true, deviceGroupIds: ["a", "b"] }, new File(["x"], "x.wav"));
    expect(form.get("drill")).toBe("true");
    expect(form.getAll("deviceGroupIds[]")).toEqual(["a", "b"]);
    expect(form.get("audio")).toBeInstanceOf(File);
  });

  it("is touched when somebody has put work into it", () => {
    expect(isTouched(EMPTY_MESSAGE, null)).toBe(false);
    expect(isTouched({ ...EMPTY_MESSAGE, drill: true, deviceGroupIds: ["g"] }, null)).toBe(false);
    expect(isTouched({ ...EMPTY_MESSAGE, subject: "x" }, null)).toBe(true);
    expect(isTouched({ ...EMPTY_MESSAGE, audio: new File(["x"], "x.wav") }, null)).toBe(true);
    expect(isTouched(messageFrom(template, EMPTY_MESSAGE), template)).toBe(false);
    expect(isTouched({ ...messageFrom(template, EMPTY_MESSAGE), body: "Room 7" }, template)).toBe(true);
  });
});

describe("a continuation", () => {
  const before = {
    id: "n",
    drill: true,
    deviceGroups: [{ id: "all", name: "All" }],
    distributionLists: [{ id: "staff", name: "Staff" }],
  } as unknown as NotificationRow;

  it("is a drill where that was one, and goes to the same unless its template names others", () => {
    const free = continuing(before, EMPTY_MESSAGE);
    expect(free).toMatchObject({ drill: true, deviceGroupIds: ["all"], distributionListIds: ["staff"] });
    expect(bodyOf({ ...free, subject: "x" }, null, false)).toMatchObject({
      followUpForNotificationId: "n",
      drill: true,
    });
    const own = continuing(before, messageFrom(template, free));
    expect(own).toMatchObject({ deviceGroupIds: ["g"], distributionListIds: [], followUpFor: "n", drill: true });
  });
});

describe("a mark", () => {
  it("stands in a field's object beside whatever else is there", () => {
    const marked = withMark({ other: 1, console: { colour: "red" } }, EMERGENCY_MARK, true);
    expect(marked).toEqual({ other: 1, console: { colour: "red", emergency: true } });
    expect(markIn(marked, EMERGENCY_MARK)).toBe(true);
    expect(isForEmergencies({ metadata: marked })).toBe(true);
    expect(withMark(null, EMERGENCY_MARK, false)).toEqual({ console: { emergency: false } });
  });

  it.each([null, "text", 7, [], { console: null }, { console: { emergency: "true" } }])("is not in %j", (metadata) => {
    expect(isForEmergencies({ metadata })).toBe(false);
  });
});
