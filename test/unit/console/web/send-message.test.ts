import { describe, expect, it } from "vitest";
import type { TemplateRow } from "../../../../src/console/web/api/rows.ts";
import {
  bodyOf,
  EMPTY_MESSAGE,
  formOf,
  isSendable,
  messageFrom,
} from "../../../../src/console/web/pages/send-message.ts";

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
    expect(isSendable(EMPTY_MESSAGE)).toBe(false);
    expect(isSendable({ ...EMPTY_MESSAGE, subject: "  ", deviceGroupIds: ["g"] })).toBe(false);
    expect(isSendable({ ...EMPTY_MESSAGE, subject: "x" })).toBe(false);
    expect(isSendable({ ...EMPTY_MESSAGE, subject: "x", distributionListIds: ["l"] })).toBe(true);
  });

  it("always says whether it is a drill", () => {
    expect(bodyOf({ ...EMPTY_MESSAGE, drill: true }, null, false)).toMatchObject({ drill: true });
    expect(bodyOf(EMPTY_MESSAGE, null, false)).toMatchObject({ drill: false });
    expect(bodyOf(EMPTY_MESSAGE, null, false)).not.toHaveProperty("draft");
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
    expect(bodyOf(message, template, false)).toEqual({ drill: false, messageTemplateId: "t", body: "Room 7" });
  });

  it("becomes a form with lists as repeated names", () => {
    const form = formOf({ drill: true, deviceGroupIds: ["a", "b"] }, new File(["x"], "x.wav"));
    expect(form.get("drill")).toBe("true");
    expect(form.getAll("deviceGroupIds[]")).toEqual(["a", "b"]);
    expect(form.get("audio")).toBeInstanceOf(File);
  });
});
